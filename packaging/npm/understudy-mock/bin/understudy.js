#!/usr/bin/env node
"use strict";
// Starts the binary of this platform with the same arguments, streams and
// environment, forwards signals, and ends with its exit code.

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { binaryPath } = require("../binary.js");
const { whenNpxIsGone } = require("../orphan.js");

// Wrong usage, as for the commands themselves.
const usage = 2;

// These commands run a server. It also ends when this process is killed, which
// closes the pipe at descriptor 3: standard input stays that of the caller, since
// the command of `run` may need the terminal. On Windows, Node ends its children.
const lifeline = 3;
const args = process.argv.slice(2);
const stdio = ["inherit", "inherit", "inherit"];
if (["run", "serve"].includes(args[0]) && process.platform !== "win32") {
  args.splice(1, 0, `--until-eof-of=${lifeline}`);
  stdio[lifeline] = "pipe";
}

let binary;
try {
  binary = binaryPath();
} catch (error) {
  console.error(error.message);
  process.exit(usage);
}

const child = spawn(binary, args, { stdio });

// Ctrl+C in a terminal reaches the child as well; a second signal does no harm.
// On Windows only the console can send these, and it sends them to all.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"]) {
  process.on(signal, () => process.platform === "win32" || child.kill(signal));
}

// A killed npx leaves this process behind.
const { npm_lifecycle_event: event, npm_lifecycle_script: script = "" } = process.env;
if (event === "npx" && /^'?understudy/.test(script) && process.platform !== "win32") {
  whenNpxIsGone(() => child.kill("SIGTERM"));
}

child.on("error", (error) => {
  console.error(`understudy-mock: ${binary}: ${error.message}`);
  process.exit(usage);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
