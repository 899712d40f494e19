// The settings of the user that affect the look: the theme, and the columns of lists. The
// page runs this script before its first paint only if its cookie says that there are
// settings: reading them waits for another process of the browser.
"use strict";

// remembered reads the settings of lists: {columns, widths, beside}.
function remembered() {
  try {
    return JSON.parse(localStorage.getItem("understudy-lists")) ?? {};
  } catch {
    return {};
  }
}

// noteSettings sets the cookie, for a year.
function noteSettings() {
  document.cookie = "understudy-look=yes; path=/_understudy/; max-age=31536000; samesite=strict";
}

const listStyle = new CSSStyleSheet();
document.adoptedStyleSheets = [listStyle];

// styleLists applies the settings as a style sheet, which stays when the page is updated.
function styleLists() {
  const { columns = {}, widths = {}, beside } = remembered();
  const rules = [];
  for (const [name, shown] of Object.entries(columns)) rules.push(`main ${columnOf(name)} { display: ${shown ? "revert" : "none"}; }`);
  for (const [name, width] of Object.entries(widths)) rules.push(`main ${columnOf(name)}:is(th) { width: ${Number(width)}px; }`);
  if (beside) rules.push(`:root { --beside: ${Number(beside)}px; }`);
  listStyle.replaceSync(rules.join("\n"));
}

// columnOf returns the selector for LIST.COLUMN.
function columnOf(name) {
  const [list, column] = name.split(".").map((part) => CSS.escape(part));
  return `[data-list="${list}"] [data-col="${column}"]`;
}

function applySettings() {
  const chosen = localStorage.getItem("understudy-theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
  styleLists();
  if (chosen || localStorage.getItem("understudy-lists")) noteSettings();
}

const late = document.currentScript.defer;
if (!late) applySettings();

// showRows shows the rows that the first paint does not have, see app.css. A page that restores its
// scroll position needs all rows at once, and a hidden tab does not paint.
function showRows() {
  document.documentElement.dataset.rows = "all";
}

const arrival = performance.getEntriesByType("navigation")[0]?.type;
if (arrival !== "navigate" || location.hash || document.hidden) showRows();

// The other scripts change little of the first paint, so they run after it, in their order:
// earlier, they would delay the paint.
const laterScripts = document.currentScript.dataset.then?.split(" ") ?? [];

// Keys that are pressed before the other scripts are there are kept for them. The search has
// the focus at once, for what is typed next.
const earlyKeys = [];

function isShortcut(event) {
  return !(event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog"));
}

function keepKey(event) {
  if (!isShortcut(event)) return;
  if (event.key !== "/") return earlyKeys.push(event.key);
  event.preventDefault();
  document.querySelector("#search")?.focus();
}

if (laterScripts.length > 0) document.addEventListener("keydown", keepKey);

function afterPaint() {
  showRows();
  if (late && laterScripts.length > 0) applySettings();
  for (const address of laterScripts.splice(0)) {
    const script = document.createElement("script");
    script.src = address;
    script.async = false;
    document.head.append(script);
  }
}

document.addEventListener("DOMContentLoaded", () => {
  if (document.hidden) return afterPaint();
  const patience = 1000; // ms, for browsers that do not report paints
  setTimeout(afterPaint, patience);
  document.addEventListener("visibilitychange", afterPaint, { once: true });
  new PerformanceObserver(afterPaint).observe({ type: "paint", buffered: true });
});
