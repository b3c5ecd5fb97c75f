"use strict";
// The examples: data unpacked from the page itself, a table that draws only the rows in sight, filters that are part
// of the address, one example at a time in a dialog. Texts reach the document by textContent only.
(async () => {
  const source = document.getElementById("examples-data");
  if (!source) return;
  const $ = (id) => document.getElementById(id);
  const make = exampleParts.make;

  // -- unpacking ---------------------------------------------------------------------------------------------------
  const unpack = async () => {
    const binary = atob(source.textContent.trim());
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    source.remove();
    if (typeof DecompressionStream === "function") {
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      return new Response(stream).text();
    }
    return new TextDecoder().decode(inflate(bytes));
  };

  // For browsers without DecompressionStream: RFC 1951, from the bytes behind the ten of a plain gzip header.
  const inflate = (data) => {
    let at = 10, bits = 0, held = 0, size = 0;
    let out = new Uint8Array(data.length * 6);
    const room = (n) => {
      if (size + n <= out.length) return;
      const wider = new Uint8Array(Math.max(out.length * 2, size + n)); wider.set(out); out = wider;
    };
    const take = (n) => {
      while (held < n) { bits |= data[at++] << held; held += 8; }
      const value = bits & ((1 << n) - 1);
      bits >>>= n; held -= n;
      return value;
    };
    const tree = (lengths) => {
      const count = new Uint16Array(16), next = new Uint16Array(16), symbols = new Uint16Array(lengths.length);
      for (const l of lengths) count[l]++;
      count[0] = 0;
      for (let i = 1; i < 16; i++) next[i] = next[i - 1] + count[i - 1];
      lengths.forEach((l, symbol) => { if (l) symbols[next[l]++] = symbol; });
      return { count, symbols };
    };
    const read = (t) => {
      let code = 0, first = 0, index = 0;
      for (let length = 1; length < 16; length++) {
        code |= take(1);
        const n = t.count[length];
        if (code - n < first) return t.symbols[index + code - first];
        index += n; first = (first + n) << 1; code <<= 1;
      }
      throw new Error("damaged data");
    };
    const BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
    const MORE = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
    const FAR = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
    const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
    let last = 0;
    while (!last) {
      last = take(1);
      const kind = take(2);
      if (kind === 0) {
        bits = held = 0;
        const n = data[at] | (data[at + 1] << 8);
        at += 4; room(n); out.set(data.subarray(at, at + n), size); at += n; size += n;
        continue;
      }
      let literals, distances;
      if (kind === 1) {
        literals = tree([...new Array(144).fill(8), ...new Array(112).fill(9), ...new Array(24).fill(7), ...new Array(8).fill(8)]);
        distances = tree(new Array(30).fill(5));
      } else {
        const many = take(5) + 257, apart = take(5) + 1, codes = take(4) + 4;
        const lengths = new Array(19).fill(0);
        for (let i = 0; i < codes; i++) lengths[ORDER[i]] = take(3);
        const meta = tree(lengths), all = [];
        while (all.length < many + apart) {
          const symbol = read(meta);
          if (symbol < 16) all.push(symbol);
          else {
            const value = symbol === 16 ? all[all.length - 1] : 0;
            let n = symbol === 16 ? 3 + take(2) : symbol === 17 ? 3 + take(3) : 11 + take(7);
            while (n--) all.push(value);
          }
        }
        literals = tree(all.slice(0, many)); distances = tree(all.slice(many));
      }
      for (;;) {
        const symbol = read(literals);
        if (symbol === 256) break;
        if (symbol < 256) { room(1); out[size++] = symbol; continue; }
        const n = BASE[symbol - 257] + take(MORE[symbol - 257]);
        const far = read(distances);
        const back = FAR[far] + take(far < 2 ? 0 : (far >> 1) - 1);
        room(n);
        for (let i = 0; i < n; i++, size++) out[size] = out[size - back];
      }
    }
    return out.subarray(0, size);
  };

  const grid = $("x-grid"), rows = $("x-rows"), tall = $("x-tall"), heads = $("x-heads");
  const searched = $("x-search"), told = $("x-count"), filters = $("x-filters"), more = $("x-more");
  let text;
  try { text = await unpack(); }
  catch (_) { told.textContent = "The examples in this page are damaged."; return; }
  const cut = text.indexOf("\n");
  const head = JSON.parse(cut < 0 ? text : text.slice(0, cut));
  const lines = cut < 0 ? [] : text.slice(cut + 1).split("\n");
  text = "";
  const N = head.ids.length;
  const titles = lines.map((line) => JSON.parse(line.slice(1, titleEnd(line))));
  function titleEnd(line) {
    // The title is a JSON string at the start of the line: find its closing quote.
    let i = 2;
    while (line.charCodeAt(i) !== 34) i += line.charCodeAt(i) === 92 ? 2 : 1;
    return i + 1;
  }
  const page = (i) => JSON.parse(lines[i]);

  // -- columns -----------------------------------------------------------------------------------------------------
  const bars = head.numbers.map((n) => {
    let low = 0, high = 0;
    for (const v of n.values) if (v !== null) { if (v < low) low = v; if (v > high) high = v; }
    return { low, high };
  });
  const shownNumber = (v) => v === null ? "–" : Number.isInteger(v) ? v.toLocaleString("en") : String(v);
  const columns = [{ name: "id", width: "minmax(5rem,8rem)", text: (i) => head.ids[i], sort: (i) => i }];
  if (head.state) columns.push({
    // As wide as its longest words: they are what the table is read for. Every row is a grid of its own, so in rem.
    name: head.state.name, width: Math.min(20, Math.max(9.2, ...head.state.values.map((v) => 3.2 + 0.46 * v[0].length))).toFixed(1) + "rem", state: true,
    text: (i) => head.state.values[head.state.codes[i]][0], sort: (i) => head.state.codes[i],
  });
  columns.push({ name: "example", width: "minmax(14rem,3fr)", text: (i) => titles[i], sort: (i) => titles[i] });
  const cell = (c, i) => c.codes[i] < 0 ? "" : c.values[c.codes[i]];
  for (const c of head.categories) if (c.shown)
    columns.push({ name: c.name, width: "minmax(6.5rem,1fr)", text: (i) => cell(c, i), sort: (i) => c.codes[i] });
  head.numbers.forEach((n, k) => {
    if (n.shown) columns.push({
      name: n.name, width: "7rem", number: true, of: n.values, bar: bars[k],
      text: (i) => shownNumber(n.values[i]), sort: (i) => n.values[i],
    });
  });
  grid.style.setProperty("--columns", columns.map((c) => c.width).join(" "));
  grid.style.setProperty("--least", columns.reduce((sum, c) => sum + parseFloat(c.width.replace("minmax(", "")), 0) + "rem");

  // -- what is asked for: kept in the address ----------------------------------------------------------------------
  const wanted = { q: "", state: "", by: new Map(), sort: "", open: "" };
  const read = () => {
    const hash = location.hash.startsWith("#examples?") ? location.hash.slice(10) : "";
    const asked = new URLSearchParams(hash);
    wanted.q = asked.get("q") || ""; wanted.state = asked.get("outcome") || "";
    wanted.sort = asked.get("sort") || ""; wanted.open = asked.get("open") || "";
    wanted.by = new Map();
    for (const [key, value] of asked) if (key.startsWith("by.")) wanted.by.set(key.slice(3), value);
  };
  const address = () => {
    const asked = new URLSearchParams();
    if (wanted.q) asked.set("q", wanted.q);
    if (wanted.state) asked.set("outcome", wanted.state);
    for (const [name, value] of wanted.by) asked.set("by." + name, value);
    if (wanted.sort) asked.set("sort", wanted.sort);
    if (wanted.open) asked.set("open", wanted.open);
    const said = asked.toString();
    return said ? "#examples?" + said : "#examples";
  };
  const write = () => {
    try { history.replaceState(null, "", address()); } catch (_) { /* some browsers refuse this for files: the view still works */ }
  };

  // -- filtering and sorting ---------------------------------------------------------------------------------------
  let order = new Int32Array(0), active = -1;
  let hay = null;
  const haystack = () => {
    if (hay) return hay;
    hay = new Array(N);
    for (let i = 0; i < N; i++) {
      const said = [head.ids[i]];
      for (const c of head.categories) if (c.codes[i] >= 0) said.push(c.values[c.codes[i]]);
      const [title, ...panels] = page(i);
      said.push(title);
      for (const parts of panels) for (const part of parts) {
        if (part[1] === 0) { let run = ""; for (const span of part[2]) run += (span[2] ? " " : "") + span[0]; said.push(run); }
        else for (const line of part[3]) said.push(line.join(" "));
      }
      hay[i] = said.join("\n").toLowerCase();
    }
    return hay;
  };
  const apply = (keep) => {
    const kept = [];
    const state = head.state && wanted.state ? head.state.values.findIndex((v) => v[0] === wanted.state) : -1;
    const by = [];
    for (const [name, value] of wanted.by) {
      const c = head.categories.find((x) => x.name === name);
      if (c) by.push([c.codes, c.values.indexOf(value)]);
    }
    const q = wanted.q.toLowerCase(), texts = q ? haystack() : null;
    next: for (let i = 0; i < N; i++) {
      if (state >= 0 && head.state.codes[i] !== state) continue;
      for (const [codes, code] of by) if (codes[i] !== code) continue next;
      if (texts && !texts[i].includes(q)) continue;
      kept.push(i);
    }
    const down = wanted.sort.startsWith("-"), name = down ? wanted.sort.slice(1) : wanted.sort;
    const column = name ? columns.find((c) => c.name === name) : null;
    if (column) {
      const value = column.sort, sign = down ? -1 : 1;
      kept.sort((a, b) => {
        const x = value(a), y = value(b);
        if (x === null || y === null) return x === y ? a - b : x === null ? 1 : -1;
        if (typeof x === "string") return sign * (x < y ? -1 : x > y ? 1 : 0) || a - b;
        return sign * (x - y) || a - b;
      });
    }
    order = Int32Array.from(kept);
    const noun = N === 1 ? "example" : "examples";
    told.textContent = order.length === N ? `${N.toLocaleString("en")} ${noun}`
      : `${order.length.toLocaleString("en")} of ${N.toLocaleString("en")} ${noun}`;
    $("x-csv").disabled = !order.length;
    $("x-clear").disabled = !(wanted.q || wanted.state || wanted.by.size);
    $("x-none").hidden = order.length > 0;
    grid.setAttribute("aria-rowcount", String(order.length + 1));
    if (!keep) { active = order.length ? 0 : -1; grid.scrollTop = 0; }
    for (const th of heads.children) {
      const mine = th.dataset.name === name;
      th.setAttribute("aria-sort", mine ? (down ? "descending" : "ascending") : "none");
    }
    tall.style.setProperty("height", order.length * HEIGHT + "px");
    draw(true);
  };

  // -- the table: only rows in sight exist -------------------------------------------------------------------------
  const HEIGHT = 34;
  let drawn = [-1, -1];
  const rowOf = (at) => {
    const i = order[at];
    const row = make("div", "x-row" + (at === active ? " active" : ""));
    row.setAttribute("role", "row"); row.id = "x-row-" + at; row.dataset.at = String(at);
    row.setAttribute("aria-rowindex", String(at + 2));
    if (at === active) row.setAttribute("aria-selected", "true");
    row.style.setProperty("top", at * HEIGHT + "px");
    for (const c of columns) {
      const box = make("div", c.number ? "x-cell n" : "x-cell");
      box.setAttribute("role", "gridcell");
      if (c.state) { const kind = head.state.values[head.state.codes[i]][1]; box.append(make("span", "chip " + kind, c.text(i))); }
      else { const words = make("bdi", "", c.text(i)); box.append(words); box.title = c.text(i).slice(0, 300); }
      if (c.number && c.of[i] !== null && c.bar.high > c.bar.low && c.bar.low >= 0) {
        const bar = make("i", "x-bar");
        bar.style.setProperty("width", (100 * c.of[i] / c.bar.high).toFixed(1) + "%");
        box.append(bar);
      }
      row.append(box);
    }
    return row;
  };
  let printing = false;
  const draw = (anew) => {
    if (printing) return;
    const first = Math.max(0, Math.floor(grid.scrollTop / HEIGHT) - 6);
    const last = Math.min(order.length, first + Math.ceil(grid.clientHeight / HEIGHT) + 12);
    if (!anew && first === drawn[0] && last === drawn[1]) return;
    drawn = [first, last];
    const made = document.createDocumentFragment();
    for (let at = first; at < last; at++) made.append(rowOf(at));
    rows.replaceChildren(made);
    if (active >= first && active < last) grid.setAttribute("aria-activedescendant", "x-row-" + active);
    else grid.removeAttribute("aria-activedescendant");
  };
  let waiting = false;
  grid.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(false); });
  }, { passive: true });
  addEventListener("resize", () => draw(true));
  const reveal = () => {
    const top = active * HEIGHT, view = grid.clientHeight - heads.offsetHeight;
    if (top < grid.scrollTop) grid.scrollTop = top;
    else if (top + HEIGHT > grid.scrollTop + view) grid.scrollTop = top + HEIGHT - view;
    draw(true);
  };
  grid.addEventListener("keydown", (e) => {
    if (e.target !== grid || e.altKey || e.ctrlKey || e.metaKey) return;
    const leap = Math.max(1, Math.floor((grid.clientHeight - heads.offsetHeight) / HEIGHT) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: leap, PageUp: -leap, Home: -N, End: N };
    if (e.key in moves && order.length) {
      e.preventDefault();
      active = Math.max(0, Math.min(order.length - 1, active + moves[e.key]));
      reveal();
    } else if ((e.key === "Enter" || e.key === " ") && active >= 0) { e.preventDefault(); show(active); }
  });
  rows.addEventListener("click", (e) => {
    const row = e.target.closest(".x-row");
    if (!row || String(getSelection())) return;
    active = Number(row.dataset.at); draw(true); show(active);
  });
  for (const c of columns) {
    const th = make("div", c.number ? "x-cell n" : "x-cell");
    th.setAttribute("role", "columnheader"); th.dataset.name = c.name;
    const button = make("button", "", c.name.replaceAll("_", " "));
    button.type = "button"; button.title = "sort by " + c.name;
    button.addEventListener("click", () => {
      wanted.sort = wanted.sort === c.name ? "-" + c.name : wanted.sort === "-" + c.name ? "" : c.name;
      write(); apply(false);
    });
    th.append(button); heads.append(th);
  }
  grid.setAttribute("aria-colcount", String(columns.length));

  // -- filters -----------------------------------------------------------------------------------------------------
  const choices = [];
  const chooser = (name, values, codes, get, set, home) => {
    const counts = new Array(values.length).fill(0);
    for (const code of codes) if (code >= 0) counts[code]++;
    const label = make("label", "x-filter"), select = make("select");
    label.append(make("span", "", name), select);
    select.append(new Option("all", ""));
    values.forEach((v, k) => { if (counts[k]) select.append(new Option(`${v || "(empty)"} (${counts[k].toLocaleString("en")})`, v)); });
    select.addEventListener("change", () => { set(select.value); write(); apply(false); });
    home.append(label);
    choices.push(() => {
      const value = get();
      select.value = value;
      if (select.value !== value) select.value = "";
    });
  };
  if (head.state) chooser(head.state.name, head.state.values.map((v) => v[0]), head.state.codes, () => wanted.state, (v) => { wanted.state = v; }, filters);
  let inMore = 0;
  for (const c of head.categories) {
    if (!c.listed || c.values.length < 1) continue;
    const main = c.shown || c.name === "reason";
    if (!main) inMore++;
    chooser(c.name, c.values, c.codes, () => wanted.by.get(c.name) || "",
      (v) => { if (v) wanted.by.set(c.name, v); else wanted.by.delete(c.name); }, main ? filters : more.querySelector("div"));
  }
  more.hidden = !inMore;
  let pause = 0;
  searched.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(() => { wanted.q = searched.value; write(); apply(false); }, 120);
  });
  $("x-clear").addEventListener("click", () => {
    wanted.q = wanted.state = ""; wanted.by = new Map();
    sync(); write(); apply(false); searched.focus();
  });
  const sync = () => { searched.value = wanted.q; for (const set of choices) set(); };

  // -- one example -------------------------------------------------------------------------------------------------
  const dialog = $("example"), body = $("e-body");
  const facts = (i) => {
    const list = make("dl", "facts");
    const say = (name, value) => { const pair = make("div"); pair.append(make("dt", "", name), make("dd", "", value)); list.append(pair); };
    if (head.state) say(head.state.name, head.state.values[head.state.codes[i]][0]);
    for (const c of head.categories) if (c.codes[i] >= 0) say(c.name, cell(c, i));
    for (const n of head.numbers) if (n.values[i] !== null) say(n.name, shownNumber(n.values[i]));
    return list;
  };
  let shown = -1;
  const fill = (at) => {
    shown = at;
    const i = order[at], [title, ...panels] = page(i);
    $("e-title").textContent = title || head.ids[i];
    $("e-place").textContent = `${head.ids[i]} · ${(at + 1).toLocaleString("en")} of ${order.length.toLocaleString("en")}`;
    const state = $("e-state");
    state.hidden = !head.state;
    if (head.state) { const [words, kind] = head.state.values[head.state.codes[i]]; state.textContent = words; state.className = "chip " + kind; }
    const sides = make("div", panels.length > 2 ? "sides" : "");
    const made = document.createDocumentFragment();
    const differ = panels.slice(1).some((parts) => parts.length);
    panels.forEach((parts, k) => {
      const name = differ || !k ? head.panels[k] || "" : "";
      if (!parts.length && !name) return;
      const home = make("section", name ? "side" : "");
      if (name) home.append(make("h3", "side-name", name));
      for (const part of parts) {
        // The title says it already.
        if (part[1] === 0 && part[2].length === 1 && part[2][0][0] === title && title.length < 200) continue;
        if (head.labels[part[0]]) home.append(make("h4", "", head.labels[part[0]]));
        home.append(exampleParts.part(part, head.kinds));
      }
      (name ? sides : made).append(home);
    });
    body.replaceChildren(made, sides, make("h4", "", "measurements"), facts(i));
    body.scrollTop = 0;
    $("e-before").disabled = at <= 0; $("e-after").disabled = at >= order.length - 1;
    wanted.open = head.ids[i]; write();
  };
  const show = (at) => { fill(at); if (!dialog.open) dialog.showModal(); };
  const step = (by) => { const to = shown + by; if (to < 0 || to >= order.length) return; active = to; reveal(); fill(to); };
  $("e-before").addEventListener("click", () => step(-1));
  $("e-after").addEventListener("click", () => step(1));
  $("e-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("keydown", (e) => {
    if (e.altKey || e.ctrlKey || e.metaKey || e.target.closest(".scroll")) return;
    if (e.key === "ArrowLeft") step(-1); else if (e.key === "ArrowRight") step(1);
  });
  dialog.addEventListener("click", (e) => { if (e.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => { wanted.open = ""; write(); grid.focus({ preventScroll: true }); });
  $("e-link").addEventListener("click", () => copied($("e-link"), location.href.split("#")[0] + address()));
  $("x-link").addEventListener("click", () => copied($("x-link"), location.href.split("#")[0] + address()));
  const copied = (button, words) => document.dispatchEvent(new CustomEvent("copy-text", { detail: { button, words } }));

  // -- download ----------------------------------------------------------------------------------------------------
  // A text that begins like a formula is marked as text, so that no spreadsheet runs what a model wrote (as in
  // inputs/formulas.py: one more apostrophe where there are some, so that taking one off gives the text back).
  const quoted = (value, plain) => {
    let words = String(value);
    if (!plain && /^'*[=+\-@\t\r]/.test(words)) words = "'" + words;
    return /[",\n\r;]/.test(words) ? '"' + words.replace(/"/g, '""') + '"' : words;
  };
  const csv = () => {
    const used = new Map();
    // Counts behind a colon ("tokens: 2 of 12 wrong") differ from example to example; the column is the same.
    const column = (k, part) => (head.panels[k] ? head.panels[k] + ": " : "") + head.labels[part[0]].split(":")[0];
    const pages = Array.from(order, (i) => page(i));
    for (const [, ...panels] of pages) panels.forEach((parts, k) => { for (const part of parts) {
      const name = column(k, part);
      if (!used.has(name) && used.size < 60) used.set(name, used.size);
    } });
    const top = ["id", ...(head.state ? [head.state.name] : []), ...head.categories.map((c) => c.name), ...head.numbers.map((n) => n.name), "title", ...used.keys()];
    const out = [top.map((c) => quoted(c)).join(",")];
    pages.forEach(([title, ...panels], at) => {
      const i = order[at], texts = new Array(used.size).fill("");
      panels.forEach((parts, k) => { for (const part of parts) {
        const place = used.get(column(k, part));
        if (place === undefined) continue;
        const words = part[1] === 0 ? part[2].map((s) => s[2] ? `${s[0]} (${s[2]})` : s[0]).join(part[2].some((s) => s[2]) ? " " : "")
          : part[3].map((line) => line.join("\t")).join("\n");
        texts[place] += (texts[place] ? "\n" : "") + words;
      } });
      out.push([
        quoted(head.ids[i]), ...(head.state ? [quoted(head.state.values[head.state.codes[i]][0])] : []),
        ...head.categories.map((c) => quoted(cell(c, i))), ...head.numbers.map((n) => quoted(n.values[i] === null ? "" : n.values[i], true)),
        quoted(title), ...texts.map((t) => quoted(t)),
      ].join(","));
    });
    return "\ufeff" + out.join("\r\n") + "\r\n";
  };
  $("x-csv").addEventListener("click", () => {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv;charset=utf-8" }));
    link.download = head.name + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });

  // -- following the address ---------------------------------------------------------------------------------------
  const follow = (scroll) => {
    read(); sync(); apply(false);
    if (wanted.open) {
      let at = -1;
      for (let k = 0; k < order.length && at < 0; k++) if (head.ids[order[k]] === wanted.open) at = k;
      if (at >= 0) { active = at; reveal(); show(at); } else { wanted.open = ""; }
    } else if (dialog.open) dialog.close();
    if (scroll) $("examples").scrollIntoView();
  };
  addEventListener("hashchange", () => { if (location.hash.startsWith("#examples")) follow(true); });
  // On paper: the first rows, all of them drawn.
  addEventListener("beforeprint", () => {
    const most = Math.min(order.length, 40);
    printing = true;
    drawn = [-1, -1];
    rows.replaceChildren(...Array.from({ length: most }, (_, at) => rowOf(at)));
    tall.style.setProperty("height", most * HEIGHT + "px");
    $("x-paper").textContent = order.length > most ? `The first ${most} of ${order.length.toLocaleString("en")} examples; the others are in the page on screen.` : "";
  });
  addEventListener("afterprint", () => { printing = false; $("x-paper").textContent = ""; tall.style.setProperty("height", order.length * HEIGHT + "px"); draw(true); });
  follow(location.hash.startsWith("#examples"));
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
