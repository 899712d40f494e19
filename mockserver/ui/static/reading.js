// Bodies: find text, fold and copy JSON.
"use strict";

// bodyLines returns the lines of JSON, or other content as one element.
function bodyLines(body) {
  return body.matches(".json") ? [...body.querySelectorAll(".l")] : [body];
}

// bodyText returns a body that can be sent: indented JSON without the decoded texts.
function bodyText(body) {
  if (!body.matches(".json")) return body.textContent;
  return bodyLines(body)
    .filter((line) => !line.closest(".decoded"))
    .map((line) => {
      let depth = line.matches("summary") ? -1 : 0;
      for (let at = line.closest("details"); at && body.contains(at); at = at.parentElement.closest("details")) depth++;
      if (line.matches("details > div.l:last-child")) depth--;
      const own = [...line.childNodes].filter((n) => !n.matches?.(".decoded"));
      return "  ".repeat(depth) + own.map((n) => n.textContent).join("");
    })
    .join("\n");
}

// findInBody returns the ranges of a text in a body, and unfolds the lines around them.
function findInBody(body, wanted) {
  const ranges = [];
  for (const line of wanted ? bodyLines(body) : []) {
    const nodes = [];
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT, (n) => (n.parentElement.closest(".l") === line || line === body ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_REJECT));
    let text = "";
    while (walker.nextNode()) {
      nodes.push([text.length, walker.currentNode]);
      text += walker.currentNode.data;
    }
    const low = text.toLowerCase();
    for (let at = low.indexOf(wanted); at >= 0; at = low.indexOf(wanted, at + wanted.length)) {
      const place = (offset) => nodes.findLast(([from]) => from <= offset);
      const range = new Range();
      const [first, last] = [place(at), place(at + wanted.length - 1)];
      range.setStart(first[1], at - first[0]);
      range.setEnd(last[1], at + wanted.length - last[0]);
      ranges.push(range);
    }
    if (ranges.length > 2000) break;
  }
  for (const range of ranges) for (let at = range.startContainer.parentElement.closest("details"); at && body.contains(at); at = at.parentElement.closest("details")) at.open = true;
  return ranges;
}

let found = [];
let shown = 0;

document.addEventListener("input", ({ target }) => {
  if (!("find" in target.dataset)) return;
  const box = target.closest(".reading");
  found = findInBody(box.querySelector(".content"), target.value.toLowerCase());
  shown = 0;
  globalThis.CSS.highlights?.set("found", new Highlight(...found));
  box.querySelector("[data-found]").textContent = target.value ? `${found.length} found` : "";
  found[0]?.startContainer.parentElement.scrollIntoView({ block: "nearest" });
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !("find" in (event.target.dataset ?? {}))) return;
  event.preventDefault();
  if (found.length === 0) return;
  shown = (shown + (event.shiftKey ? -1 : 1) + found.length) % found.length;
  found[shown].startContainer.parentElement.scrollIntoView({ block: "nearest" });
});

document.addEventListener("click", async ({ target }) => {
  const button = target.closest(".tools button");
  if (!button) return;
  const body = button.closest(".reading").querySelector(".content");
  if ("fold" in button.dataset) {
    const fold = button.textContent === "Fold all";
    for (const part of body.querySelectorAll("details:not(.decoded)")) part.open = !fold;
    button.textContent = fold ? "Unfold all" : "Fold all";
  }
  if ("copyBody" in button.dataset) {
    try {
      await navigator.clipboard.writeText(bodyText(body));
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(body);
      button.textContent = "Press Ctrl+C";
    }
  }
});

// Texts that are sent: JSON is checked while it is typed, and a text that had a value shows how
// it differs from that.

// indented returns JSON with a member on each line, and other texts unchanged.
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// differing returns the lines of two texts between their common beginning and end.
function differing(before, after) {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let from = 0;
  while (from < Math.min(a.length, b.length) && a[from] === b[from]) from++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - from && a.at(-1 - end) === b.at(-1 - end)) end++;
  const lines = (kind, sign, list) => list.slice(from, list.length - end).map((text) => [kind, sign + text]);
  return [...lines("del", "− ", a), ...lines("add", "+ ", b)];
}

function checkText(field) {
  const notes = field.closest("label").nextElementSibling;
  const note = (kind, text) => {
    const line = document.createElement("p");
    line.className = kind;
    line.textContent = text;
    notes.append(line);
  };
  notes.replaceChildren();
  const text = field.value;
  const before = field.defaultValue;
  if ("json" in field.dataset && /^\s*[[{"]/.test(before || text)) {
    try {
      JSON.parse(text);
      note("good", "Valid JSON");
    } catch ({ message }) {
      note("bad", "Invalid JSON: " + message);
    }
  }
  if (!("differs" in field.dataset) || text === before) return;
  for (const [kind, line] of differing(indented(before), indented(text)).slice(0, 100)) note(kind, line);
}

document.addEventListener("input", ({ target }) => {
  if (!target.matches("[data-json], [data-differs]")) return;
  delete target.form?.dataset.warned;
  checkText(target);
});

// Invalid JSON is sent only by a second click.
document.addEventListener("submit", (event) => {
  const form = event.target;
  const bad = form.querySelector("label:has([data-json]) + .checked .bad");
  if (!bad || form.dataset.warned) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  form.dataset.warned = "yes";
  bad.textContent += ". Press the button again to send it as it is.";
  bad.scrollIntoView({ block: "nearest" });
}, true);
