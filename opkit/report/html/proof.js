"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const words = JSON.parse(document.getElementById("words").textContent);
  const chosen = { verdict: "", mode: "", style: "" };

  // Language: the page is written in English, and every translatable text carries its English form. What is
  // closed is translated when it is opened: a page may hold hundreds of operators.
  let spoken = "en";
  const say = (text) => (spoken === "zh" ? words[text] ?? text : text);
  const translateIn = (root, nodes) => {
    if ((root.dataset.spoken ?? "en") === spoken) return;
    root.dataset.spoken = spoken;
    for (const node of nodes()) node.textContent = say(node.dataset.t);
  };
  const translateBody = (op) => {
    const body = op.querySelector(".body");
    if (op.open) translateIn(body, () => all("[data-t]", body));
  };
  const translate = (language) => {
    spoken = language;
    translateIn(document.body, () => all("[data-t]:not(.body [data-t])"));
    for (const op of all(".op")) translateBody(op);
    for (const node of all("[data-placeholder]")) node.placeholder = say(node.dataset.placeholder);
    for (const node of all("[data-label]")) node.setAttribute("aria-label", say(node.dataset.label));
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
    for (const button of all(".lang button")) button.setAttribute("aria-pressed", String(button.value === language));
  };
  document.addEventListener("toggle", (event) => {
    if (event.target.classList.contains("op")) translateBody(event.target);
  }, true);
  const language = () => {
    if (location.hash === "#zh" || location.hash === "#en") return location.hash.slice(1);
    return document.documentElement.dataset.language || (navigator.language.startsWith("zh") ? "zh" : "en");
  };
  for (const button of all(".lang button")) button.onclick = () => {
    history.replaceState(null, "", `#${button.value}`);
    translate(button.value);
  };
  addEventListener("hashchange", () => translate(language()));
  translate(language());

  // Filters: a result is shown when its style and one of its graphs fit, an operator when a result of it is.
  const search = document.querySelector(".bar input");
  const fits = (run) => {
    const verdicts = chosen.mode ? [run.getAttribute(`data-${chosen.mode}`)] : run.dataset.verdicts.split("|");
    if (chosen.mode && verdicts[0] === null) return false;
    return (!chosen.style || run.dataset.style === chosen.style) && (!chosen.verdict || verdicts.includes(chosen.verdict));
  };
  const operators = all(".op").map((node) => ({ node, runs: all(".run", node), text: node.dataset.text.toLowerCase() }));
  const filter = () => {
    const wanted = search ? search.value.trim().toLowerCase() : "";
    let shown = 0;
    for (const { node, runs, text } of operators) {
      let any = false;
      for (const run of runs) { run.hidden = !fits(run); any ||= !run.hidden; }
      node.hidden = !any || !text.includes(wanted);
      shown += !node.hidden;
    }
    const count = document.querySelector(".shown");
    if (count) count.textContent = shown;
    const empty = document.querySelector(".empty.filtered");
    if (empty) empty.hidden = shown > 0 || operators.length === 0;
  };
  for (const button of all(".pick button")) button.onclick = () => {
    const kind = button.parentNode.dataset.kind;
    chosen[kind] = button.value;
    for (const other of all("button", button.parentNode)) other.setAttribute("aria-pressed", String(other === button));
    filter();
  };
  if (search) search.oninput = filter;
  for (const button of all("[data-open]")) button.onclick = () => {
    for (const { node } of operators) if (!node.hidden) node.open = button.dataset.open === "true";
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".command button");
    if (!button) return;
    await navigator.clipboard.writeText(button.parentNode.querySelector("pre").textContent);
    button.dataset.t = "Copied";
    button.textContent = say("Copied");
  });
})();
