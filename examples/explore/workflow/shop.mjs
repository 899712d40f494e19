// A shop whose orders are workflow runs: charge, wait for a day, ask the customer.
// BUGS plants bugs, separated by commas; without it the shop is right.
import { serve } from "@upstash/workflow/express";
import { Client } from "@upstash/workflow";
import express from "express";

const bugs = new Set((process.env.BUGS ?? "").split(","));
const client = new Client({ baseUrl: process.env.QSTASH_URL, token: process.env.QSTASH_TOKEN });
const app = express();
let url, orders;

function reset() {
  orders = {};
}

async function call(service, body, headers = {}) {
  const response = await fetch(service, { method: "POST", headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${service}: ${response.status}`);
}

app.post("/checkout", express.json(), async (request, response) => {
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
  if (bugs.has("effect-outside-steps")) await call(`${process.env.MAIL_URL}/welcome`, { order });
  else await context.run("welcome", () => call(`${process.env.MAIL_URL}/welcome`, { order }, { "Idempotency-Key": `welcome-${order}` }));
  const step = bugs.has("random-step-name") ? `charge ${Math.random()}` : "charge";
  await context.run(step, async () => {
    // A step may run twice: the payment provider recognizes the second call by its key.
    const headers = bugs.has("step-not-idempotent") ? {} : { "Idempotency-Key": `charge-${order}` };
    if (bugs.has("swallowed-error")) {
      if (orders[order].state === "charging") return; // also if the first attempt failed before the charge
      orders[order].state = "charging";
    }
    await call(`${process.env.PAYMENTS_URL}/charges`, { order }, headers);
    orders[order].state = "paid";
  });
  await context.sleep("a day", "1d");
  await context.run("ask", async () => {
    await call(`${process.env.MAIL_URL}/question`, { order }, { "Idempotency-Key": `question-${order}` });
    orders[order].state = "done";
  });
};

// A run that fails is for a person, unless only its last call has failed.
const failureFunction = ({ context }) => {
  const { order } = context.requestPayload;
  if (orders[order].state !== "done") orders[order].state = "for a person";
};

app.use(express.json());
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
