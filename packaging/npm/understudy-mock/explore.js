"use strict";
// explore: the scenario is a function of a test, and the program searches: it says on its
// standard output what to do next, in lines of JSON. No dependencies.

const { spawn } = require("node:child_process");
const { createInterface } = require("node:readline");
const { binaryPath } = require("./binary.js");

/** The application does something else when the service repeats, delays or loses something. */
class ExploreError extends Error {
  constructor(result) {
    super(`explore: ${result.error ?? `findings: ${result.findings.length}`}\n\n${result.findings.map((one) => one.text).join("\n")}\n${result.summary}`);
    this.name = "ExploreError";
    this.findings = result.findings;
    this.summary = result.summary;
  }
}

/** Runs a scenario again and again, each time with one or two faults; rejects with what is different then. */
async function explore(options, scenario) {
  const { binary, budget, depth, cases, case: plan, caseTimeout, report, out = "", ...config } = options;
  const flags = { budget, depth, cases, case: plan, "case-timeout": caseTimeout, out };
  const args = Object.entries(flags).filter(([, value]) => value !== undefined).map(([name, value]) => `--${name}=${value}`);
  for (const [format, file] of Object.entries(report ?? {})) args.push(`--report=${format}=${file}`);
  const child = spawn(binary ?? binaryPath(), ["explore", "--driver", ...args], { stdio: ["pipe", "pipe", "pipe"], windowsHide: true });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (log = (log + text).slice(-8192)));
  child.stdin.on("error", () => {}); // it has ended
  const ended = new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`));
  });
  const say = (line) => child.stdin.write(`${JSON.stringify(line)}\n`);
  say(config);
  const player = new Player(scenario, say);
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const told = JSON.parse(line);
      if (told.do !== "result") player.hear(told);
      else if (told.error || told.findings.length > 0) throw new ExploreError(told);
      else return { findings: told.findings, summary: told.summary };
    }
    throw new Error(`explore: the program has ended: ${await ended}${log && `\n${log}`}`);
  } finally {
    child.stdin.end();
    await player.end();
    await ended;
  }
}

/** What is played in a case. */
class Player {
  #scenario;
  #say;
  #start;
  #case;

  constructor(scenario, say) {
    this.#scenario = scenario;
    this.#say = say;
  }

  hear(told) {
    const done = (work) =>
      Promise.resolve()
        .then(work)
        .then((more) => this.#say({ ask: "done", case: told.case, ...more }))
        .catch((error) => this.#say({ ask: "done", case: told.case, error: String(error?.message ?? error) || "it failed" }));
    const current = this.#case;
    if (told.do === "start") this.#start = told;
    else if (told.do === "reset") done(() => this.end());
    else if (told.do === "play") done(() => this.#play(told.case));
    else if (told.do === "state") done(async () => ({ state: await current.read?.() }));
    else if (told.do === "check") done(async () => void (await current.holds?.()));
    else if (told.do === "step") done(async () => void (await current.step()));
    else current.goOn(told.error); // "go on"
  }

  async #play(number) {
    this.#case = new Case(this.#start, (line) => this.#say({ ...line, case: number }));
    await this.#scenario(this.#case);
  }

  /** Ends the application of the last case. */
  async end() {
    const last = this.#case;
    this.#case = undefined;
    for (const stop of last?.stops.reverse() ?? []) await stop();
  }
}

/** One run of the scenario. */
class Case {
  #start;
  #ask;

  constructor(start, ask) {
    this.#start = start;
    this.#ask = ask;
    this.stops = [];
    this.url = start.url;
    this.token = start.token;
    this.env = start.env;
  }

  outside(name) {
    return this.#start.outside + name;
  }

  do(step) {
    this.step = step;
    return this.#wait({ ask: "do" });
  }

  advance(by) {
    return this.#wait({ ask: "advance", by });
  }

  #wait(line) {
    return new Promise((resolve, reject) => {
      this.goOn = (error) => (error ? reject(new Error(error)) : resolve());
      this.#ask(line);
    });
  }

  state(read) {
    this.read = read;
  }

  check(holds) {
    this.holds = holds;
  }

  cleanup(stop) {
    this.stops.push(stop);
  }
}

module.exports = { explore, ExploreError };
