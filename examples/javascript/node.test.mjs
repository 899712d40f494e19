// node --test: a server for this file, the published client, and a small shop.
import assert from "node:assert/strict";
import http from "node:http";
import { after, before, beforeEach, test } from "node:test";
import { Client, Receiver } from "@upstash/qstash";
import { startUnderstudy } from "understudy-mock";

let understudy, client, shop, url, status, orders;

before(async () => {
  understudy = await startUnderstudy(); // own port, manual clock
  const env = understudy.env;
  client = new Client({ baseUrl: env.QSTASH_URL, token: env.QSTASH_TOKEN });
  const receiver = new Receiver({ currentSigningKey: env.QSTASH_CURRENT_SIGNING_KEY, nextSigningKey: env.QSTASH_NEXT_SIGNING_KEY });
  shop = http.createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const signed = await receiver.verify({ signature: request.headers["upstash-signature"], body, url }).catch(() => false);
    if (signed) orders.push(JSON.parse(body).order);
    response.writeHead(signed ? status : 401).end();
  });
  await new Promise((listening) => shop.listen(0, "127.0.0.1", listening));
  url = `http://127.0.0.1:${shop.address().port}/orders`;
});
beforeEach(async () => {
  await understudy.reset();
  [status, orders] = [200, []];
});
after(async () => {
  shop.close();
  await understudy.stop();
});

test("an order arrives, signed", async () => {
  const { messageId } = await client.publishJSON({ url, body: { order: 7 } });
  const [delivery] = await understudy.await({ on: "deliveries", messageId });
  assert.equal(delivery.response.status, 200);
  assert.deepEqual(orders, [7]);
});

test("an order that the shop refuses is retried, and then in the DLQ", async () => {
  status = 503;
  const { messageId } = await client.publishJSON({ url, body: { order: 8 }, retries: 2 });
  await understudy.advance("24h"); // of the clock, in milliseconds
  assert.deepEqual(orders, [8, 8, 8]);
  const { messages } = await client.dlq.listMessages();
  assert.deepEqual(messages.map((m) => m.messageId), [messageId]);
});

test("a payment provider that is down is tried again", async () => {
  await understudy.stub("https://payments.test/*", 503, 503, 200); // without network
  const { messageId } = await client.publishJSON({ url: "https://payments.test/charge", body: { order: 9 } });
  await understudy.advance("1h");
  const deliveries = await understudy.deliveries({ messageId });
  assert.deepEqual(deliveries.map((d) => d.response.status), [503, 503, 200]);
});
