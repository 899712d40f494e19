// The first test: the published client, a payment provider that is down, and a clock that moves.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "@upstash/qstash";
import { startUnderstudy } from "understudy-mock";

test("an order survives an outage", async (t) => {
  const understudy = await startUnderstudy();
  t.after(() => understudy.stop());
  await understudy.stub("https://payments.test/*", 503, 503, 200);
  const client = new Client({ baseUrl: understudy.url, token: understudy.token });
  await client.publishJSON({ url: "https://payments.test/orders", body: { order: 7 } });
  await understudy.advance("1h");
  assert.deepEqual((await understudy.deliveries()).map((d) => d.response.status), [503, 503, 200]);
});
