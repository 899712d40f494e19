// A real workflow application, written with the published client, against the
// stand-in: every step type, failures, restart and resume, on a manual clock.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Client, WorkflowNonRetryableError } from "@upstash/workflow";
import { advance, api, base, createWorkflow, host, reset, run, setClock, settle, states } from "./host.mjs";

const client = new Client({ baseUrl: base, token: process.env.UNDERSTUDY_TOKEN });
let app;
let seen; // what the application did, in order
let healthy; // whether the flaky parts work
let apiFailures;
let broken = new Set(); // steps whose next attempt throws

before(async () => {
  const child = createWorkflow(async (context) => {
    if (context.requestPayload?.fail) throw new WorkflowNonRetryableError("child refuses");
    return await context.run("double", () => context.requestPayload.n * 2);
  });
  let called;
  const invoked = new Promise((resolve) => (called = resolve));
  const slow = createWorkflow(async (context) => {
    called();
    await context.sleep("a while", 3);
    await context.run("child step", () => 1);
  });
  const fragile = createWorkflow(async (context) => {
    await Promise.all([
      context.invoke("ask", { workflow: slow, body: {} }),
      context.run("fail", async () => { await invoked; throw new WorkflowNonRetryableError("it broke"); }),
    ]);
  });
  // shaped has parallel branches, and two steps behind them; each step that `broken` names throws.
  const shaped = createWorkflow(async (context) => {
    const work = (name) => context.run(name, () => {
      if (broken.delete(name)) throw new WorkflowNonRetryableError(`${name} broke`);
      seen.push(name);
      return name;
    });
    const branch = (kind, i) => ({
      run: () => work(`run ${i}`),
      sleep: () => context.sleep(`sleep ${i}`, 10 * (9 - i)), // the first one sleeps longest
      call: () => context.call(`call ${i}`, { url: `${app.url}/third`, method: "POST" }).then(({ body }) => body),
      wait: () => context.waitForEvent(`wait ${i}`, "shaped", { timeout: "1h" }).then(({ eventData }) => eventData),
      invoke: () => context.invoke(`invoke ${i}`, { workflow: child, body: { n: i } }).then(({ body }) => body),
    })[kind]();
    const results = await Promise.all((context.requestPayload?.branches ?? []).map(branch));
    return [results, await work("charge"), await work("ship")];
  });
  const told = (context) => seen.push([context.labels, context.headers.get("x-own"), context.requestPayload]);
  const labelled = createWorkflow(async (context) => {
    told(context);
    const depth = context.requestPayload?.depth;
    await context.run("first", () => 1);
    if (depth) await context.invoke("ask", { workflow: labelled, body: { depth: depth - 1 }, label: ["a", "b"], headers: { "X-Own": "yes" } });
    await context.run("second", () => {
      if (broken.delete("second")) throw new WorkflowNonRetryableError("second broke");
    });
  }, { failureFunction: async ({ context }) => told(context) });
  const parent = createWorkflow(async (context) => {
    const ok = await context.invoke("ask", { workflow: child, body: { n: 21 } });
    const bad = await context.invoke("ask badly", { workflow: child, body: { fail: true } });
    seen.push(["invoked", ok.body, ok.isFailed, bad.isFailed]);
    return ok.body;
  });
  app = await host(
    {
      "/steps": async (context) => {
        const a = await context.run("first", () => (seen.push("first"), 1));
        const b = await context.run("second", () => (seen.push("second"), a + 1));
        return { sum: a + b, got: context.requestPayload };
      },
      "/sleeps": async (context) => {
        await context.sleep("a month", "30d");
        await context.sleepUntil("later", Math.floor(context.requestPayload.until / 1000));
        await context.run("woke", () => seen.push("woke"));
      },
      "/parallel": async (context) => {
        const [x, y, z] = await Promise.all([
          context.run("x", () => (seen.push("x"), "x")),
          context.run("y", () => (seen.push("y"), "y")),
          context.sleep("nap", 10),
        ]);
        await context.run("after", () => seen.push(`after ${x}${y}${z ?? ""}`));
      },
      "/call": async (context) => {
        const answer = await context.call("third party", {
          url: `${app.url}/third`, method: "POST", body: { q: 1 }, headers: { "X-Own": "yes" }, retries: 3,
        });
        seen.push(["called", answer.status, answer.body]);
      },
      "/wait": async (context) => {
        const { eventData, timeout } = await context.waitForEvent("for it", "the-event", { timeout: "1h" });
        await context.run("note", () => seen.push(["waited", eventData, timeout]));
        const notified = await context.notify("tell", "other-event", { a: 1 });
        seen.push(["notified", notified.notifyResponse.length]);
      },
      "/hook": async (context) => {
        const webhook = await context.createWebhook("make");
        if (!seen.length) seen.push(["webhook", webhook.webhookUrl]);
        const { request, timeout } = await context.waitForWebhook("come", webhook, "1h");
        seen.push(["hooked", timeout, await request.text(), request.url === webhook.webhookUrl]);
      },
      "/fails": {
        route: async (context) => {
          await context.run("reserve", () => seen.push("reserve"));
          await context.run("charge", () => {
            seen.push("charge");
            if (!healthy) throw new Error("card declined");
          });
          await context.run("ship", () => seen.push("ship"));
          return "shipped";
        },
        options: {
          failureFunction: async ({ failStatus, failResponse, context }) => {
            seen.push(["failed", failStatus, failResponse, context.requestPayload]);
            return "noted";
          },
        },
      },
      "/family": { many: { parent, child, slow, fragile, shaped, labelled } },
    },
    {
      "/third": (req, body) => {
        seen.push(["third", req.headers["x-own"], body.toString()]);
        return apiFailures-- > 0 ? [503, "busy"] : [200, '{"answer":42}', { "content-type": "application/json" }];
      },
      "/not-a-workflow": () => [200, "hello"],
      "/old-library": () => [200, "hello", { "Upstash-Workflow-Sdk-Version": "1" }],
      "/hangs": () => new Promise(() => {}),
    },
  );
});
after(async () => {
  await app.close();
  await setClock("real");
});
beforeEach(async () => {
  await reset();
  await setClock("manual"); // a reset brings back the one that was configured
  [seen, healthy, apiFailures] = [[], false, 0];
});

const start = async (path, options = {}) => {
  const { workflowRunId } = await client.trigger({ url: app.url + path, retries: 0, ...options });
  await settle();
  return workflowRunId;
};

test("sequential steps run once each and the response is kept", async () => {
  const id = await start("/steps", { body: { hello: "world" }, label: "mine", headers: { "X-User": "u" } });
  assert.deepEqual(seen, ["first", "second"]);
  const view = await run(id);
  assert.equal(view.workflowState, "RUN_SUCCESS");
  assert.deepEqual(JSON.parse(view.workflowRunResponse), { sum: 3, got: { hello: "world" } });
  assert.equal(view.label, "mine");
  assert.deepEqual(view.steps.map((g) => g.steps[0].stepName), ["init", "first", "second"]);
  assert.equal(app.calls["/steps"], 3);
  const { runs } = await client.logs({ workflowRunId: id });
  assert.equal(runs[0].workflowState, "RUN_SUCCESS");
  const log = await states(id);
  assert.equal(log.filter((s) => s === "RUN_STARTED").length, 1);
  assert.equal(log.filter((s) => s === "RUN_SUCCESS").length, 1);
});

test("a run id that exists is deduplicated", async () => {
  const id = await start("/steps", { workflowRunId: "twice" });
  await start("/steps", { workflowRunId: "twice" });
  assert.deepEqual(seen, ["first", "second"]);
  assert.match(id, /twice$/);
});

test("thirty days of sleep pass in under a second", async () => {
  const { body: clock } = await api("GET", "/_understudy/clock");
  const id = await start("/sleeps", { body: { until: clock.now + 31 * 86400e3 } });
  assert.equal((await run(id)).workflowState, "RUN_STARTED");
  const began = performance.now();
  await advance("30d");
  assert.deepEqual(seen, []);
  await advance("1d");
  await settle();
  assert.ok(performance.now() - began < 1000);
  assert.deepEqual(seen, ["woke"]);
  assert.equal((await run(id)).workflowState, "RUN_SUCCESS");
});

test("parallel branches join once all are done", async () => {
  const id = await start("/parallel");
  assert.deepEqual(seen.toSorted(), ["x", "y"]);
  const view = await run(id);
  assert.deepEqual(view.steps.map((g) => g.type), ["sequential", "parallel"]);
  await advance("10s");
  assert.equal(seen.at(-1), "after xy");
  assert.equal((await run(id)).workflowState, "RUN_SUCCESS");
});

test("a call goes through the service, is retried, and its answer comes back", async () => {
  apiFailures = 2;
  const id = await start("/call");
  await advance("10m");
  assert.equal(seen.filter((s) => s[0] === "third").length, 3);
  assert.deepEqual(seen[0], ["third", "yes", '{"q":1}']);
  assert.deepEqual(seen.at(-1), ["called", 200, { answer: 42 }]);
  const view = await run(id);
  assert.equal(view.workflowState, "RUN_SUCCESS");
  const call = view.steps.flatMap((g) => g.steps).find((s) => s.stepType === "Call");
  assert.equal(call.callUrl, app.url + "/third");
  assert.equal(call.callResponseStatus, 200);
});

test("a call that fails permanently is an answer too", async () => {
  apiFailures = 99;
  const id = await start("/call");
  await advance("2d");
  assert.deepEqual(seen.at(-1), ["called", 503, "busy"]);
  assert.equal((await run(id)).workflowState, "RUN_SUCCESS");
});

test("an event wakes a waiting run with its data", async () => {
  const id = await start("/wait");
  const waiters = await client.getWaiters({ eventId: "the-event" });
  assert.equal(waiters.length, 1);
  assert.equal(waiters[0].url, app.url + "/wait");
  const last = (await run(id)).steps.at(-1);
  assert.equal(last.steps[0].stepType, "Wait");
  const notified = await client.notify({ eventId: "the-event", eventData: { x: "ü" } });
  assert.equal(notified[0].workflowRunId, id);
  await settle();
  assert.deepEqual(seen, [["waited", { x: "ü" }, false], ["notified", 0]]);
  assert.ok((await states(id)).includes("WAITER_ADDED"));
});

test("a wait that nobody ends times out", async () => {
  await start("/wait");
  await advance("1h");
  assert.deepEqual(seen[0], ["waited", undefined, true]);
});

test("an event for one run is kept until it waits", async () => {
  const id = "wfr_kept";
  const parked = await api("POST", "/v2/flowControl/kept/pause");
  assert.equal(parked.status, 200);
  await start("/wait", { workflowRunId: "kept", flowControl: { key: "kept", parallelism: 1 } });
  await client.notify({ eventId: "the-event", eventData: "early", workflowRunId: id });
  await api("POST", "/v2/flowControl/kept/resume");
  await settle();
  assert.deepEqual(seen[0], ["waited", "early", false]);
});

test("a webhook call reaches the run that made it", async () => {
  await start("/hook");
  const [, url] = seen.find((s) => s[0] === "webhook");
  await fetch(url, { method: "POST", body: "ping" });
  await settle();
  assert.deepEqual(seen.at(-1), ["hooked", false, "ping", true]);
});

test("one workflow invokes another, and learns of its failure", async () => {
  const id = await start("/family/parent");
  assert.deepEqual(seen, [["invoked", 42, false, true]]);
  const view = await run(id);
  assert.equal(view.workflowState, "RUN_SUCCESS");
  assert.ok((await states(id)).includes("INVOKED"));
  const step = view.steps.flatMap((g) => g.steps).find((s) => s.stepType === "Invoke");
  const child = await run(step.invokedWorkflowRunId);
  assert.equal(child.invoker.workflowRunId, id);
});

test("a failed run reaches the DLQ after its retries and its failure function", async () => {
  const id = await start("/fails", { body: { order: 7 }, retries: 2, failureUrl: undefined });
  await advance("1h");
  assert.equal(seen.filter((s) => s === "charge").length, 3);
  const failed = seen.find((s) => s[0] === "failed");
  assert.deepEqual(failed, ["failed", 500, "card declined", { order: 7 }]);
  const { messages } = await client.dlq.list({ filter: { workflowRunId: id } }).catch(() => client.dlq.list({ workflowRunId: id }));
  assert.equal(messages.length, 1);
  assert.equal(messages[0].responseStatus, 500);
  assert.equal(messages[0].failureCallbackInfo.state, "CALLBACK_SUCCESS");
  assert.deepEqual(JSON.parse(messages[0].body), { order: 7 });
  assert.equal((await run(id)).failureFunction.state, "CALLBACK_SUCCESS");
});

test("a restart starts at the first step, a resume at the failed one", async () => {
  for (const [how, expected] of [["restart", ["reserve", "charge", "ship"]], ["resume", ["charge", "ship"]]]) {
    [seen, healthy] = [[], false];
    const id = await start("/fails", { body: { order: 8 } });
    const { messages } = (await api("GET", `/v2/workflows/dlq?workflowRunId=${id}`)).body;
    [seen, healthy] = [[], true];
    const answer = await client.dlq[how]({ dlqId: messages[0].dlqId });
    assert.notEqual(answer.workflowRunId, id);
    await settle();
    assert.deepEqual(seen, expected, how);
    assert.equal((await run(answer.workflowRunId)).workflowState, "RUN_SUCCESS");
    assert.equal((await api("GET", `/v2/workflows/dlq?workflowRunId=${id}`)).body.messages.length, 0);
  }
});

// The branches end in another order than they begin, and the run fails behind them or in one.
for (const [shape, breaks] of [
  ["sleep run", "charge"], ["run sleep", "charge"], ["sleep sleep", "charge"], ["sleep call", "charge"], ["wait run", "charge, ship"], ["sleep wait", "charge, ship"],
  ["invoke run", "charge"], ["sleep invoke", "charge, ship"], ["sleep sleep run", "run 2"], ["wait run call", "run 1, charge"], ["sleep wait call invoke run", "run 4, charge, ship"],
]) {
  test(`a resumed run ends as one that did not fail: ${shape}, failing at ${breaks}`, async () => {
    const ends = async (steps) => {
      [broken, seen] = [new Set(steps), []];
      let id = await start("/family/shaped", { body: { branches: shape.split(" ") } });
      for (let resumed = 0; resumed < 5; resumed++) {
        for (let i = 0; i < 2; i++) {
          await client.notify({ eventId: "shaped", eventData: "told" });
          await advance("2m");
        }
        const view = await run(id);
        if (view.workflowState !== "RUN_FAILED" || resumed === 4) return { view, resumed, ran: seen.filter((s) => typeof s === "string").toSorted() };
        const { messages } = (await api("GET", `/v2/workflows/dlq?workflowRunId=${id}`)).body;
        id = (await client.dlq.resume({ dlqId: messages[0].dlqId })).workflowRunId;
        await settle();
      }
    };
    const smooth = await ends([]);
    const rough = await ends(breaks.split(", "));
    assert.equal(rough.resumed, breaks.split(", ").length);
    for (const { view } of [smooth, rough]) assert.equal(view.workflowState, "RUN_SUCCESS");
    assert.equal(rough.view.workflowRunResponse, smooth.view.workflowRunResponse);
    assert.deepEqual(rough.ran, smooth.ran);
  });
}

test("every call of a run has its labels, headers and payload: invoked, failed, resumed and restarted", async () => {
  for (const how of ["resume", "restart"]) {
    [broken, seen] = [new Set(["second"]), []];
    const id = await start("/family/labelled", { body: { depth: 0 }, label: ["a", "b"], headers: { "X-Own": "yes" } });
    const { messages } = (await api("GET", `/v2/workflows/dlq?workflowRunId=${id}`)).body;
    await client.dlq[how]({ dlqId: messages[0].dlqId });
    await settle();
    assert.ok(seen.length > 4);
    for (const one of seen) assert.deepEqual(one, [["a", "b"], "yes", { depth: 0 }], how);
  }
  [broken, seen] = [new Set(), []];
  await start("/family/labelled", { body: { depth: 2 }, label: ["a", "b"], headers: { "X-Own": "yes" } });
  for (const [labels, own] of seen) assert.deepEqual([labels, own], [["a", "b"], "yes"]);
  assert.deepEqual([...new Set(seen.map(([, , payload]) => payload.depth))], [2, 1, 0]);
});

test("a cancelled run stops, without DLQ entry", async () => {
  const id = await start("/sleeps", { body: { until: 0 } });
  await client.cancel(id).catch(() => client.cancel({ ids: id }));
  await advance("60d");
  assert.deepEqual(seen, []);
  assert.equal((await run(id)).workflowState, "RUN_CANCELED");
  assert.equal((await api("GET", "/v2/workflows/dlq")).body.messages.length, 0);
});

// failure is the only error of the only step that a run has failed in.
const failure = (view) => {
  assert.equal(view.workflowState, "RUN_FAILED");
  assert.deepEqual(view.steps.map((g) => g.type), ["sequential", "next"]);
  assert.equal(view.steps[1].steps[0].state, "STEP_FAILED");
  assert.equal(view.steps[1].steps[0].errors.length, 1);
  return view.steps[1].steps[0].errors[0];
};

test("an endpoint that is no workflow fails its run at once", async () => {
  const id = await start("/not-a-workflow", { retries: 3 });
  const { runs } = await client.logs({ workflowRunId: id });
  const { error, body } = failure(runs[0]);
  assert.equal(error, "detected a non-workflow destination for trigger/invoke. make sure you are sending the request to the correct endpoint");
  assert.equal(body, "hello");
  assert.equal(app.calls["/not-a-workflow"], 2); // the first call, and the failure callback
});

// The client's own CI (examples/ci, qstash-trigger-fetch) counts 3 and 4 calls for two steps.
for (const [name, headers, calls] of [
  ["a plain trigger over REST starts a run as well", {}, 3],
  ["a plain trigger that asks for the library costs one call more", { "Upstash-Workflow-Unknown-Sdk": "true" }, 4],
]) {
  test(name, async () => {
    const before = app.calls["/steps"] ?? 0;
    const { body } = await api("POST", `/v2/trigger/${app.url}/steps`, '{"hello":"rest"}', { "Content-Type": "application/json", ...headers });
    await settle();
    assert.deepEqual(seen, ["first", "second"]);
    const view = await run(body.workflowRunId);
    assert.equal(view.workflowState, "RUN_SUCCESS");
    assert.deepEqual(JSON.parse(view.workflowRunResponse).got, { hello: "rest" });
    assert.equal(app.calls["/steps"] - before, calls);
  });
}

test("a plain trigger reaches the failure function of its endpoint", async () => {
  await api("POST", `/v2/trigger/${app.url}/fails`, '{"order":9}', { "Upstash-Retries": "0" });
  await settle();
  assert.deepEqual(seen, ["reserve", "charge", ["failed", 500, "card declined", { order: 9 }]]);
});

test("a plain trigger of an endpoint without a library fails its run at once", async () => {
  for (const path of ["/not-a-workflow", "/old-library"]) {
    const { body } = await api("POST", `/v2/trigger/${app.url}${path}`, "{}");
    await settle();
    const { error } = failure(await run(body.workflowRunId));
    assert.equal(error, "trigger rest api is only usable with sdk versions after v1.0.0 major version");
  }
});

test("a run that is asked to show its library starts, once", async () => {
  const before = app.calls["/steps"];
  const id = await start("/steps", { body: { hello: "unknown" }, headers: { "Upstash-Workflow-Unknown-Sdk": "true", "X-User": "u" } });
  assert.deepEqual(seen, ["first", "second"]);
  assert.equal((await run(id)).workflowState, "RUN_SUCCESS");
  assert.equal(app.calls["/steps"] - before, 4); // one more than without the question
});

test("a call with retries comes back once, after the last of them", async () => {
  apiFailures = 99;
  const before = app.calls["/call"];
  await start("/call");
  await advance("2d");
  assert.equal(seen.filter((s) => s[0] === "third").length, 4);
  assert.equal(app.calls["/call"] - before, 3); // the first call, the answer, the rest
});

test("a child that outlives its failed parent is a step that succeeded", async () => {
  const id = await start("/family/fragile");
  await advance("1m");
  const { runs } = await client.logs({ workflowRunId: id });
  assert.equal(runs[0].workflowState, "RUN_FAILED");
  const group = runs[0].steps.find((g) => g.type === "parallel");
  assert.deepEqual(group.steps.map((s) => [s.stepName, s.state]).toSorted(), [["ask", "STEP_SUCCESS"], ["fail", "STEP_FAILED"]]);
  assert.equal(group.steps.find((s) => s.stepName === "fail").errors[0].status, 489);
});

test("every step says when it was made and what it was sent", async () => {
  healthy = false;
  const id = await start("/fails", { body: { order: 7 }, headers: { "X-Custom-Header": "blue" } });
  const steps = (await run(id)).steps.flatMap((g) => g.steps);
  assert.ok(steps.length >= 3);
  for (const step of steps) {
    assert.ok(step.createdAt > 0);
    assert.deepEqual(step.headers["X-Custom-Header"], ["blue"]);
    assert.equal(step.errors !== undefined, step.state === "STEP_FAILED");
  }
});

test("a failed run begins with the step and the message of what was thrown, without its stack", async () => {
  healthy = false;
  const id = await start("/fails", { body: { order: 9 } });
  const cause = 'charge failed: card declined (500), attempt 1 of 1';
  const { reasons, dlqId } = (await api("GET", `/_understudy/explain/${id}`)).body;
  assert.equal(reasons[0].reason, cause);
  const escaped = cause.replaceAll('"', "&#34;");
  for (const view of [`runs/${id}`, "runs", `dlq/${dlqId}`, "dlq"]) {
    const page = await (await fetch(`${base}/_understudy/ui/${view}`)).text();
    assert.ok(page.includes(escaped), `${view} does not say ${cause}`);
  }
  healthy = true;
  const answer = await client.dlq.resume({ dlqId });
  await settle();
  const [before, after] = await Promise.all([id, answer.workflowRunId].map(async (run) => (await api("GET", `/_understudy/runs/${run}`)).body.row));
  assert.deepEqual(before.successor, { workflowRunId: answer.workflowRunId, resumed: true });
  assert.deepEqual(after.predecessor, { workflowRunId: id, resumed: true });
  assert.equal(before.dlqId, undefined);
});
