// deno test --allow-all --no-check --node-modules-dir=manual deno.test.ts
import assert from "node:assert/strict";
import { startUnderstudy } from "understudy-mock";
import { startShop } from "./shop.cjs";

Deno.test("an order arrives, signed", async () => {
  await using understudy = await startUnderstudy(); // ends with the test
  const shop = await startShop(understudy.env);
  const messageId = await shop.order(7);
  const [delivery] = await understudy.await({ on: "deliveries", messageId });
  assert.equal(delivery?.response.status, 200);
  assert.deepEqual(shop.orders, [7]);
  await shop.stop();
});

Deno.test("an order that the shop refuses is retried, and then in the DLQ", async () => {
  await using understudy = await startUnderstudy();
  const shop = await startShop(understudy.env);
  shop.status = 503;
  const messageId = await shop.order(8, { retries: 2 });
  await understudy.advance("24h");
  assert.deepEqual(shop.orders, [8, 8, 8]);
  const { messages } = await shop.client.dlq.listMessages();
  assert.deepEqual(messages.map((m) => m.messageId), [messageId]);
  await shop.stop();
});
