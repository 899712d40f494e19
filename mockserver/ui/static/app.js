// Updates of the view, copy buttons and keyboard shortcuts. The page also works without
// scripts. Settings are in prefs.js.
"use strict";

const find = (selector) => document.querySelector(selector);

// The follower fetches the view again whenever the overview of the account changes, and
// updates the parts that differ. After each update it pauses restFactor times as long as
// the update took, but at most a second, so that updates take a small part of the time at any
// traffic, and nobody waits for what has changed.
const follower = {
  restFactor: 50,
  stream: null,
  account: null,
  paused: sessionStorage.getItem("understudy-paused") === "yes",
  busy: false,
  swapping: false, // an update is being put into the page
  again: false,
  lost: false, // whether the server is unreachable; the browser reconnects
  rested: 0, // when the pause ends, in ms since the page was opened
  left: 0, // Unix ms of the last click on a link or button without a response yet

  connect() {
    const account = find("#live")?.dataset.account;
    const wanted = !this.paused && !document.hidden;
    if (this.stream && wanted && account === this.account) return;
    this.stream?.close();
    this.stream = null;
    if (!wanted) return;
    this.account = account;
    this.stream = new EventSource("/_understudy/overview?follow=true&account=" + encodeURIComponent(account));
    this.stream.addEventListener("overview", ({ data }) => {
      showMove(JSON.parse(data));
      this.refresh();
    });
    this.stream.addEventListener("open", () => this.reached(true));
    this.stream.addEventListener("error", () => this.reached(false));
  },

  reached(yes) {
    this.lost = !yes;
    show();
  },

  async refresh() {
    if (this.busy || this.leaving() || this.resting() > 0) {
      this.again = true;
      return;
    }
    this.busy = true;
    const begun = performance.now();
    const address = location.href;
    try {
      const answer = await fetch(address, { headers: { Follow: "true" } });
      const text = await answer.text();
      if (!this.leaving() && address === location.href && !selecting()) {
        this.swapping = true;
        const before = rowIds();
        await htmx.swap({ text, target: find("#live"), select: "#live", swap: "outerMorph", sourceElement: document.body });
        show();
        for (const id of rowIds()) if (before.size > 0 && !before.has(id)) document.getElementById(id).classList.add("fresh");
      }
    } catch {
      // the server is unreachable; the stream reports its return
    }
    this.busy = this.swapping = false;
    this.rested = performance.now() + Math.min(1000, this.restFactor * (performance.now() - begun));
    setTimeout(() => this.catchUp(), this.resting() + 1);
  },

  // resting returns the rest of the pause in ms.
  resting() {
    return this.rested - performance.now();
  },

  // leaving reports whether the response to a link or a button is pending, for at most 10 s.
  leaving() {
    return Date.now() - this.left < 10_000;
  },

  // arrived resumes updates after the response to a link or a button.
  arrived() {
    this.left = 0;
    this.catchUp();
  },

  catchUp() {
    if (!this.again) return;
    this.again = false;
    this.refresh();
  },

  toggle() {
    this.paused = !this.paused;
    sessionStorage.setItem("understudy-paused", this.paused ? "yes" : "no");
    show();
    this.connect();
  },
};

// rowIds are the rows of the list, to find those that have arrived.
function rowIds() {
  return new Set([...document.querySelectorAll("main [data-rows] tbody tr[id]")].map((r) => r.id));
}

// selecting reports whether text is selected: an update would clear the selection.
function selecting() {
  const selection = getSelection();
  return selection && !selection.isCollapsed && find("#view")?.contains(selection.anchorNode);
}

// show applies the state of the browser to a page after an update.
function show() {
  const live = find("[data-live]");
  if (live) {
    live.setAttribute("aria-pressed", String(!follower.paused));
    live.classList.toggle("lost", follower.lost);
    const [state, action] = follower.paused ? ["Paused", "resume updates"] : follower.lost ? ["Server lost", "pause updates"] : ["Live", "pause updates"];
    live.lastElementChild.textContent = state;
    live.ariaLabel = `${state}: ${action}`;
  }
  showPrefs();
  noteMove();
  markMoves();
  showPicked();
}

const units = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];

// away formats a distance from now in the same way as the server.
function away(ms, short) {
  const seconds = Math.round(Math.abs(ms) / 1000);
  if (seconds < 1) return "now";
  const i = units.findIndex(([, length]) => seconds >= length);
  const [unit, length] = units[i];
  let text = Math.floor(seconds / length) + " " + unit;
  const rest = i + 1 < units.length ? Math.floor((seconds % length) / units[i + 1][1]) : 0;
  if (rest > 0 && !short) text += " " + rest + " " + units[i + 1][0];
  return ms > 0 ? "in " + text : text + " ago";
}

// tick updates clocks and distances every second; those of a manual clock do not change.
function tick() {
  if (document.hidden) return;
  const { mode, now, real } = find("#live")?.dataset ?? {};
  const skew = Number(now) - Number(real);
  for (const clock of document.querySelectorAll("time[data-runs]")) clock.textContent = faced(Date.now() + Number(clock.dataset.runs));
  for (const part of document.querySelectorAll("small[data-at]")) {
    if (part.dataset.of === "clock" && mode !== "real") continue;
    const at = Number(part.dataset.at) - (part.dataset.of === "clock" ? skew : 0);
    const text = away(at - Date.now(), "short" in part.dataset);
    if (part.textContent !== text) part.textContent = text;
  }
}

// say shows a message of the page itself.
function say(text) {
  const line = document.createElement("p");
  line.className = "good";
  line.textContent = text;
  find("#said").replaceChildren(line);
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy) ?? button;
  const words = [...button.childNodes].find((node) => node.nodeType === Node.TEXT_NODE);
  try {
    await navigator.clipboard.writeText(button.dataset.copyText ?? source.textContent);
    if (words) words.data = "Copied";
    else say("Copied " + button.dataset.copyText);
  } catch {
    if (!words) return say(button.dataset.copyText);
    source.closest("details")?.setAttribute("open", "");
    getSelection().selectAllChildren(source);
    words.data = "Press Ctrl+C";
  }
}

// sharedLink is the address of the view for somebody else: with the account, and with the host
// of the server if this browser knows it only as localhost.
function sharedLink() {
  const address = new URL(location.href);
  const { account, url } = find("#live").dataset;
  address.searchParams.set("account", account);
  const local = (host) => /^(localhost|127\..*|\[::1\])$/.test(host);
  if (local(address.hostname) && !local(new URL(url).hostname)) return new URL(url).origin + address.pathname + address.search + address.hash;
  return address.href;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if ("copyLink" in button.dataset) button.dataset.copyText = sharedLink();
  if (button.dataset.copy ?? button.dataset.copyText) copy(button);
  if ("live" in button.dataset) follower.toggle();
  if ("themeSwitch" in button.dataset) switchTheme();
  if ("zoneSwitch" in button.dataset) switchZone();
  if ("keys" in button.dataset) find("#keys").showModal();
  if ("closeSaid" in button.dataset) {
    receipt = null;
    find("#said").replaceChildren();
  }
  if ("unpick" in button.dataset) unpick();
  if ("jump" in button.dataset) palette.open();
});

// Menus close when something in them is sent, and by a click elsewhere or Escape.
function closeMenus(except) {
  for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(except)) menu.open = false;
}

document.addEventListener("click", ({ target }) => closeMenus(target));
document.addEventListener("submit", () => closeMenus());
document.addEventListener("keydown", ({ key }) => key === "Escape" && closeMenus());

// A click anywhere in a row opens it, unless it selects text.
document.addEventListener("click", (event) => {
  const target = event.target.closest("[data-rows] tbody tr");
  if (!target || event.target.closest("a, button, input, label") || selecting()) return;
  target.querySelector("[data-open]")?.click();
});

// Selection: the boxes of rows are drawn by the browser, and one bar acts on all selected rows.
const picked = new Set();

function showPicked() {
  const bar = find("#picked");
  if (!bar) return;
  const boxes = [...document.querySelectorAll("main [data-pick]")];
  const there = new Set(boxes.map((box) => box.dataset.pick));
  for (const id of picked) if (!there.has(id)) picked.delete(id);
  for (const box of boxes) box.checked = picked.has(box.dataset.pick);
  bar.hidden = picked.size === 0;
  bar.querySelector("output").textContent = `${picked.size} selected`;
  const copies = bar.querySelector("[data-copy-text]");
  if (copies) copies.dataset.copyText = [...picked].join("\n");
  for (const part of bar.querySelectorAll("[data-of]")) {
    const fits = boxes.filter((box) => box.checked && (part.dataset.of || box.dataset.kind) === box.dataset.kind);
    part.hidden = fits.length === 0;
    for (const field of part.querySelectorAll("[name=pick]")) field.value = fits.map((box) => box.dataset.pick).join(",");
    for (const button of part.querySelectorAll("button")) button.textContent = `${button.textContent.split(" ")[0]} ${fits.length}`;
  }
}

function unpick() {
  picked.clear();
  showPicked();
}

document.addEventListener("change", ({ target }) => {
  if (!("pick" in target.dataset)) return;
  if (target.checked) picked.add(target.dataset.pick);
  else picked.delete(target.dataset.pick);
  showPicked();
});

// Keys.
let going = false;

function row(step) {
  const rows = [...document.querySelectorAll("[data-rows] :is([data-open], summary.step)")].filter((link) => link.checkVisibility());
  if (rows.length === 0) return;
  const at = rows.indexOf(document.activeElement);
  rows[Math.min(rows.length - 1, Math.max(0, at + step))].focus();
}

const keys = {
  j: () => row(1),
  k: () => row(-1),
  p: () => follower.toggle(),
  t: () => switchTheme(),
  c: () => (find("form.pick select")?.focus(), find("[data-compare]")?.click()),
  x: () => document.activeElement.closest("tr")?.querySelector("[data-pick]")?.click(),
  "/": () => {
    find("#search").focus();
    find("#search").select();
  },
  "?": () => find("#keys").showModal(),
};

// press does what a key stands for, and reports whether it stands for something.
function press(key) {
  if (going) {
    going = false;
    find(`nav a[data-key="${CSS.escape(key)}"]`)?.click();
    return false;
  }
  if (key === "g") {
    going = true;
    setTimeout(() => (going = false), 1500);
    return false;
  }
  keys[key]?.();
  return key in keys;
}

document.addEventListener("keydown", (event) => {
  if (isShortcut(event) && press(event.key)) event.preventDefault();
});

// Keys that were pressed before this script was there.
document.removeEventListener("keydown", keepKey);
for (const key of earlyKeys.splice(0)) press(key);

// The form whose response is pending. If it is refused, the error is shown at the field that it
// names, or that has the value that it quotes; the other fields keep their values.
let submitted = null;

// showMove shows what the clock has reached while the response to a button that moves it is
// pending for more than a second.
let attemptsBefore = 0;

function showMove(now) {
  if (!submitted?.getAttribute("action")?.includes("/do/clock.advance")) {
    attemptsBefore = now.attempts;
  } else if (Date.now() - follower.left >= 1000) {
    say(`The clock has reached ${new Date(now.clock.now).toISOString()}; attempts so far: ${now.attempts - attemptsBefore}.`);
    const stop = document.createElement("button");
    stop.textContent = "Stop";
    stop.onclick = stopMove;
    find("#said p").className = "receipt";
    find("#said p").append(stop);
  }
}

// stopMove ends the request that moves the clock, and with it the move.
function stopMove() {
  submitted.dispatchEvent(new Event("htmx:abort"));
  submitted = null;
  say("Stopped. What has happened until now stays.");
  follower.arrived();
  follower.refresh();
}

// Moves of the clock in this tab are marked in the lists: [account, first ms after the old time, new time].
function knownMoves() {
  return JSON.parse(sessionStorage.getItem("understudy-moves") ?? "[]");
}

let receipt = null; // of the last move, until it is closed

function noteMove() {
  const said = find("#said [data-moved]");
  if (!said) return;
  receipt = said;
  const move = [find("#live").dataset.account, Date.parse(said.dataset.from + "Z"), Date.parse(said.dataset.moved + "Z")];
  const moves = knownMoves().filter(([account, from]) => account !== move[0] || from !== move[1]);
  sessionStorage.setItem("understudy-moves", JSON.stringify([...moves, move].slice(-20)));
}

function markMoves() {
  for (const [account, from, to] of knownMoves()) {
    if (account !== find("#live")?.dataset.account) continue;
    for (const body of document.querySelectorAll("[data-rows] > tbody")) {
      const rows = [...body.rows].map((r) => [r, Number(r.querySelector("[data-col=age] small[data-at]")?.dataset.at)]);
      const at = rows.findIndex(([r, time], i) => i > 0 && !r.matches(".moved") && time < from && rows[i - 1][1] >= from);
      if (at < 0) continue;
      const line = document.createElement("tr");
      line.className = "moved";
      const cell = line.insertCell();
      cell.colSpan = [...rows[at][0].cells].filter((c) => c.checkVisibility()).length;
      cell.textContent = `Clock advanced ${away(to - from + 1).slice(3)}`;
      rows[at][0].before(line);
    }
  }
}

function refusedField(form, error) {
  const place = error.slice(0, error.indexOf(": ")).split(/[ /]/).at(-1).toLowerCase();
  const quoted = /invalid value "?(.*?)"?: /.exec(error)?.[1];
  const fields = [...form.elements].filter((field) => field.name && field.type !== "hidden" && field.type !== "submit");
  const named = fields.filter((field) => ("-" + field.name.toLowerCase()).endsWith("-" + place) || place.endsWith("-" + field.name.toLowerCase()));
  const has = (list, test) => quoted && list.find((field) => field.value && test(field.value));
  return has(named, (value) => value === quoted) ?? named[0] ?? (has(fields, (value) => value === quoted) || has(fields, (value) => value.includes(quoted)));
}

function answerForm() {
  const form = submitted;
  submitted = null;
  if (form?.matches(".search")) row(1); // the keys j, k and Enter continue from the first result
  if (!form?.isConnected || form.getAttribute("method") !== "post") return;
  const said = find("#said .bad");
  if (!said) return form.reset();
  const field = refusedField(form, said.textContent);
  if (!field) return;
  const rest = said.textContent.slice(said.textContent.indexOf(": ") + 2);
  said.textContent = (field.labels?.[0]?.firstChild.textContent.trim() || field.ariaLabel || field.name) + ": " + rest;
  field.setCustomValidity(rest);
  field.reportValidity();
}

function forgive(form) {
  for (const field of form?.elements ?? []) field.setCustomValidity?.("");
}

document.addEventListener("submit", ({ target }) => (submitted = target));
document.addEventListener("input", ({ target }) => forgive(target.form));
document.addEventListener("click", ({ target }) => forgive(target.closest("button")?.form)); // before the browser checks the form

document.addEventListener("htmx:before:request", () => (follower.left = Date.now()));
document.addEventListener("htmx:error", () => follower.arrived());
document.addEventListener("visibilitychange", () => follower.connect());
document.addEventListener("htmx:after:swap", () => {
  if (follower.swapping) return; // an update of the view, not the response to a link or a button
  if (receipt && find("#said") && !find("#said").firstElementChild) find("#said").append(receipt);
  show();
  answerForm();
  follower.connect();
  follower.arrived();
});
addEventListener("pagehide", () => follower.stream?.close());
show();
follower.connect();
setInterval(tick, 1000);
