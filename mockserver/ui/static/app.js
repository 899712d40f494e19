// What the page does beyond links and forms: it follows the account, copies
// texts, switches the theme, and listens to keys. Everything works without it.
"use strict";

const find = (selector) => document.querySelector(selector);

// Following: whenever the overview of the account changes, the view is fetched
// anew, and what is different in it is changed. That takes a small part of the
// time only, whatever the traffic: after each change the page rests so many times
// as long as the change took, so that it does not slow down what it shows.
const restFactor = 50;

const follower = {
  stream: null,
  account: null,
  paused: sessionStorage.getItem("understudy-paused") === "yes",
  busy: false,
  again: false,
  lost: false, // whether the server does not answer; the browser tries again
  rested: 0, // when the page has rested, in ms since it was opened
  left: 0, // when a link or a button was pressed whose answer has not come

  connect() {
    const account = find("#live")?.dataset.account;
    const wanted = !this.paused && !document.hidden;
    if (this.stream && wanted && account === this.account) return;
    this.stream?.close();
    this.stream = null;
    if (!wanted) return;
    this.account = account;
    this.stream = new EventSource("/_understudy/overview?follow=true&account=" + encodeURIComponent(account));
    this.stream.addEventListener("overview", () => this.refresh());
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
        await htmx.swap({ text, target: find("#live"), select: "#live", swap: "outerMorph", sourceElement: document.body });
      }
    } catch {
      // the server is gone; the stream tells when it is back
    }
    this.busy = false;
    this.rested = performance.now() + restFactor * (performance.now() - begun);
    setTimeout(() => this.catchUp(), this.resting() + 1);
  },

  // resting is how long the page still rests, in ms.
  resting() {
    return this.rested - performance.now();
  },

  // leaving tells whether the answer to a link or a button is awaited.
  leaving() {
    return Date.now() - this.left < 10_000;
  },

  // arrived goes on where a link or a button has led to.
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

// selecting tells whether somebody marks a text, which a change would undo.
function selecting() {
  const selection = getSelection();
  return selection && !selection.isCollapsed && find("#view")?.contains(selection.anchorNode);
}

// show brings what only the browser knows into a page that has come anew.
function show() {
  const live = find("[data-live]");
  if (live) {
    live.setAttribute("aria-pressed", String(!follower.paused));
    live.textContent = follower.paused ? "Paused" : follower.lost ? "Server lost" : "Live";
  }
}

const units = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];

// away writes how far an instant is from now, as the server does.
function away(ms) {
  const seconds = Math.round(Math.abs(ms) / 1000);
  if (seconds < 1) return "now";
  const i = units.findIndex(([, length]) => seconds >= length);
  const [unit, length] = units[i];
  let text = Math.floor(seconds / length) + " " + unit;
  const rest = i + 1 < units.length ? Math.floor((seconds % length) / units[i + 1][1]) : 0;
  if (rest > 0) text += " " + rest + " " + units[i + 1][0];
  return ms > 0 ? "in " + text : text + " ago";
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// dated writes an instant in UTC with its date, as the server does.
function dated(ms) {
  const at = new Date(ms);
  return `${at.getUTCDate()} ${months[at.getUTCMonth()]} ${at.getUTCFullYear()} ${at.toISOString().slice(11, 19)} UTC`;
}

// tick keeps clocks and distances true while nothing happens; a manual clock
// stands still.
function tick() {
  if (document.hidden) return;
  const { mode, now, real } = find("#live")?.dataset ?? {};
  const skew = Number(now) - Number(real);
  for (const clock of document.querySelectorAll("time[data-runs]")) clock.textContent = dated(Date.now() + Number(clock.dataset.runs));
  for (const part of document.querySelectorAll("small[data-at]")) {
    if (part.dataset.of === "clock" && mode !== "real") continue;
    const at = Number(part.dataset.at) - (part.dataset.of === "clock" ? skew : 0);
    const text = away(at - Date.now());
    if (part.textContent !== text) part.textContent = text;
  }
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  const text = source.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    source.closest("details")?.setAttribute("open", "");
    getSelection().selectAllChildren(source);
    button.textContent = "Press Ctrl+C";
  }
}

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("understudy-theme", root.dataset.theme);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.copy) copy(button);
  if ("live" in button.dataset) follower.toggle();
  if ("themeSwitch" in button.dataset) switchTheme();
  if ("keys" in button.dataset) find("#keys").showModal();
});

// Keys.
let going = false;

function row(step) {
  const rows = [...document.querySelectorAll("[data-rows] [data-open]")];
  if (rows.length === 0) return;
  const at = rows.indexOf(document.activeElement);
  rows[Math.min(rows.length - 1, Math.max(0, at + step))].focus();
}

const keys = {
  j: () => row(1),
  k: () => row(-1),
  p: () => follower.toggle(),
  "/": () => find(".filter input:not([type=hidden])")?.focus(),
  "?": () => find("#keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  if (going) {
    going = false;
    find(`nav a[data-key="${CSS.escape(event.key)}"]`)?.click();
    return;
  }
  if (event.key === "g") {
    going = true;
    setTimeout(() => (going = false), 1500);
    return;
  }
  if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});

document.addEventListener("htmx:before:request", () => (follower.left = Date.now()));
document.addEventListener("htmx:error", () => follower.arrived());
document.addEventListener("visibilitychange", () => follower.connect());
document.addEventListener("htmx:after:swap", () => {
  show();
  follower.connect();
  follower.arrived();
});
addEventListener("pagehide", () => follower.stream?.close());
show();
follower.connect();
setInterval(tick, 1000);
