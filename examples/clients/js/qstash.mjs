// An adapter for @upstash/qstash: the suite that judges clients drives the package through it.
//
//   npm install && understudy conform --client 'node qstash.mjs'
//
// It converts names only. What the package does not do, it does not do either.
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { Client, QstashError, Receiver, SignatureError } from "@upstash/qstash";

const packages = JSON.parse(readFileSync(new URL("package.json", import.meta.url))).dependencies;

const clients = new Map();
function clientOf({ url, token, retry } = {}) {
  const key = JSON.stringify([url, token, retry]);
  if (!clients.has(key)) {
    clients.set(key, new Client({ baseUrl: url, token, retry: retry && { retries: retry.repeats, backoff: () => retry.delay_ms } }));
  }
  return clients.get(key);
}

// The names of options in the package. All others have the same name, in camel case.
const renamed = { queue: "queueName" };
const camel = (name) => renamed[name] ?? name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
const options = [
  "method", "headers", "schedule_id", "queue", "delay", "retries", "retry_delay", "timeout", "callback", "failure_callback", "label", "flow_control", "redact", "filters",
  ...["not_before", "deduplication_id", "content_based_deduplication"].map((name) => `${name}@publish,publish.json,batch,batch.json,enqueue,enqueue.json`),
];

function bodyOf(body) {
  if (body === undefined) return {};
  if ("json" in body) return { body: body.json };
  return { body: "text" in body ? body.text : Buffer.from(body.base64, "base64") };
}

// messageOf is a request of publish, enqueue, batch or schedules.create.
function messageOf({ destination = {}, method, body, headers, queue, options = {} }) {
  return {
    ...(destination.url !== undefined && { url: destination.url }),
    ...(destination.group !== undefined && { urlGroup: destination.group }),
    ...(method !== undefined && { method }),
    ...(headers !== undefined && { headers }),
    ...(queue !== undefined && { queueName: queue }),
    ...bodyOf(body),
    ...Object.fromEntries(Object.entries(options).map(([name, value]) => [camel(name), value])),
  };
}

function scheduleOf(args) {
  const { url, urlGroup, ...rest } = messageOf(args);
  return { ...rest, destination: url ?? urlGroup, cron: args.cron };
}

function pageOf({ filters, cursor, count }) {
  const { topicName, ...rest } = filters ?? {};
  return { cursor, count, filter: { ...rest, ...(topicName !== undefined && { urlGroup: topicName }) } };
}

const operations = {
  "publish": (c, a) => c.publish(a),
  "publish.json": (c, a) => c.publishJSON(a),
  "enqueue": (c, { queueName, ...a }) => c.queue({ queueName }).enqueue(a),
  "enqueue.json": (c, { queueName, ...a }) => c.queue({ queueName }).enqueueJSON(a),
  "batch": (c, a) => c.batch(a),
  "batch.json": (c, a) => c.batchJSON(a),
  "schedule.create": (c, a) => c.schedules.create(a),
  "schedule.get": (c, a) => c.schedules.get(a.scheduleId),
  "schedule.list": (c) => c.schedules.list(),
  "schedule.delete": (c, a) => c.schedules.delete(a.scheduleId),
  "schedule.pause": (c, a) => c.schedules.pause({ schedule: a.scheduleId }),
  "schedule.resume": (c, a) => c.schedules.resume({ schedule: a.scheduleId }),
  "message.get": (c, a) => c.messages.get(a.messageId),
  "message.cancel": (c, a) => c.messages.cancel(a.messageId),
  "message.cancel_many": (c, a) => c.messages.cancel(a.messageIds),
  "message.cancel_all": (c) => c.messages.cancel({ all: true }),
  "queue.upsert": (c, { queue, ...a }) => c.queue({ queueName: queue }).upsert(a),
  "queue.get": (c, a) => c.queue({ queueName: a.queue }).get(),
  "queue.list": (c) => c.queue().list(),
  "queue.delete": (c, a) => c.queue({ queueName: a.queue }).delete(),
  "queue.pause": (c, a) => c.queue({ queueName: a.queue }).pause(),
  "queue.resume": (c, a) => c.queue({ queueName: a.queue }).resume(),
  "group.add": (c, a) => c.urlGroups.addEndpoints({ name: a.group, endpoints: a.endpoints }),
  "group.remove": (c, a) => c.urlGroups.removeEndpoints({ name: a.group, endpoints: a.endpoints }),
  "group.get": (c, a) => c.urlGroups.get(a.group),
  "group.list": (c) => c.urlGroups.list(),
  "group.delete": (c, a) => c.urlGroups.delete(a.group),
  "dlq.list": (c, a) => c.dlq.listMessages(pageOf(a)),
  "dlq.delete": (c, a) => c.dlq.delete(a.dlqId),
  "dlq.delete_many": (c, a) => c.dlq.delete(a.dlqIds),
  "event.list": (c, a) => c.logs(pageOf(a)),
  "flow.get": (c, a) => c.flowControl.get(a.key),
  "flow.pause": (c, a) => c.flowControl.pause(a.key),
  "flow.resume": (c, a) => c.flowControl.resume(a.key),
  "flow.pin": (c, { key, ...a }) => c.flowControl.pin(key, a),
  "flow.unpin": (c, { key, ...a }) => c.flowControl.unpin(key, a),
  "flow.reset": (c, a) => c.flowControl.resetRate(a.key),
};

async function verify({ current, next, signature, body, url, tolerance_s }) {
  const receiver = new Receiver({ currentSigningKey: current, nextSigningKey: next });
  return { valid: await receiver.verify({ signature, body: bodyOf(body).body ?? "", url, clockTolerance: tolerance_s }) };
}

// argumentsOf are converted once, so that the package gets the same objects each time.
function argumentsOf(op, args = {}) {
  if (op.startsWith("publish") || op.startsWith("enqueue")) return messageOf(args);
  if (op.startsWith("batch")) return args.messages.map(messageOf);
  return op === "schedule.create" ? scheduleOf(args) : args;
}

async function answer({ op, client, args, times = 1 }) {
  if (op === "hello") {
    return {
      protocol: 1, name: "@upstash/qstash", version: packages["@upstash/qstash"], language: `Node ${process.versions.node}`, dialect: "upstash",
      operations: [...Object.keys(operations), "verify"], options,
      features: ["base_url", "path_prefix", "env", "retry", "tls", "plain", "both_destinations", "bytes", "json.any", "tolerance", "error.status", "error.rate_limit"],
      sentinel: "dlq.list", depends: ["jose"],
    };
  }
  if (op !== "verify" && !operations[op]) return { unsupported: `operation ${op}` };
  try {
    if (op === "verify") return { result: await verify(args) };
    const converted = argumentsOf(op, args);
    let result;
    for (let i = 0; i < times; i++) result = await operations[op](clientOf(client), converted);
    return { result: result ?? null };
  } catch (e) {
    return {
      error: {
        class: e?.name ?? typeof e, library: e instanceof QstashError || e instanceof SignatureError, message: String(e?.message ?? e), status: e?.status ?? null,
        limit: e?.limit ?? null, remaining: e?.remaining ?? null, reset: e?.reset ?? null, retry_after: null,
      },
    };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const call = JSON.parse(line);
  answer(call).then((a) => process.stdout.write(`\u001e${JSON.stringify({ id: call.id, ...a })}\n`));
}
