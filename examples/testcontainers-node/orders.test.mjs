import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client } from "@upstash/qstash";
import { startUnderstudy } from "./understudy.mjs";

/** @type {Awaited<ReturnType<typeof startUnderstudy>>} */
let understudy;

before(async () => {
  understudy = await startUnderstudy({
    UNDERSTUDY_CLOCK: "manual",
    UNDERSTUDY_STUB: "https://shop.example/*=200", // answers deliveries without network
  });
});
after(() => understudy?.stop());

test("a reminder is delivered after an hour", async () => {
  const client = new Client({ baseUrl: understudy.url, token: understudy.token });
  await client.publishJSON({ url: "https://shop.example/reminders", body: { order: 1 }, delay: 3600 });

  await understudy.advance("59m");
  assert.equal((await understudy.deliveries()).length, 0);

  await understudy.advance("1m");
  const [delivery] = await understudy.deliveries();
  assert.deepEqual([delivery.url, JSON.parse(delivery.request.body)], ["https://shop.example/reminders", { order: 1 }]);
});
