// A test that never ends. Its runner is killed, and the server must end.
import { writeFileSync } from "node:fs";
import { startUnderstudy } from "understudy-mock";

const { test } = await import(process.env.VITEST ? "vitest" : "node:test");

test("hangs", async () => {
  const understudy = await startUnderstudy();
  writeFileSync(process.env.PID_FILE, `${understudy.pid}\n`);
  await new Promise(() => setInterval(() => {}, 1000));
});
