// The helper beyond what the examples show: options, errors, both module systems.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { startUnderstudy, UnderstudyError } from "understudy-mock";

const gone = (pid) => {
  try {
    return /^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8")); // a zombie is no server
  } catch {
    return true;
  }
};

test("require gives the same function", () => {
  assert.equal(createRequire(import.meta.url)("understudy-mock").startUnderstudy, startUnderstudy);
});

test("await using ends the server", { skip: !Symbol.asyncDispose }, async () => {
  const understudy = await startUnderstudy();
  await understudy[Symbol.asyncDispose]();
  assert.ok(gone(understudy.pid));
  await understudy.stop(); // again: has no effect
});

test("options are flags of serve", async () => {
  const options = { clock: "auto", dialect: "svc", seed: 7, strictOptions: true, validateResponses: false, stub: ["https://a.test/*=503", "https://b.test/*=200"], rewrite: { "https://c.test": "http://127.0.0.1:1" } };
  const understudy = await startUnderstudy(options);
  const { dialect, clock } = await understudy.control("GET", "health");
  assert.deepEqual([dialect, clock.mode], ["svc", "auto"]);
  assert.deepEqual((await understudy.control("GET", "stubs")).map((s) => s.url), ["https://a.test/*", "https://b.test/*"]);
  assert.deepEqual(await understudy.control("GET", "rewrites"), options.rewrite);
  await understudy.stop();
});

test("the control token is the credential", async () => {
  const given = await startUnderstudy({ controlToken: "secret" });
  assert.equal((await fetch(`${given.url}/_understudy/deliveries`)).status, 401);
  assert.deepEqual(await given.deliveries(), []);
  await given.stop();
  process.env.UNDERSTUDY_CONTROL_TOKEN = "inherited";
  const inherited = await startUnderstudy();
  delete process.env.UNDERSTUDY_CONTROL_TOKEN;
  assert.equal((await fetch(`${inherited.url}/_understudy/deliveries`)).status, 401);
  assert.deepEqual(await inherited.deliveries(), []);
  await inherited.stop();
});

test("a server that does not start says why", async () => {
  await assert.rejects(startUnderstudy({ clock: "slow" }), /the server did not start: exit code 2\n.*--clock: invalid value "slow": must be one of /s);
  await assert.rejects(startUnderstudy({ clok: "manual" }), /unknown flag --clok/);
  const running = await startUnderstudy();
  await assert.rejects(startUnderstudy({ port: Number(new URL(running.url).port) }), /address already in use/);
  await running.stop();
  await assert.rejects(startUnderstudy({ addr: "127.0.0.1:0", port: 1 }), /addr and port/);
  await assert.rejects(startUnderstudy({ binary: "/nowhere/understudy" }), /ENOENT/);
});

test("a call that is refused has the line of the server", async () => {
  const understudy = await startUnderstudy();
  await assert.rejects(understudy.advance("soon"), /POST http.*clock\/advance: 400: .*invalid value "soon": must be a duration/);
  await assert.rejects(understudy.await({ on: "deliveries", timeout: "10ms" }), /504: .*0 of 1 deliveries matched in time/);
  await assert.rejects(understudy.explain("msg_none"), /404: .*msg_none/);
  const error = await understudy.control("GET", "nothing").catch((refused) => refused);
  assert.ok(error instanceof UnderstudyError);
  assert.equal(error.status, 404);
  await understudy.stop();
  await assert.rejects(understudy.reset(), /no answer/);
});

test("without stop(), the process ends nevertheless, and the server with it", async () => {
  const { spawnSync } = await import("node:child_process");
  const script = 'import("understudy-mock").then(async ({ startUnderstudy }) => console.log((await startUnderstudy()).pid))';
  const ended = spawnSync(process.execPath, ["-e", script], { encoding: "utf8", timeout: 30_000, cwd: import.meta.dirname });
  assert.equal(ended.status, 0, ended.stderr);
  for (let i = 0; i < 500 && !gone(ended.stdout.trim()); i++) await new Promise((later) => setTimeout(later, 20));
  assert.ok(gone(ended.stdout.trim()));
});

test("a test may replace fetch and the timers", async (t) => {
  const understudy = await startUnderstudy();
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  t.mock.method(globalThis, "fetch", () => Promise.reject(new Error("replaced")));
  assert.equal((await understudy.advance("1h")).attempts, 0);
  const late = await startUnderstudy();
  await late.stop();
  await understudy.stop();
});
