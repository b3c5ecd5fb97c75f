"use strict";
// Parts of an example as they travel: [label, 0, spans, is code] or [label, 1, heads, rows]. Texts reach the document
// by textContent only.
const exampleParts = (() => {
  const make = (tag, kind, text) => {
    const node = document.createElement(tag);
    if (kind) node.className = kind;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const spans = (part, kinds) => {
    const box = make("div", "spans" + (part[2].some((s) => s[2]) ? " tokens" : "") + (part[3] ? " code" : ""));
    box.dir = "auto";
    for (const [words, kind, note] of part[2]) {
      const name = kinds[kind] || "";
      if (note) {
        const token = make("span", "token " + name);
        token.append(make("bdi", "", words), make("small", "", note));
        box.append(token);
      } else box.append(make(name === "missing" ? "del" : name === "added" ? "ins" : "span", name, words));
    }
    return box;
  };
  const table = (part) => {
    const scroll = make("div", "scroll"), made = make("table");
    if (part[2].length) {
      const tr = make("tr");
      for (const c of part[2]) { const th = make("th", "", c); th.scope = "col"; tr.append(th); }
      const thead = make("thead"); thead.append(tr); made.append(thead);
    }
    const tbody = make("tbody");
    for (const line of part[3]) { const tr = make("tr"); for (const c of line) { const td = make("td", /\S{26}/.test(c) ? "long" : "", c); td.dir = "auto"; tr.append(td); } tbody.append(tr); }
    made.append(tbody); scroll.append(made); scroll.tabIndex = 0;
    if (part[2].length && part[3].length > 1) document.dispatchEvent(new CustomEvent("sort-table", { detail: made }));
    return scroll;
  };
  return { make, part: (part, kinds) => part[1] === 0 ? spans(part, kinds) : table(part) };
})();
(() => {
  const tip = document.getElementById("tip");
  const place = (x, y) => { tip.style.setProperty("left", Math.min(x + 14, innerWidth - tip.offsetWidth - 8) + "px"); tip.style.setProperty("top", (y + 16) + "px"); };
  const show = (mark, x, y) => { tip.textContent = mark.dataset.tip; tip.hidden = false; place(x, y); };
  document.addEventListener("pointermove", (e) => {
    const mark = e.target.closest && e.target.closest("[data-tip]");
    if (mark) show(mark, e.clientX, e.clientY); else tip.hidden = true;
  });
  document.addEventListener("focusin", (e) => {
    if (!e.target.dataset || !e.target.dataset.tip) return;
    const box = e.target.getBoundingClientRect();
    show(e.target, box.right, box.top);
  });
  document.addEventListener("focusout", () => { tip.hidden = true; });
  const copy = async (button, text) => {
    try { await navigator.clipboard.writeText(text); }
    catch (_) {
      const area = document.createElement("textarea");
      area.value = text; (document.querySelector("dialog[open]") || document.body).append(area);
      area.select(); document.execCommand("copy"); area.remove();
    }
    const before = button.dataset.before || button.textContent;
    button.dataset.before = before;
    button.textContent = "Copied"; setTimeout(() => { button.textContent = before; }, 1500);
  };
  for (const button of document.querySelectorAll("button[data-copy]"))
    button.addEventListener("click", () => copy(button, document.getElementById(button.dataset.copy).textContent));
  document.addEventListener("copy-text", (e) => copy(e.detail.button, e.detail.words));
  const key = (cell) => {
    if (!cell) return "–";
    const raw = cell.dataset.sort !== undefined ? cell.dataset.sort : cell.textContent.trim().replace(/,/g, "");
    const value = Number(raw);
    return raw === "" || Number.isNaN(value) ? raw : value;
  };
  const sortable = (table) => {
    table.querySelectorAll("thead th").forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button"; button.textContent = head.textContent; head.textContent = ""; head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of table.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const body = table.tBodies[0];
        const rows = [...body.rows].sort((a, b) => {
          const x = key(a.cells[column]), y = key(b.cells[column]);
          // A dash is no value: it stays last whichever way the rest goes.
          if (x === "–" || y === "–") return x === y ? 0 : x === "–" ? 1 : -1;
          const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
          return up ? order : -order;
        });
        body.append(...rows);
      });
    });
  };
  for (const table of document.querySelectorAll("table.sortable")) sortable(table);
  document.addEventListener("sort-table", (e) => sortable(e.detail));
})();
