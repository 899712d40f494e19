"use strict";
// Reports when the process that supervises this one was killed. The pipe to the
// server does not: it stays open as long as this process lives, and runners of
// tests and npx leave their children behind when they are killed.

const { readFileSync } = require("node:fs");

const interval = 250; // ms, real time
const { setInterval, clearInterval } = globalThis; // as they are before a test replaces them

/** Calls back when the parent of this process is another one than now. Returns what ends the watch. */
function whenOrphaned(callback) {
  return whenChanged(() => process.ppid, callback);
}

/** The same for npx, which starts a shell that starts this process; some shells replace themselves. */
function whenNpxIsGone(callback) {
  const parent = process.ppid;
  const shell = /^\d+ \((ba|da|z|)sh\)/.test(stat(parent));
  return whenChanged(() => (shell && process.ppid === parent ? parentOf(parent) : process.ppid), callback);
}

function whenChanged(read, callback) {
  const first = read();
  const timer = setInterval(() => {
    if (read() === first) return;
    clearInterval(timer);
    callback();
  }, interval);
  timer.unref?.();
  return () => clearInterval(timer);
}

/** What Linux says of a process: "PID (COMMAND) STATE PPID ..."; elsewhere "". */
function stat(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return "";
  }
}

function parentOf(pid) {
  return stat(pid).replace(/^.*\) \S+ /s, "").split(" ")[0];
}

module.exports = { whenOrphaned, whenNpxIsGone };
