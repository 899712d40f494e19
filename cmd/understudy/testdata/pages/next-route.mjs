// Serves a route of the App Router as Next.js does, one exported function for each
// method, and publishes to it: node next-route.mjs ROUTE
import assert from "node:assert/strict";
import { serve } from "@hono/node-server";
import { Client } from "@upstash/qstash";

const route = await import(process.argv[2]);
const server = serve({ fetch: (request) => route[request.method](request), port: 0, hostname: "127.0.0.1" }, async ({ port }) => {
  const url = `http://127.0.0.1:${port}/api/ship`;
  await new Client().publishJSON({ url, body: { order: 7 }, retries: 0 });
  const query = JSON.stringify({ on: "deliveries", url, timeout: "60s" });
  const { entries } = await (await fetch(`${process.env.UNDERSTUDY_URL}/_understudy/await`, { method: "POST", body: query })).json();
  assert.deepEqual(entries.map((entry) => [entry.response.status, entry.response.body]), [[200, '{"shipped":7}']]);
  const forged = await fetch(url, { method: "POST", body: '{"order":8}', headers: { "Upstash-Signature": "forged" } });
  assert.ok(forged.status >= 400, `a forged signature was answered ${forged.status}`);
  server.close();
});
