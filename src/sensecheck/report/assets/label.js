"use strict";
// A sheet of examples that a person labels with the keyboard. Labels are kept in this browser under the sheet's digest
// after every key, and leave it as a file. Texts reach the document by textContent only.
(() => {
  const $ = (id) => document.getElementById(id);
  const { make, part } = exampleParts;
  const binary = atob($("sheet-data").textContent.trim());
  const sheet = JSON.parse(new TextDecoder().decode(Uint8Array.from(binary, (c) => c.charCodeAt(0))));
  const items = sheet.items, N = items.length, store = "sensecheck labels " + sheet.digest;
  const blank = () => ({ who: "", at: 0, labels: {}, done: [] });
  let state = blank();

  // -- keeping -----------------------------------------------------------------------------------------------------
  const fits = (kept) => {
    // Whatever stands there may be another program's, or older: what does not fit is left out.
    const whole = blank();
    if (!kept || typeof kept !== "object") return whole;
    if (typeof kept.who === "string") whole.who = kept.who;
    if (Number.isInteger(kept.at) && kept.at >= 0 && kept.at < N) whole.at = kept.at;
    for (const [key, one] of Object.entries(kept.labels || {})) {
      const at = Number(key);
      if (!(Number.isInteger(at) && at >= 0 && at < N) || !one || typeof one !== "object") continue;
      const label = choices(at).some((c) => c.label === one.label) ? one.label : "";
      whole.labels[at] = { label, flag: one.flag === true, note: typeof one.note === "string" ? one.note : "" };
    }
    if (Array.isArray(kept.done)) whole.done = kept.done.filter((step) => step && Number.isInteger(step.at) && step.at >= 0 && step.at < N);
    return whole;
  };
  const recall = () => {
    try { state = fits(JSON.parse(localStorage.getItem(store) || "null")); } catch (_) { state = blank(); }
  };
  const keep = () => {
    try { localStorage.setItem(store, JSON.stringify(state)); $("l-kept").textContent = ""; }
    catch (_) { $("l-kept").textContent = "This browser keeps nothing for this page: export your labels before you close it."; }
  };
  addEventListener("storage", (e) => { if (e.key === store) { recall(); show(); } });

  // -- labels ------------------------------------------------------------------------------------------------------
  const choices = (at) => items[at].choices || sheet.choices;
  const of = (at) => state.labels[at] || { label: "", flag: false, note: "" };
  const labelled = () => items.reduce((sum, _, at) => sum + (of(at).label || of(at).flag ? 1 : 0), 0);
  const set = (at, change) => {
    state.done.push({ at, before: { ...of(at) } });
    if (state.done.length > 2 * N + 100) state.done.shift();
    state.labels[at] = { ...of(at), ...change };
  };
  const open = (from) => {
    for (let step = 0; step < N; step++) {
      const at = (from + step) % N;
      if (!of(at).label && !of(at).flag) return at;
    }
    return -1;
  };
  const give = (choice) => {
    set(state.at, { label: choice.label });
    const next = open(state.at + 1);
    if (next >= 0) state.at = next;
    keep(); show();
  };
  const flag = () => { set(state.at, { flag: !of(state.at).flag }); keep(); show(); };
  const undo = () => {
    const last = state.done.pop();
    if (!last) return;
    const before = fits({ labels: { [last.at]: last.before } }).labels[last.at];
    // The note is not part of a step: what was written since stays.
    if (before) state.labels[last.at] = { ...before, note: of(last.at).note };
    state.at = last.at;
    keep(); show();
  };
  const move = (by) => { state.at = Math.max(0, Math.min(N - 1, state.at + by)); keep(); show(); };
  const onward = () => { const next = open(state.at + 1); if (next >= 0) { state.at = next; keep(); show(); } };

  // -- showing -----------------------------------------------------------------------------------------------------
  let shown = -1;
  const show = () => {
    const at = state.at, item = items[at], said = of(at), done = labelled();
    $("l-place").textContent = `${at + 1} of ${N} · ${item.shown}`;
    $("l-said").textContent = [said.label && choices(at).find((c) => c.label === said.label).words, said.flag && sheet.flag].filter(Boolean).join(", ") || "not labelled";
    $("l-said").className = "chip " + (said.label || said.flag ? "" : "lost");
    const made = document.createDocumentFragment();
    for (const one of item.parts) {
      if (sheet.labels[one[0]]) made.append(make("h4", "", sheet.labels[one[0]]));
      made.append(part(one, sheet.kinds));
    }
    $("l-body").replaceChildren(made);
    const buttons = choices(at).map((choice) => button(choice.words, choice.key, said.label === choice.label, () => give(choice)));
    if (sheet.flag) buttons.push(button(sheet.flag, "g", said.flag, flag));
    $("l-choices").replaceChildren(...buttons);
    if (at !== shown || document.activeElement !== $("l-note")) $("l-note").value = said.note;
    shown = at;
    if (document.activeElement !== $("l-who")) $("l-who").value = state.who;
    $("l-progress").value = done;
    $("l-count").textContent = `${done} of ${N} labelled`;
    $("l-undo").disabled = !state.done.length;
    $("l-before").disabled = at === 0; $("l-after").disabled = at === N - 1; $("l-next").disabled = done === N;
  };
  const button = (words, key, pressed, act) => {
    const made = make("button");
    made.type = "button"; made.append(words, " ", make("kbd", "", key));
    made.setAttribute("aria-pressed", String(pressed)); made.setAttribute("aria-keyshortcuts", key);
    made.addEventListener("click", () => { act(); made.blur(); });
    return made;
  };

  // -- leaving -----------------------------------------------------------------------------------------------------
  const lines = () => items.map((item, at) => {
    const said = of(at);
    if (!said.label && !said.flag && !said.note) return "";
    return JSON.stringify({
      sensecheck: sheet.schema, question: sheet.question, id: item.id, label: said.label || (said.flag ? "unclear" : ""),
      ...(sheet.flag ? { grammatical: said.flag ? "no" : "yes" } : {}), note: said.note, who: state.who.trim(),
      example: item.example, run: sheet.run, stratum: item.stratum, probability: item.probability, size: item.size,
      of: sheet.of,
    }) + "\n";
  }).join("");
  const leave = () => {
    const link = make("a"), who = state.who.trim().replace(/[^\p{L}\p{N}_-]+/gu, "-");
    link.href = URL.createObjectURL(new Blob([lines()], { type: "application/x-ndjson;charset=utf-8" }));
    link.download = `labels-${sheet.question}${who ? "-" + who : ""}.jsonl`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    $("l-kept").textContent = `Exported ${labelled()} labels.` + (state.who.trim() ? "" : " No name is in them: the file's name will stand for it.");
  };

  // -- keys --------------------------------------------------------------------------------------------------------
  const others = { z: undo, n: () => $("l-note").focus(), x: onward, e: leave, ArrowLeft: () => move(-1), ArrowRight: () => move(1) };
  document.addEventListener("keydown", (e) => {
    if (e.altKey || e.ctrlKey || e.metaKey || e.isComposing) return;
    if (e.target.matches("input, textarea")) { if (e.key === "Escape") { e.preventDefault(); e.target.blur(); } return; }
    const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
    const choice = choices(state.at).find((c) => c.key === key);
    const act = choice ? () => give(choice) : sheet.flag && key === "g" ? flag : others[key];
    // A key that is held down gives one label, not one a moment.
    if (!act || (e.repeat && (choice || key === "g" || key === "z"))) return;
    e.preventDefault();
    act();
  });
  $("l-note").addEventListener("input", () => { const kept = of(state.at); state.labels[state.at] = { ...kept, note: $("l-note").value }; keep(); });
  $("l-who").addEventListener("input", () => { state.who = $("l-who").value; keep(); });
  for (const [id, act] of [["l-before", () => move(-1)], ["l-after", () => move(1)], ["l-next", onward], ["l-undo", undo], ["l-export", leave]])
    $(id).addEventListener("click", () => { act(); $(id).blur(); });
  recall(); show();
  document.documentElement.dataset.ready = "1";
})();
