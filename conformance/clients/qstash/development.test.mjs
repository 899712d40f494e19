// The client's automatic development mode: QSTASH_DEV=true and nothing else.
// It looks on port 8080 unless QSTASH_DEV_PORT says otherwise, probes with the
// brand's development credentials, and only when no server answers there would it
// download a server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { base, endpoint, reset, setClock, settle } from "./endpoint.mjs";

test("the development mode finds the stand-in", async (t) => {
  for (const name of Object.keys(process.env)) if (name.startsWith("QSTASH_")) delete process.env[name];
  process.env.QSTASH_DEV = "true";
  process.env.QSTASH_DEV_PORT = new URL(base).port;
  const said = [];
  t.mock.method(console, "log", (line) => said.push(line));
  t.mock.method(console, "warn", (line) => said.push(line));
  const { Client, Receiver } = await import("@upstash/qstash");
  await setClock("manual");
  await reset();
  const app = await endpoint();
  try {
    await new Client().publishJSON({ url: `${app.url}/dev`, body: { mode: "dev" } });
    await settle();
    const [got] = app.on("/dev");
    assert.equal(await new Receiver().verify({ signature: got.headers["upstash-signature"], body: got.body }), true);
    assert.match(said.join("\n"), /Server already running at/);
  } finally {
    await app.close();
  }
});
