// Settings that the browser stores: the time zone, the theme, the columns of lists and their
// widths, and the width of the list next to an entry.
"use strict";

function remember(change) {
  const kept = { columns: {}, widths: {}, ...remembered() };
  change(kept);
  localStorage.setItem("understudy-lists", JSON.stringify(kept));
  noteSettings();
  styleLists();
}

// Columns.

function showColumns() {
  for (const menu of document.querySelectorAll("[data-columns]")) {
    const list = menu.dataset.columns;
    const heads = [...document.querySelectorAll(`main [data-list="${list}"] th`)];
    for (const box of menu.querySelectorAll("[data-column]")) {
      const head = heads.find((h) => h.dataset.col === box.dataset.column);
      box.checked = head ? getComputedStyle(head).display !== "none" : true;
      box.disabled = !head;
    }
  }
  for (const head of document.querySelectorAll("main .dense th")) {
    if (head.querySelector(".grip")) continue;
    const grip = document.createElement("span");
    grip.className = "grip";
    head.append(grip);
  }
}

document.addEventListener("change", ({ target }) => {
  if (!target.dataset.column) return;
  const list = target.closest("[data-columns]").dataset.columns;
  remember((kept) => (kept.columns[list + "." + target.dataset.column] = target.checked));
});

document.addEventListener("click", ({ target }) => {
  const reset = target.closest("[data-columns-reset]");
  if (!reset) return;
  const list = reset.closest("[data-columns]").dataset.columns + ".";
  remember((kept) => {
    for (const part of [kept.columns, kept.widths]) for (const name of Object.keys(part)) if (name.startsWith(list)) delete part[name];
  });
  showColumns();
});

// Widths: drag a column at its right edge, or the list next to an entry at the splitter.

function dragWidth(event, width, save) {
  event.preventDefault();
  const from = event.clientX;
  event.target.setPointerCapture(event.pointerId);
  const move = (e) => save(Math.round(width + e.clientX - from));
  event.target.addEventListener("pointermove", move);
  event.target.addEventListener("pointerup", () => event.target.removeEventListener("pointermove", move), { once: true });
}

function resizeBeside(width) {
  const most = Math.max(300, innerWidth - 700);
  remember((kept) => (kept.beside = Math.min(most, Math.max(300, width))));
  showSplitter();
}

function showSplitter() {
  document.querySelector("#splitter")?.setAttribute("aria-valuenow", String(remembered().beside ?? 520));
}

document.addEventListener("pointerdown", (event) => {
  const { target } = event;
  if (target.id === "splitter") dragWidth(event, document.querySelector("#beside").offsetWidth, resizeBeside);
  if (!target.classList?.contains("grip")) return;
  const head = target.closest("th");
  const name = head.closest("[data-list]").dataset.list + "." + head.dataset.col;
  dragWidth(event, head.offsetWidth, (width) => remember((kept) => (kept.widths[name] = Math.max(48, width))));
});

document.addEventListener("keydown", (event) => {
  if (event.target.id !== "splitter" || !["ArrowLeft", "ArrowRight"].includes(event.key)) return;
  event.preventDefault();
  resizeBeside(document.querySelector("#beside").offsetWidth + (event.key === "ArrowLeft" ? -16 : 16));
});

// Times: the server writes them in UTC. This code writes them in the chosen zone, in the
// same format.

const localZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function zone() {
  return localStorage.getItem("understudy-zone") === "local" ? localZone : "UTC";
}

const formats = new Map();

// parts returns the parts of a time in the chosen zone.
function parts(ms) {
  const name = zone();
  if (!formats.has(name)) {
    formats.set(name, new Intl.DateTimeFormat("en-GB", { timeZone: name, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" }));
  }
  const p = Object.fromEntries(formats.get(name).formatToParts(ms).map(({ type, value }) => [type, value]));
  return { year: Number(p.year), date: `${Number(p.day)} ${months[p.month - 1]}`, minute: `${p.hour}:${p.minute}`, second: `${p.hour}:${p.minute}:${p.second}` };
}

// dated formats a time with its date and zone.
function dated(ms, precise) {
  const p = parts(ms);
  return `${p.date} ${p.year} ${p.second}${precise ? thousandths(ms) : ""} ${zone()}`;
}

// faced formats a time as the clock above every view shows it.
function faced(ms) {
  const p = parts(ms);
  return p.year === parts(Date.now()).year ? `${p.date} ${p.second}` : `${p.date} ${p.year} ${p.second}`;
}

function thousandths(ms) {
  return "." + String(((ms % 1000) + 1000) % 1000).padStart(3, "0");
}

// stamped formats a time without the parts of the date that it shares with now.
function stamped(ms, now) {
  const p = parts(ms);
  const today = parts(now);
  if (p.year !== today.year) return `${p.date} ${p.year} ${p.minute}`;
  if (p.date !== today.date) return `${p.date} ${p.second}`;
  return p.second + thousandths(ms);
}

// rewritten is true once times of this page may be in another zone than UTC.
let rewritten = false;

// zoneTimes writes all times of the page in the chosen zone.
function zoneTimes() {
  for (const name of document.querySelectorAll("[data-zone]")) name.textContent = zone();
  for (const button of document.querySelectorAll("[data-zone-switch]")) button.ariaLabel = `${zone()}: show ${zone() === "UTC" ? "local time" : "UTC"}`;
  if (zone() === "UTC" && !rewritten) return;
  rewritten = true;
  const { now, real } = document.querySelector("#live")?.dataset ?? {};
  for (const time of document.querySelectorAll("time[datetime]")) {
    const at = Date.parse(time.dateTime);
    const text = time.firstChild;
    const away = time.querySelector("small");
    if (away && text !== away) text.data = stamped(at, Number(away.dataset.of === "real" ? real : now)) + " ";
    if (!away && !time.dataset.runs) text.data = "face" in time.dataset ? faced(at) : dated(at, "precise" in time.dataset);
    if (away) time.title = `${dated(at)}; ${time.dateTime}`;
  }
  for (const label of document.querySelectorAll("[data-instant]")) {
    const p = parts(Number(label.dataset.instant));
    label.textContent = `${p.date} ${p.minute}`;
  }
}

function switchZone() {
  localStorage.setItem("understudy-zone", localStorage.getItem("understudy-zone") === "local" ? "utc" : "local");
  zoneTimes();
}

// The theme.

function isDark() {
  return (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
}

function switchTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  localStorage.setItem("understudy-theme", document.documentElement.dataset.theme);
  noteSettings();
  showTheme();
}

function showTheme() {
  for (const button of document.querySelectorAll("[data-theme-switch]")) button.ariaLabel = isDark() ? "Use light theme" : "Use dark theme";
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
addEventListener("resize", showColumns);

// showPrefs applies the settings to a page after an update.
function showPrefs() {
  showColumns();
  showSplitter();
  zoneTimes();
  showTheme();
}
