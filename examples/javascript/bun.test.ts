// bun test ./bun.test.ts
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { startUnderstudy, type Understudy } from "understudy-mock";
import { startShop } from "./shop.cjs";

let understudy: Understudy;
let shop: Awaited<ReturnType<typeof startShop>>;

beforeAll(async () => {
  understudy = await startUnderstudy();
  shop = await startShop(understudy.env);
});
beforeEach(async () => {
  await understudy.reset();
  Object.assign(shop, { orders: [], status: 200 });
});
afterAll(async () => {
  await shop.stop();
  await understudy.stop();
});

test("an order arrives, signed", async () => {
  const messageId = await shop.order(7);
  const [delivery] = await understudy.await({ on: "deliveries", messageId });
  expect(delivery?.response.status).toBe(200);
  expect(shop.orders).toEqual([7]);
});

test("an order that the shop refuses is retried, and then in the DLQ", async () => {
  shop.status = 503;
  const messageId = await shop.order(8, { retries: 2 });
  await understudy.advance("24h");
  expect(shop.orders).toEqual([8, 8, 8]);
  const { messages } = await shop.client.dlq.listMessages();
  expect(messages.map((m) => m.messageId)).toEqual([messageId]);
});
