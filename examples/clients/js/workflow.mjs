// An adapter for @upstash/workflow: the suite that judges clients drives the package through it.
//
//   npm install && understudy conform --client 'node workflow.mjs'
//
// It converts names only. What the package does not do, it does not do either.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { Client as Messages, QstashError, Receiver } from "@upstash/qstash";
import { Client, WorkflowError, WorkflowNonRetryableError, WorkflowRetryAfterError } from "@upstash/workflow";
import { createWorkflow, serve, serveMany } from "@upstash/workflow/cloudflare";

const version = JSON.parse(readFileSync(new URL("package.json", import.meta.url))).dependencies["@upstash/workflow"];

const configuration = ({ url, token, retry } = {}) => ({ baseUrl: url, token, retry: retry && { retries: retry.repeats, backoff: () => retry.delay_ms } });
const clients = new Map();
function clientOf(c) {
  const key = JSON.stringify(c);
  if (!clients.has(key)) clients.set(key, new Client(configuration(c)));
  return clients.get(key);
}

// What an endpoint does is seen from outside by the requests of the package, and by the trace.
let trace = [];
const traced = (name, result) => () => {
  trace.push(name);
  return result;
};

async function steps(context) {
  const x = await context.run("one", traced("one", context.requestPayload));
  const y = await context.run("two", traced("two", x));
  return { x, y };
}

function outcome({ how, message, seconds }) {
  trace.push("one");
  if (how === "error") throw new Error(message);
  if (how === "non-retryable") throw new WorkflowNonRetryableError(message);
  if (how === "retry-after") throw new WorkflowRetryAfterError(message, seconds);
  return how;
}

const workflows = {
  steps,
  guarded: steps,
  child: steps,
  async parallel(context) {
    const [a, b] = await Promise.all([context.run("a", traced("a", "A")), context.run("b", traced("b", "B")), context.sleep("c", 90)]);
    return { a, b };
  },
  async sleep(context) {
    await context.sleep("nap", 90);
    await context.sleepUntil("until", context.requestPayload.until);
  },
  call: (context) => context.call("call", context.requestPayload),
  async wait(context) {
    const { eventData, timeout } = await context.waitForEvent("wait", context.requestPayload.event, { timeout: context.requestPayload.timeout });
    return { data: eventData, timeout };
  },
  async notify(context) {
    await context.notify("notify", context.requestPayload.event, context.requestPayload.data);
  },
  async invoke(context) {
    const { body, isFailed, isCanceled } = await context.invoke("invoke", { workflow: child, body: context.requestPayload.body });
    return { body, failed: isFailed, canceled: isCanceled };
  },
  fail: (context) => context.run("one", () => outcome(context.requestPayload)),
  async cancel(context) {
    await context.run("one", traced("one", context.requestPayload));
    await context.cancel();
  },
  early: () => null,
};
const child = createWorkflow(workflows.child);

function failureFunction({ context, failStatus, failResponse, failHeaders }) {
  trace.push("failure");
  return { status: failStatus, message: failResponse, payload: context.requestPayload, headers: failHeaders };
}

const servers = [];
async function host({ workflow, current, next, url }, client) {
  const options = {
    qstashClient: new Messages(configuration(client)), env: {}, url,
    receiver: current === undefined ? undefined : new Receiver({ currentSigningKey: current, nextSigningKey: next }),
    ...(workflow === "guarded" && { failureFunction }),
  };
  const handler = workflow === "invoke" ? serveMany({ invoke: createWorkflow(workflows.invoke), child }, options) : serve(workflows[workflow], options);
  const server = createServer(async (req, res) => {
    const headers = Object.entries(req.headers).flatMap(([name, value]) => [value].flat().map((v) => [name, v]));
    const request = new Request(`http://${req.headers.host}${req.url}`, { method: req.method, headers, body: await buffer(req) });
    const response = await handler.fetch(request, {});
    res.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  });
  servers.push(server);
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return { url: `http://127.0.0.1:${server.address().port}/${workflow}` };
}

const bodyOf = (body) => ("text" in body ? body.text : "json" in body ? body.json : Buffer.from(body.base64, "base64").toString());
const headersOf = (headers) => headers && Object.fromEntries(headers);

const operations = {
  "wf.trigger": (c, { url, body, headers, options: { run_id, retry_delay, not_before, flow_control, ...options } = {} }) =>
    c.trigger({ url, body: body && bodyOf(body), headers: headersOf(headers), workflowRunId: run_id, retryDelay: retry_delay, notBefore: not_before, flowControl: flow_control, ...options }),
  "wf.cancel": (c, a) => c.cancel(a.runId),
  "wf.cancel_all": (c) => c.cancel({ all: true }),
  "wf.notify": (c, a) => c.notify({ eventId: a.eventId, workflowRunId: a.runId, eventData: a.body && bodyOf(a.body) }),
  "wf.waiters": (c, a) => c.getWaiters({ eventId: a.eventId }),
  "log.list": (c, { filters, ...a }) => c.logs({ ...a, filter: filters }),
  "dlq.list": (c, { filters, ...a }) => c.dlq.list({ ...a, filter: filters }),
  "dlq.delete": (c, a) => c.dlq.delete(a.dlqId),
  "dlq.delete_many": (c, a) => c.dlq.delete(a.dlqIds),
  "dlq.restart": (c, { dlqId, options = {} }) => c.dlq.restart({ dlqId, flowControl: options.flow_control, retries: options.retries }),
  "dlq.resume": (c, { dlqId, options = {} }) => c.dlq.resume({ dlqId, flowControl: options.flow_control, retries: options.retries }),
};

async function answer({ op, client, args, times = 1 }) {
  if (op === "hello") {
    return {
      protocol: 1, name: "@upstash/workflow", version, language: `Node ${process.versions.node}`, dialect: "upstash", operations: [...Object.keys(operations), "serve", "trace"],
      options: ["headers:single", "delay", "not_before", "retries", "retry_delay", "label", "flow_control", "redact", "run_id@wf.trigger", "filters"],
      features: [
        "base_url", "path_prefix", "env", "retry", "tls", "plain", "json.any", "error.status", "error.rate_limit", "result", "lazy_fetch", "detect_trigger", "public_url",
        ...["run", "parallel", "sleep", "call", "wait", "notify", "invoke", "fail", "cancel", "early", "guarded"].map((step) => `step.${step}`),
      ],
      sentinel: "dlq.list", depends: ["@upstash/qstash 2.12.0", "jose"],
    };
  }
  try {
    if (op === "trace") return { result: trace.splice(0) };
    if (op === "serve") return { result: await host(args, client) };
    let result;
    for (let i = 0; i < times; i++) result = await operations[op](clientOf(client), args);
    return { result: result ?? null };
  } catch (e) {
    const { limit = null, remaining = null, reset = null, status = null } = e;
    return { error: { class: e.name, library: e instanceof QstashError || e instanceof WorkflowError, message: e.message, status, limit, remaining, reset } };
  }
}

const input = createInterface({ input: process.stdin });
input.on("line", async (line) => {
  const call = JSON.parse(line);
  process.stdout.write(`\u001e${JSON.stringify({ id: call.id, ...(await answer(call)) })}\n`);
});
input.on("close", () => servers.forEach((server) => server.close().closeAllConnections()));
