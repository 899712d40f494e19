// What the published client publishes arrives, signed, as it was meant.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Client, QstashError, Receiver, SignatureError } from "@upstash/qstash";
import { advance, base, decoded, endpoint, reset, setClock, settle } from "./endpoint.mjs";

const client = new Client({ baseUrl: base, token: process.env.QSTASH_TOKEN });
const receiver = new Receiver({
  currentSigningKey: process.env.QSTASH_CURRENT_SIGNING_KEY,
  nextSigningKey: process.env.QSTASH_NEXT_SIGNING_KEY,
});
let app;

before(async () => {
  await setClock("manual");
  app = await endpoint(({ path }) => [path.startsWith("/fails") ? 500 : 200, `answer of ${path}`, { "X-App": "yes" }]);
});
beforeEach(async () => {
  await reset();
  app.arrived.length = 0;
});
after(() => app.close());

test("publishJSON arrives, with its headers, signed", async () => {
  const { messageId } = await client.publishJSON({
    url: `${app.url}/hook?a=1`, body: { hello: "wörld" }, headers: { "X-Own": "mine" },
  });
  assert.match(messageId, /^msg_/);
  await settle();
  const [got] = app.arrived;
  assert.equal(app.arrived.length, 1);
  assert.equal(got.method, "POST");
  assert.equal(got.path, "/hook?a=1");
  assert.deepEqual(JSON.parse(got.body), { hello: "wörld" });
  assert.equal(got.headers["content-type"], "application/json");
  assert.equal(got.headers["x-own"], "mine");
  assert.equal(got.headers["upstash-message-id"], messageId);
  assert.equal(got.headers["upstash-retried"], "0");
  assert.equal(got.headers.authorization, undefined, "our token stays with us");
  const signature = got.headers["upstash-signature"];
  assert.equal(await receiver.verify({ signature, body: got.body, url: `${app.url}/hook?a=1` }), true);
  await assert.rejects(receiver.verify({ signature, body: got.body + " " }), SignatureError);
  await assert.rejects(receiver.verify({ signature, body: got.body, url: `${app.url}/other` }), SignatureError);
});

test("a destination arrives as it was written", async () => {
  for (const path of ["/a//b", "/a%2Fb", "/slash/", "/q?x=1&y=%20z", "/"]) {
    await client.publish({ url: app.url + path, body: "x" });
    await settle();
    assert.equal(app.arrived.at(-1).path, path);
  }
});

test("method, text body and timeout", async () => {
  await client.publish({ url: `${app.url}/put`, method: "PUT", body: "plain", timeout: 10, headers: { "Content-Type": "text/plain" } });
  await settle();
  const [got] = app.arrived;
  assert.equal(got.method, "PUT");
  assert.equal(got.body, "plain");
  assert.equal(got.headers["content-type"], "text/plain");
});

test("delay and notBefore wait on the clock", async () => {
  await client.publish({ url: `${app.url}/later`, delay: 60, body: "x" });
  await client.publish({ url: `${app.url}/hours`, delay: "2h", body: "x" });
  await settle();
  assert.equal(app.arrived.length, 0);
  await advance("60s");
  assert.deepEqual(app.arrived.map((r) => r.path), ["/later"]);
  await advance("2h");
  assert.deepEqual(app.arrived.map((r) => r.path), ["/later", "/hours"]);
});

test("a callback carries the answer", async () => {
  const { messageId } = await client.publishJSON({ url: `${app.url}/hook`, body: { a: 1 }, callback: `${app.url}/callback` });
  await settle();
  const [got] = app.on("/callback");
  const payload = JSON.parse(got.body);
  assert.equal(payload.status, 200);
  assert.equal(decoded(payload.body), "answer of /hook");
  assert.deepEqual(payload.header["X-App"], ["yes"]);
  assert.equal(payload.sourceMessageId, messageId);
  assert.equal(payload.url, `${app.url}/hook`);
  assert.deepEqual(JSON.parse(decoded(payload.sourceBody)), { a: 1 });
  assert.equal(await receiver.verify({ signature: got.headers["upstash-signature"], body: got.body }), true);
});

test("retries, then the failure callback and the DLQ", async () => {
  const { messageId } = await client.publishJSON({
    url: `${app.url}/fails`, body: { a: 1 }, retries: 2, retryDelay: "1000 * (1 + retried)", failureCallback: `${app.url}/failed`,
  });
  await advance("1h");
  assert.deepEqual(app.on("/fails").map((r) => r.headers["upstash-retried"]), ["0", "1", "2"]);
  const [failed] = app.on("/failed").map((r) => JSON.parse(r.body));
  assert.equal(failed.status, 500);
  assert.equal(failed.retried, 2);
  assert.equal(failed.maxRetries, 2);
  const { messages } = await client.dlq.listMessages();
  assert.equal(messages.length, 1);
  assert.equal(messages[0].messageId, messageId);
  assert.equal(messages[0].dlqId, failed.dlqId);
});

test("a duplicate is reported as one", async () => {
  const request = { url: `${app.url}/once`, body: "x", deduplicationId: "order-1" };
  const first = await client.publish(request);
  const second = await client.publish(request);
  await settle();
  assert.equal(second.messageId, first.messageId);
  assert.equal(second.deduplicated, true);
  assert.equal(app.arrived.length, 1);
  const content = { url: `${app.url}/content`, body: "same", contentBasedDeduplication: true };
  await client.publish(content);
  assert.equal((await client.publish(content)).deduplicated, true);
});

test("batchJSON to a URL, a group and a queue", async () => {
  await client.urlGroups.addEndpoints({ name: "both", endpoints: [{ url: `${app.url}/g1` }, { url: `${app.url}/g2` }] });
  const results = await client.batchJSON([
    { url: `${app.url}/one`, body: { n: 1 }, headers: { "X-Own": "1" } },
    { urlGroup: "both", body: { n: 2 } },
    { queueName: "line", url: `${app.url}/queued`, body: { n: 3 } },
  ]);
  await settle();
  assert.equal(results.length, 3);
  assert.match(results[0].messageId, /^msg_/);
  assert.deepEqual(results[1].map((r) => r.url), [`${app.url}/g1`, `${app.url}/g2`]);
  assert.match(results[2].messageId, /^msg_/);
  assert.deepEqual(app.arrived.map((r) => r.path).sort(), ["/g1", "/g2", "/one", "/queued"]);
  assert.equal(app.on("/one")[0].headers["x-own"], "1");
  assert.deepEqual(JSON.parse(app.on("/queued")[0].body), { n: 3 });
});

test("redacted fields stay out of the logs, and are delivered", async () => {
  const { messageId } = await client.publish({ url: `${app.url}/secret`, body: "pin 1234", redact: { body: true } });
  await settle();
  assert.equal(app.arrived[0].body, "pin 1234");
  const { logs } = await client.logs({ filter: { messageId } });
  assert.doesNotMatch(JSON.stringify(logs), /pin 1234/);
});

test("keys rotate, and the receiver follows", async () => {
  const keys = () => client.http.request({ method: "GET", path: ["v2", "keys"] });
  const old = await keys();
  assert.deepEqual(old, { current: process.env.QSTASH_CURRENT_SIGNING_KEY, next: process.env.QSTASH_NEXT_SIGNING_KEY });
  const rotated = await client.http.request({ method: "POST", path: ["v2", "keys", "rotate"] });
  assert.equal(rotated.current, old.next);
  assert.deepEqual(await keys(), rotated);
  await client.publish({ url: `${app.url}/rotated`, body: "x" });
  await settle();
  const [got] = app.arrived;
  assert.equal(await receiver.verify({ signature: got.headers["upstash-signature"], body: got.body }), true, "verified by its next key");
});

test("refusals are errors that say why", async () => {
  const stranger = new Client({ baseUrl: base, token: "wrong", retry: false });
  await assert.rejects(stranger.publish({ url: `${app.url}/hook`, body: "x" }), (e) => e instanceof QstashError && e.status === 401);
  await assert.rejects(client.publish({ url: "ftp://127.0.0.1/x", body: "x" }), (e) => e instanceof QstashError && e.status === 400);
  await assert.rejects(client.publish({ urlGroup: "unknown", body: "x" }), (e) => e instanceof QstashError && e.status === 404);
  await assert.rejects(client.publish({ url: app.url, body: "x", retries: -1 }), (e) => e.status === 400 && /retries/i.test(e.message));
  await settle();
  assert.equal(app.arrived.length, 0);
});
