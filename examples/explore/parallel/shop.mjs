// A shop whose orders are workflow runs with parallel steps, whose results come in another order than their numbers.
// BUGS plants bugs, separated by commas; without it the shop is right.
import { serve } from "@upstash/workflow/express";
import { Client } from "@upstash/workflow";
import express from "express";

const bugs = new Set((process.env.BUGS ?? "").split(","));
const client = new Client({ baseUrl: process.env.QSTASH_URL, token: process.env.QSTASH_TOKEN });
const app = express();
app.use(express.json());
let url, orders;

function reset() {
  orders = {};
}

async function call(path, order, key) {
  const headers = { "Content-Type": "application/json", "Idempotency-Key": key };
  const response = await fetch(process.env.PAYMENTS_URL + path, { method: "POST", headers, body: JSON.stringify({ order }) });
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
}

app.post("/checkout", async (request, response) => {
  const { order } = request.body;
  orders[order] ??= { state: "open" };
  try {
    await client.trigger({ url: `${url}/order`, body: { order }, workflowRunId: `order-${order}`, retries: 1 });
    response.status(202).end();
  } catch (error) {
    response.status(500).end(error.message);
  }
});

const order = async (context) => {
  const { order } = context.requestPayload;
  // The sleep is the first of the group, and ends last.
  const [, authorized] = await Promise.all([
    context.sleep("time to cancel", "1h"),
    context.run("authorize", async () => {
      await call("/authorizations", order, `authorize-${order}`);
      return `auth-${order}`;
    }),
    context.run("label", () => `label-${order}`),
  ]);
  await context.run("capture", async () => {
    // A step may run twice: the payment provider recognizes the second call by its key.
    await call("/captures", order, bugs.has("key-per-attempt") ? crypto.randomUUID() : `capture-${authorized}`);
    orders[order].state = "captured";
  });
};

// A run that fails is for a person, unless only its last call has failed.
const failureFunction = ({ context }) => {
  const order = orders[context.requestPayload.order];
  if (order.state !== "captured") order.state = "for a person";
};

app.post("/order", (request, response, next) => serve(order, { baseUrl: url, failureFunction })(request, response, next));

app.get("/test/state", (_, response) => response.json(orders));
app.post("/test/reset", (_, response) => {
  reset();
  response.end();
});

reset();
const server = app.listen(process.env.PORT ?? 3000, "127.0.0.1", () => {
  url = `http://127.0.0.1:${server.address().port}`;
});
