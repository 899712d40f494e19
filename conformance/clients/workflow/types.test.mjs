// Answers of every operation of the published clients, recorded from the stand-in with all
// kinds of objects, compile against the types that the clients declare.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { Client as Messages } from "@upstash/qstash";
import { Client as Workflows } from "@upstash/workflow";
import { advance, base, createWorkflow, host, reset, setClock, settle } from "./host.mjs";

const token = process.env.UNDERSTUDY_TOKEN;
const [messages, workflows] = [new Messages({ baseUrl: base, token }), new Workflows({ baseUrl: base, token })];
const nowhere = "http://127.0.0.1:1/nothing-listens"; // a delivery to it gets no response

// Where a type contradicts the interface document or another published client, the answer follows
// these, and the row says so.
const preamble = `
import type { Client as Messages, PublishToUrlResponse, UrlGroup } from "@upstash/qstash";
import type { Client as Workflows } from "@upstash/workflow";

// Json is a type as a constant of JSON has it: readonly, and without members of type unknown.
type Json<T> = unknown extends T ? T
  : T extends readonly unknown[] ? { readonly [K in keyof T]: Json<T[K]> }
  : T extends object ? { readonly [K in keyof T as unknown extends T[K] ? never : K]: Json<T[K]> }
  : T;
type Answer<F> = F extends (...all: never[]) => Promise<infer R> ? R : never;
type Without<T, K extends PropertyKey> = T extends unknown ? { [P in keyof T as P extends K ? never : P]: T[P] } : never;
type Item<T> = T extends (infer U)[] ? U : never;

// A message without a flow-control key has none, like all members that are not set.
type Message = Without<Answer<Messages["messages"]["get"]>, "flowControlKey">;
type DLQ = Answer<Messages["dlq"]["listMessages"]>;
type DLQList = Without<DLQ, "messages"> & { messages: Without<Item<DLQ["messages"]>, "flowControlKey">[] };
// A cancelled message is CANCEL_REQUESTED first, as the service's document says.
// The headers of a log event are lists of values, as the service's document says.
type Logs = Answer<Messages["logs"]>;
type LogList = Without<Logs, "logs" | "events"> & Record<"logs" | "events", (Without<Item<Logs["logs"]>, "header" | "state"> & { header?: Record<string, string[]>; state: Item<Logs["logs"]>["state"] | "CANCEL_REQUESTED" })[]>;
// The receipt of a publish to a URL is only the id (decided: 8).
type Receipt = Without<PublishToUrlResponse, "url">;
// A wait has no message until it ends. Steps of any kind are cancelled, as in the Go client. The
// last page has no cursor ("List DLQ entries of workflow runs", interface document).
type Runs = Answer<Workflows["logs"]>;
type Step<T> = Without<T, "messageId" | "state"> & { messageId?: string; state: "STEP_PROGRESS" | "STEP_SUCCESS" | "STEP_RETRY" | "STEP_FAILED" | "STEP_CANCELED" };
type Steps<T> = { [K in keyof T]: Step<T[K]> };
type Group<T> = T extends { type: "next" } ? T : T extends { steps: unknown[] } ? Without<T, "steps"> & { steps: Steps<T["steps"]> } : never;
type Run = Without<Item<Runs["runs"]>, "steps"> & { steps: Group<Item<Item<Runs["runs"]>["steps"]>>[] };
type RunList = { cursor?: string; runs: Run[] };
// workflowCreatedAt is Unix ms ("Restart a failed workflow run", interface document).
type Restarted = { workflowRunId: string; workflowCreatedAt: number };
type RestartedList = { cursor?: string; workflowRuns: Restarted[] };
// A success has no error: the Go client reads any as a failure.
type Notified = Without<Item<Answer<Workflows["notify"]>>, "error">[];
// A waiter without a timeout body has none, as its own optional type says.
type WaiterList = Without<Item<Answer<Workflows["getWaiters"]>>, "timeoutBody">[];
type WorkflowDLQ = Answer<Workflows["dlq"]["list"]>;
`;

const answers = [];
const record = async (type, call) => {
  const answer = await call;
  answers.push([type, answer]);
  return answer;
};

let app;
before(async () => {
  const child = createWorkflow(async (context) => await context.run("double", () => 2 * context.requestPayload.n));
  const parent = createWorkflow(async (context) => {
    await context.run("first", () => ({ a: 1 }));
    await context.sleep("nap", 10);
    await context.sleepUntil("later", Date.now() / 1000 + 1e6);
    await context.call("ask", { url: app.url + "/ok", method: "POST", body: { q: 1 }, headers: { "X-Own": "yes" } });
    await context.invoke("invoke", { workflow: child, body: { n: 2 } });
    await context.waitForEvent("timeout", "no-event", { timeout: "1m" });
    await Promise.all([context.run("x", () => "x"), context.sleep("parallel nap", 5), context.waitForEvent("wait", "an-event", { timeout: "1h" })]);
    await context.notify("tell", "other-event", { n: 1 });
    return { done: true };
  });
  app = await host(
    {
      "/family": { many: { parent, child } },
      "/fails": {
        route: async (context) => await context.run("charge", () => { throw new Error("declined"); }),
        options: { failureFunction: async () => "noted" },
      },
      "/waits": async (context) => void (await context.waitForEvent("wait", "paid", { timeout: "1h" })),
    },
    { "/ok": () => [200, "fine", { "X-Answer": "yes" }], "/down": () => [503, "busy"], "/empty": () => [204] },
  );
  await reset();
  await setClock("manual");
});
after(async () => {
  await app.close();
  await setClock("real");
});

const trigger = async (path, options = {}) => {
  const { workflowRunId } = await record(`Answer<Workflows["trigger"]> extends (infer U)[] ? U : never`, workflows.trigger({ url: path, retries: 0, ...options }));
  await settle();
  return workflowRunId;
};

test("messages and what delivers them", async () => {
  const every = {
    url: app.url + "/ok", body: "text", headers: { "X-User": "u" }, retries: 2, retryDelay: "1000 * (1 + retried)", delay: "1h", label: ["a", "b"], timeout: 30,
    callback: app.url + "/ok", failureCallback: app.url + "/ok", flowControl: { key: "every", parallelism: 2, rate: 3, period: "1m" },
  };
  const { messageId } = await record("Receipt", messages.publish(every));
  const plain = await record("Receipt", messages.publishJSON({ url: app.url + "/ok", body: { a: 1 }, delay: "1h", deduplicationId: "once" }));
  await record("Receipt", messages.publishJSON({ url: app.url + "/ok", body: { a: 1 }, deduplicationId: "once" }));
  await record("Receipt", messages.publish({ url: app.url + "/ok", body: new Uint8Array([255, 0]), flowControl: { key: "rate only", rate: 1 } }));
  await record("Receipt[]", messages.batch([every, { url: app.url + "/ok" }]));

  await messages.flowControl.pause("held");
  await messages.publish({ url: app.url + "/ok", flowControl: { key: "held", parallelism: 1 } });
  await messages.flowControl.pause("never used");
  await messages.flowControl.pin("parallelism", { parallelism: 5 });
  await messages.flowControl.pin("rate", { rate: 2, period: 60 });
  for (const key of ["held", "never used", "parallelism", "rate"]) {
    await record(`Answer<Messages["flowControl"]["get"]>`, messages.flowControl.get(key));
  }
  await record(`Answer<Messages["flowControl"]["getGlobalParallelism"]>`, messages.flowControl.getGlobalParallelism());

  await messages.urlGroups.addEndpoints({ name: "group", endpoints: [{ url: app.url + "/ok", name: "named" }, { url: app.url + "/down" }] });
  await record("UrlGroup", messages.urlGroups.get("group"));
  await record(`Answer<Messages["urlGroups"]["list"]>`, messages.urlGroups.list());
  const [one] = await record("PublishToUrlResponse[]", messages.publish({ urlGroup: "group", body: "to all", delay: "1h" }));

  await messages.queue({ queueName: "queue" }).upsert({ parallelism: 2 });
  await record(`Answer<ReturnType<Messages["queue"]>["get"]>`, messages.queue({ queueName: "queue" }).get());
  await record(`Answer<ReturnType<Messages["queue"]>["list"]>`, messages.queue().list());
  await record("Receipt", messages.queue({ queueName: "queue" }).enqueue({ url: app.url + "/ok", delay: "1h" }));

  for (const id of [messageId, plain.messageId, one.messageId]) await record("Message", messages.messages.get(id));
  await record(`Answer<Messages["messages"]["cancel"]>`, messages.messages.cancel([one.messageId]));

  const { scheduleId } = await record(`Answer<Messages["schedules"]["create"]>`, messages.schedules.create({ destination: app.url + "/ok", cron: "* * * * *", body: "tick" }));
  await messages.schedules.create({ ...every, delay: undefined, destination: app.url + "/ok", cron: "CRON_TZ=Asia/Tokyo 0 9 * * *", queueName: "queue" });
  await messages.schedules.create({ destination: app.url + "/ok", cron: "0 0 1 1 *", scheduleId: "paused", delay: "1m" });
  await messages.schedules.pause({ schedule: "paused" });
  await advance("2m");
  await record(`Answer<Messages["schedules"]["get"]>`, messages.schedules.get(scheduleId));
  await record(`Answer<Messages["schedules"]["list"]>`, messages.schedules.list());
  for (const id of [scheduleId, "paused"]) await messages.schedules.delete(id);
});

test("logs and the DLQ of messages", async () => {
  for (const url of [app.url + "/down", app.url + "/empty", nowhere]) {
    await messages.publish({ url, body: url, retries: 0, failureCallback: app.url + "/ok" });
    await messages.publish({ url, body: new Uint8Array([255]), retries: 1 });
  }
  await settle();
  await record("LogList", messages.logs());
  await advance("1d");
  await record("LogList", messages.logs());
  await record("LogList", messages.events());
  const list = await record("DLQList", messages.dlq.listMessages());
  assert.ok(list.messages.length > 3);
  for (const m of list.messages) {
    for (const name of ["workflowRunId", "workflowUrl", "workflowCreatedAt"]) assert.ok(!(name in m), `${name} of a message outside a run`);
  }
  await record("DLQList", messages.dlq.listMessages({ count: 1 }));
  await record(`Answer<Messages["dlq"]["retry"]>`, messages.dlq.retry(list.messages[0].dlqId));
  await record(`Answer<Messages["dlq"]["retry"]>`, messages.dlq.retry({ all: true, count: 1 }));
  await record(`Answer<Messages["dlq"]["delete"]>`, messages.dlq.delete({ all: true }));
});

test("runs in every state, with every kind of step", async () => {
  const runs = [await trigger(app.url + "/family/parent", { body: { order: 1 }, label: ["a", "b"], retryDelay: "1000", flowControl: { key: "runs", parallelism: 9 } })];
  const logs = async () => {
    for (const id of runs) await record("RunList", workflows.logs({ workflowRunId: id }));
  };
  for (const by of ["1s", "9s", "20d", "2m", "1s"]) {
    await logs();
    await advance(by);
    await settle();
  }
  await record("WaiterList", workflows.getWaiters({ eventId: "an-event" }));
  await record("Notified", workflows.notify({ eventId: "an-event", eventData: { paid: true } }));
  await advance("10s");
  await logs();
  const { runs: [run] } = await workflows.logs({ workflowRunId: runs[0] });
  assert.equal(run.workflowState, "RUN_SUCCESS", JSON.stringify(run));

  const canceled = await trigger(app.url + "/waits");
  await record(`Answer<Workflows["cancel"]>`, workflows.cancel(canceled));
  runs.push(
    canceled,
    await trigger(app.url + "/fails", { body: "text" }), // with a failure function that succeeds
    await trigger(app.url + "/fails", { retries: 3 }), // tried again
    await trigger(app.url + "/fails", { failureUrl: app.url + "/down" }), // whose failure function is tried again
    await trigger(nowhere, { failureUrl: app.url + "/ok" }), // without a response
    await trigger(nowhere, { failureUrl: nowhere }),
    await trigger(app.url + "/down", { failureUrl: app.url + "/empty" }),
    await trigger(app.url + "/ok"), // no workflow
  );
  await logs();
  await record("WorkflowDLQ", workflows.dlq.list());
  await advance("2d");
  await logs();
  await record("RunList", workflows.logs());
  await record("RunList", workflows.logs({ count: 1 }));
  const { messages: failed } = await record("WorkflowDLQ", workflows.dlq.list());
  assert.ok(failed.length >= 6);
  await record("RestartedList", workflows.dlq.restart(failed[0].dlqId));
  await record("Restarted[]", workflows.dlq.resume({ dlqId: [failed[1].dlqId] }));
  await record("Restarted", workflows.dlq.restart({ dlqId: failed[2].dlqId }));
  await record("Restarted", workflows.dlq.retryFailureFunction({ dlqId: failed[3].dlqId }));
  await record(`Answer<Workflows["dlq"]["delete"]>`, workflows.dlq.delete(failed[4].dlqId));
  await record(`Answer<Workflows["cancel"]>`, workflows.cancel({ all: true }));
});

test("the recorded answers have the published types", async () => {
  const dir = new URL("node_modules/.answers/", import.meta.url);
  await mkdir(dir, { recursive: true });
  const lines = answers.map(([type, answer], i) => `const a${i} = ${JSON.stringify(answer)} as const;\nexport const c${i}: Json<${type}> = a${i};`);
  await writeFile(new URL("answers.ts", dir), [preamble, ...lines, ""].join("\n"));
  const flags = "--noEmit --strict --skipLibCheck --pretty false --module esnext --moduleResolution bundler --target es2022";
  const tsc = new URL("node_modules/typescript/bin/tsc", import.meta.url);
  const { stdout } = await promisify(execFile)(process.execPath, [tsc.pathname, ...flags.split(" "), "answers.ts"], { cwd: dir }).catch((error) => error);
  assert.equal(stdout, "");
});
