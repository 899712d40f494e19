"use strict";
// startUnderstudy runs a server for a test file, and is a client of its control
// API. No dependencies.

const { spawn } = require("node:child_process");
const { mkdtempSync, readFileSync, rmSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const { binaryPath } = require("./binary.js");
const { explore, ExploreError } = require("./explore.js");
const { whenOrphaned } = require("./orphan.js");

// As they are before a test replaces them.
const { fetch, setTimeout, clearTimeout } = globalThis;

// What the last lines of a server's log may be, in lines and in characters.
const logLines = 20;
const logSize = 8192;

const startLimit = 30_000; // ms, real time
const stopLimit = 5_000; // ms, real time

// A runner of tests has started this process for a test file.
const supervised = process.send !== undefined || process.env.NODE_TEST_CONTEXT !== undefined;

// The options that are not flags of `serve`.
const ownOptions = ["binary", "log", "port", "startTimeout"];

/** The server did not start, or refused a call: `status` is that of its answer. */
class UnderstudyError extends Error {
  constructor(message, { status, ...options } = {}) {
    super(`understudy: ${message}`, options);
    this.name = "UnderstudyError";
    this.status = status;
  }
}

/** Starts a server on a free port, with a manual clock unless the options say otherwise. */
async function startUnderstudy(options = {}) {
  const folder = mkdtempSync(join(tmpdir(), "understudy-"));
  const ready = join(folder, "ready.json");
  let child;
  try {
    child = new Child(options.binary ?? binaryPath(), ["serve", ...flags(options), "--until-eof", `--ready-file=${ready}`], options.log);
    await child.started(options.startTimeout ?? startLimit); // the banner comes after the file
    return new Understudy(child, JSON.parse(readFileSync(ready, "utf8")));
  } catch (error) {
    child?.kill();
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The options as flags: { maxBody: "2MiB" } is --max-body=2MiB. */
function flags(options) {
  if (options.addr !== undefined && options.port !== undefined) throw new UnderstudyError("options addr and port: must be one of both; addr has a port");
  const given = { addr: `127.0.0.1:${options.port ?? 0}`, clock: "manual", logLevel: "warn", ...options };
  const list = [];
  for (const [option, value] of Object.entries(given)) {
    if (value === undefined || ownOptions.includes(option)) continue;
    const name = option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    if (value === true) list.push(`--${name}`);
    else if (value === false) list.push(`--${name}=false`);
    else if (Array.isArray(value)) list.push(...value.map((one) => `--${name}=${one}`));
    else if (typeof value === "object") list.push(...Object.entries(value).map(([from, to]) => `--${name}=${from}=${to}`));
    else list.push(`--${name}=${value}`);
  }
  return list;
}

/** A server process. It ends when its standard input does, so it does not survive this process. */
class Child {
  #process;
  #log = "";
  #ended; // a promise: how it ended
  #unwatch; // ends the watch of the parent

  constructor(binary, args, log) {
    this.#process = spawn(binary, args, { stdio: ["pipe", "pipe", "pipe"], windowsHide: true });
    this.#ended = new Promise((resolve) => {
      this.#process.once("error", (error) => resolve(error.message));
      this.#process.once("close", (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`));
    });
    this.#process.stdin.on("error", () => {}); // it has ended
    this.#process.stderr.setEncoding("utf8");
    this.#process.stderr.on("data", (text) => {
      this.#log = (this.#log + text).slice(-logSize);
      if (log === "inherit") process.stderr.write(text);
    });
  }

  get pid() {
    return this.#process.pid;
  }

  /** The last lines of the log. */
  get log() {
    return this.#log.trimEnd().split("\n").slice(-logLines).join("\n");
  }

  /** Waits for the banner. */
  async started(limit) {
    let timer;
    const banner = new Promise((resolve) => this.#process.stdout.once("data", () => resolve()));
    const late = new Promise((resolve) => {
      timer = setTimeout(() => resolve(`no answer within ${limit} ms`), limit);
    });
    const failure = await Promise.race([banner, this.#ended, late]);
    clearTimeout(timer);
    if (failure) throw new UnderstudyError(`the server did not start: ${failure}${this.log && `\n${this.log}`}`);
    this.#process.stdout.resume(); // nothing else reads it
    this.#hold("unref"); // a test file without stop() ends nevertheless
    if (supervised) this.#unwatch = whenOrphaned(() => this.#process.stdin.end());
  }

  /** Asks it to end, and waits. */
  async stop() {
    this.#unwatch?.();
    this.#hold("ref"); // Deno ends a process that waits for nothing else
    this.#process.stdin.end();
    const timer = setTimeout(() => this.kill(), stopLimit);
    await this.#ended;
    clearTimeout(timer);
  }

  kill() {
    this.#process.kill("SIGKILL");
  }

  #hold(change) {
    for (const handle of [this.#process, ...this.#process.stdio]) handle?.[change]?.();
  }
}

/** As many entries as a journal keeps. */
const journalLimit = 10000;

/** A running server. */
class Understudy {
  #child;
  #controlToken;

  constructor(child, ready) {
    this.#child = child;
    this.#controlToken = ready.controlToken; // from an option, the environment or a settings file
    this.url = ready.url;
    this.token = ready.token;
    this.env = ready.env;
    this.pid = child.pid;
  }

  advance(by) {
    return this.control("POST", "clock/advance", typeof by === "string" ? { by } : by);
  }

  async stub(url, ...answers) {
    const stub = typeof url === "object" ? url : { url, answers: answers.map((answer) => (typeof answer === "object" ? answer : { status: answer })) };
    await this.control("POST", "stubs", stub);
  }

  async deliveries(query) {
    return (await this.control("GET", `deliveries${search({ limit: journalLimit, ...query })}`)).entries;
  }

  async requests(query) {
    return (await this.control("GET", `requests${search({ limit: journalLimit, ...query })}`)).entries;
  }

  async messages(query) {
    return (await this.control("GET", `messages${search(query)}`)).messages;
  }

  async dlq(query) {
    return (await this.control("GET", `dlq${search(query)}`)).entries;
  }

  async await(condition) {
    return (await this.control("POST", "await", condition)).entries;
  }

  explain(id) {
    return this.control("GET", `explain/${encodeURIComponent(id)}`);
  }

  clock() {
    return this.control("GET", "clock");
  }

  get log() {
    return this.#child.log;
  }

  async settle() {
    await this.control("POST", "settle", {});
  }

  async reset() {
    await this.control("POST", "reset");
  }

  /** Calls the control API, which `understudy spec` and docs describe. */
  async control(method, path, body) {
    const headers = {};
    if (this.#controlToken !== undefined) headers.Authorization = `Bearer ${this.#controlToken}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const call = `${method} ${this.url}/_understudy/${path}`;
    let response;
    try {
      response = await fetch(`${this.url}/_understudy/${path}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch (cause) {
      const log = this.#child.log;
      throw new UnderstudyError(`${call}: no answer: ${cause.cause?.message ?? cause.message}${log && `\n${log}`}`, { cause });
    }
    const text = await response.text();
    if (!response.ok) throw new UnderstudyError(`${call}: ${response.status}: ${refusal(text)}`, { status: response.status });
    return JSON.parse(text);
  }

  stop() {
    return this.#child.stop();
  }
}

// Node 20 has this symbol; a sandbox of a test runner may lack it.
if (Symbol.asyncDispose) {
  Object.defineProperty(Understudy.prototype, Symbol.asyncDispose, {
    value() {
      return this.stop();
    },
  });
}

/** A query with what is given. */
function search(query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return given.length > 0 ? `?${new URLSearchParams(given)}` : "";
}

/** What the server says. */
function refusal(text) {
  try {
    return JSON.parse(text).error ?? text;
  } catch {
    return text;
  }
}

module.exports = { startUnderstudy, UnderstudyError, explore, ExploreError };
