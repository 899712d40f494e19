// node --test: a durable workflow that sleeps for a day, which the test skips, and a failed run.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Client } from "@upstash/workflow";
import { serve } from "@upstash/workflow/express";
import express from "express";
import { startUnderstudy } from "understudy-mock";

let understudy, client, server, url, mails;

before(async () => {
  understudy = await startUnderstudy(); // own port, manual clock
  Object.assign(process.env, understudy.env); // the client and the endpoints read it
  client = new Client();
  const app = express();
  app.post("/trial", express.json(), serve(async (context) => {
    await context.run("welcome", () => mails.push("welcome"));
    await context.sleep("a day", "1d");
    await context.run("ask", () => mails.push("how is it?"));
  }));
  app.post("/broken", express.json(), serve(async (context) => {
    await context.run("fails", () => {
      throw new Error("no printer");
    });
  }));
  await new Promise((listening) => (server = app.listen(0, "127.0.0.1", listening)));
  url = `http://127.0.0.1:${server.address().port}`;
});
beforeEach(async () => {
  await understudy.reset();
  mails = [];
});
after(async () => {
  server.close();
  await understudy.stop();
});

test("the second mail comes after a day", async () => {
  await client.trigger({ url: `${url}/trial`, retries: 0 });
  await understudy.settle();
  assert.deepEqual(mails, ["welcome"]);
  await understudy.advance("24h");
  assert.deepEqual(mails, ["welcome", "how is it?"]);
});

test("a failed run says why", async () => {
  const { workflowRunId } = await client.trigger({ url: `${url}/broken`, retries: 0 });
  await understudy.settle();
  const why = await understudy.explain(workflowRunId);
  assert.equal(why.state, "RUN_FAILED");
  assert.match(JSON.stringify(why), /no printer/);
});
