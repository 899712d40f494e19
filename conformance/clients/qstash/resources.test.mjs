// Every resource of the published client: each call, and what it changes.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Client } from "@upstash/qstash";
import { advance, base, endpoint, reset, setClock, settle } from "./endpoint.mjs";

const client = new Client({ baseUrl: base, token: process.env.QSTASH_TOKEN });
const gone = (e) => e.status === 404;
let app;
let broken; // whether the endpoint fails

before(async () => {
  await setClock("manual");
  app = await endpoint(() => [broken ? 503 : 200, "ok"]);
});
beforeEach(async () => {
  await reset();
  app.arrived.length = 0;
  broken = false;
});
after(() => app.close());

test("urlGroups: add, get, list, publish, remove, delete", async () => {
  const { urlGroups } = client;
  await urlGroups.addEndpoints({ name: "team", endpoints: [{ name: "a", url: `${app.url}/a` }, { url: `${app.url}/b` }] });
  await urlGroups.addEndpoints({ name: "team", endpoints: [{ name: "c", url: `${app.url}/c` }] });
  const group = await urlGroups.get("team");
  assert.equal(group.name, "team");
  assert.ok(group.createdAt <= group.updatedAt);
  assert.deepEqual(group.endpoints.map((e) => e.url), ["a", "b", "c"].map((p) => `${app.url}/${p}`));
  assert.equal(group.endpoints[0].name, "a");
  assert.deepEqual((await urlGroups.list()).map((g) => g.name), ["team"]);
  const sent = await client.publishJSON({ urlGroup: "team", body: { n: 1 } });
  await settle();
  assert.equal(sent.length, 3);
  assert.deepEqual(app.arrived.map((r) => r.path).sort(), ["/a", "/b", "/c"]);
  assert.ok(app.arrived.every((r) => r.headers["upstash-topic-name"] === "team"));
  await urlGroups.removeEndpoints({ name: "team", endpoints: [{ name: "a" }, { url: `${app.url}/b` }] });
  assert.deepEqual((await urlGroups.get("team")).endpoints.map((e) => e.name), ["c"]);
  await urlGroups.delete("team");
  await assert.rejects(urlGroups.get("team"), gone);
  assert.deepEqual(await urlGroups.list(), []);
});

test("queue: upsert, enqueue in order, pause, resume, delete", async () => {
  const queue = client.queue({ queueName: "orders" });
  await queue.upsert({ parallelism: 1 });
  const state = await queue.get();
  assert.equal(state.name, "orders");
  assert.equal(state.parallelism, 1);
  assert.equal(state.paused, false);
  await queue.pause();
  assert.equal((await queue.get()).paused, true);
  for (let n = 0; n < 5; n++) {
    const { messageId } = await queue.enqueueJSON({ url: `${app.url}/q`, body: { n } });
    assert.match(messageId, /^msg_/);
  }
  await settle();
  assert.equal(app.arrived.length, 0);
  assert.equal((await queue.get()).lag, 5);
  await queue.resume();
  await settle();
  assert.deepEqual(app.arrived.map((r) => JSON.parse(r.body).n), [0, 1, 2, 3, 4]);
  assert.deepEqual((await queue.list()).map((q) => q.name), ["orders"]);
  await queue.delete();
  await assert.rejects(queue.get(), gone);
});

test("queue: the next waits until the one before has failed permanently", async () => {
  const queue = client.queue({ queueName: "fifo" });
  broken = true;
  await queue.enqueue({ url: `${app.url}/first`, body: "1", retries: 1 });
  await queue.enqueue({ url: `${app.url}/second`, body: "2", retries: 0 });
  await settle();
  assert.deepEqual(app.arrived.map((r) => r.path), ["/first"]);
  await advance("1h");
  assert.deepEqual(app.arrived.map((r) => r.path), ["/first", "/first", "/second"]);
});

test("schedules: create, fire, get, list, pause, resume, upsert, delete", async () => {
  const { schedules } = client;
  const { scheduleId } = await schedules.create({
    destination: `${app.url}/tick`, cron: "*/5 * * * *", body: JSON.stringify({ tick: true }), retries: 1, label: "ticks",
  });
  const schedule = await schedules.get(scheduleId);
  assert.equal(schedule.scheduleId, scheduleId);
  assert.equal(schedule.cron, "*/5 * * * *");
  assert.equal(schedule.destination, `${app.url}/tick`);
  assert.equal(schedule.isPaused, false);
  await advance("10m");
  assert.equal(app.arrived.length, 2);
  assert.equal(app.arrived[0].headers["upstash-schedule-id"], scheduleId);
  assert.deepEqual(JSON.parse(app.arrived[0].body), { tick: true });
  await schedules.pause({ schedule: scheduleId });
  assert.equal((await schedules.get(scheduleId)).isPaused, true);
  await advance("1h");
  assert.equal(app.arrived.length, 2);
  await schedules.resume({ schedule: scheduleId });
  await advance("5m");
  assert.equal(app.arrived.length, 3);
  await schedules.create({ scheduleId, destination: `${app.url}/tick`, cron: "0 0 1 1 *" });
  const all = await schedules.list();
  assert.deepEqual(all.map((s) => [s.scheduleId, s.cron]), [[scheduleId, "0 0 1 1 *"]]);
  await schedules.delete(scheduleId);
  await assert.rejects(schedules.get(scheduleId), gone);
  await assert.rejects(schedules.create({ destination: app.url, cron: "61 * * * *" }), (e) => e.status === 400);
});

test("messages: get, cancel one, some, by filter, all", async () => {
  const later = (path, label) => client.publish({ url: app.url + path, body: "text", delay: "1d", label, retries: 5, callback: `${app.url}/cb` });
  const ids = [];
  for (const [path, label] of [["/1", "x"], ["/2", "x"], ["/3", "y"], ["/4", "y"], ["/5", "z"]]) ids.push((await later(path, label)).messageId);
  const message = await client.messages.get(ids[0]);
  assert.equal(message.messageId, ids[0]);
  assert.equal(message.url, `${app.url}/1`);
  assert.equal(message.body, "text");
  assert.equal(message.method, "POST");
  assert.equal(message.maxRetries, 5);
  assert.equal(message.callback, `${app.url}/cb`);
  assert.deepEqual(message.labels, ["x"]);
  assert.ok(message.notBefore - message.createdAt >= 86_400_000);
  assert.equal((await client.messages.cancel(ids[0])).cancelled, 1);
  assert.equal((await client.messages.cancel([ids[1], ids[0]])).cancelled, 1);
  assert.equal((await client.messages.cancel({ filter: { label: "y" } })).cancelled, 2);
  assert.equal((await client.messages.cancel({ all: true })).cancelled, 1);
  await assert.rejects(client.messages.get(ids[4]), gone);
  await advance("2d");
  assert.equal(app.arrived.length, 0);
});

test("dlq: list, filter, retry, delete one, some, all", async () => {
  broken = true;
  for (let n = 0; n < 6; n++) {
    await client.publishJSON({ url: `${app.url}/${n % 2}`, body: { n }, retries: 0, label: `l${n}` });
    await settle(); // the list is in the order of failing, which attempts side by side do not keep
  }
  const { messages } = await client.dlq.listMessages();
  assert.deepEqual(messages.map((m) => JSON.parse(m.body).n), [5, 4, 3, 2, 1, 0]);
  assert.ok(messages.every((m) => m.responseStatus === 503 && m.responseBody === "ok" && m.dlqId));
  const odd = await client.dlq.listMessages({ filter: { url: `${app.url}/1` } });
  assert.equal(odd.messages.length, 3);
  const page = await client.dlq.listMessages({ count: 4 });
  assert.equal(page.messages.length, 4);
  assert.equal((await client.dlq.listMessages({ count: 4, cursor: page.cursor })).messages.length, 2);
  assert.equal((await client.dlq.listMessages({ dlqIds: [messages[0].dlqId, messages[2].dlqId] })).messages.length, 2);
  broken = false;
  app.arrived.length = 0;
  const { responses } = await client.dlq.retry(messages[0].dlqId);
  await settle();
  assert.equal(responses.length, 1);
  assert.notEqual(responses[0].messageId, messages[0].messageId);
  assert.deepEqual(app.arrived.map((r) => JSON.parse(r.body).n), [5]);
  assert.equal((await client.dlq.delete(messages[1].dlqId)).deleted, 1);
  assert.equal((await client.dlq.delete([messages[2].dlqId])).deleted, 1);
  assert.equal((await client.dlq.delete({ filter: { label: "l2" } })).deleted, 1);
  assert.equal((await client.dlq.delete({ all: true })).deleted, 2);
  assert.deepEqual((await client.dlq.listMessages()).messages, []);
});

test("logs: every state of a message, filters, pages", async () => {
  const { messageId } = await client.publishJSON({ url: `${app.url}/logged`, body: { a: 1 }, label: ["red", "blue"] });
  await settle();
  const { logs } = await client.logs({ filter: { messageId } });
  assert.deepEqual(logs.map((l) => l.state), ["DELIVERED", "ACTIVE", "CREATED"]);
  assert.ok(logs.every((l) => l.messageId === messageId && l.url === `${app.url}/logged` && Number.isInteger(l.time)));
  assert.deepEqual(logs[0].labels, ["red", "blue"]);
  broken = true;
  await client.publish({ url: `${app.url}/other`, body: "x", retries: 0 });
  await settle();
  const failed = await client.logs({ filter: { state: "FAILED" } });
  assert.deepEqual(failed.logs.map((l) => l.url), [`${app.url}/other`]);
  const first = await client.logs({ count: 2 });
  assert.equal(first.logs.length, 2);
  assert.ok(first.cursor);
  const rest = await client.logs({ cursor: first.cursor });
  assert.equal(rest.logs.length + 2, (await client.logs()).logs.length);
});

test("flowControl: rate, parallelism, pause, resume, pin, unpin, reset", async () => {
  const { flowControl } = client;
  for (let n = 0; n < 5; n++) await client.publish({ url: `${app.url}/f`, body: String(n), flowControl: { key: "slow", rate: 2, period: "1m" } });
  await settle();
  assert.equal(app.arrived.length, 2);
  const info = await flowControl.get("slow");
  assert.equal(info.flowControlKey, "slow");
  assert.equal(info.waitListSize, 3);
  assert.equal(info.rateMax, 2);
  assert.equal(info.rateCount, 2);
  assert.equal(info.ratePeriod, 60);
  assert.equal(info.isPaused, false);
  await flowControl.pause("slow");
  assert.equal((await flowControl.get("slow")).isPaused, true);
  await advance("5m");
  assert.equal(app.arrived.length, 2);
  await flowControl.resume("slow");
  await settle();
  assert.equal(app.arrived.length, 4);
  await flowControl.pin("slow", { rate: 10, period: 60 });
  const pinned = await flowControl.get("slow");
  assert.equal(pinned.isPinnedRate, true);
  assert.equal(pinned.rateMax, 10);
  await settle();
  assert.deepEqual(app.arrived.map((r) => r.body).sort(), ["0", "1", "2", "3", "4"], "those that start together arrive in any order");
  await flowControl.resetRate("slow");
  assert.equal((await flowControl.get("slow")).rateCount, 0);
  await flowControl.unpin("slow", { rate: true });
  assert.equal((await flowControl.get("slow")).isPinnedRate, false);
  const { parallelismMax, parallelismCount } = await flowControl.getGlobalParallelism();
  assert.ok(parallelismMax > 0);
  assert.equal(parallelismCount, 0);
  await assert.rejects(flowControl.get("unknown"), gone);
});
