// A shop that reserves goods, and gives them back if the customer cannot be charged.
// BUGS plants bugs, separated by commas; without it the shop is right.
import { Client } from "@upstash/qstash";
import express from "express";

const bugs = new Set((process.env.BUGS ?? "").split(","));
const client = new Client({ baseUrl: process.env.QSTASH_URL, token: process.env.QSTASH_TOKEN });
const app = express();
app.use(express.json({ type: "*/*" }));
let url, orders;

function reset() {
  orders = {};
}

async function call(service, order, key) {
  const headers = { "Content-Type": "application/json", "Idempotency-Key": `${key}-${order}` };
  const response = await fetch(service, { method: "POST", headers, body: JSON.stringify({ order }) });
  if (!response.ok) throw new Error(`${service}: ${response.status}`);
}

async function reserve(order) {
  const times = (orders[order].cancelled ?? 0) + 1;
  await call(`${process.env.STOCK_URL}/reservations`, order, `reserve-${times}`);
  orders[order].state = "reserved";
}

// handle answers an error with 500, so that the service, or the caller, tries again.
const handle = (path, work) =>
  app.post(path, async (request, response) => {
    try {
      await work(request.body);
      response.end();
    } catch (error) {
      response.status(500).end(error.message);
    }
  });

handle("/checkout", async ({ order }) => {
  orders[order] ??= { state: "open" };
  if (orders[order].state === "open") await reserve(order);
  await client.publishJSON({ url: `${url}/charge`, body: { order }, deduplicationId: `charge-${order}`, retries: 2, failureCallback: `${url}/cancel` });
});

handle("/charge", async ({ order }) => {
  if (orders[order].state === "paid") return;
  if (orders[order].state === "cancelled") await reserve(order); // a person has tried it again
  await call(`${process.env.PAYMENTS_URL}/charges`, order, "charge");
  orders[order].state = "paid";
});

handle("/cancel", async ({ sourceBody }) => {
  const { order } = JSON.parse(Buffer.from(sourceBody, "base64").toString());
  if (bugs.has("no-compensation") || orders[order].state !== "reserved") return;
  await call(`${process.env.STOCK_URL}/releases`, order, "release");
  orders[order] = { state: "cancelled", cancelled: 1 };
});

app.get("/test/state", (_, response) => response.json(orders));
app.get("/test/check", (_, response) => {
  const lost = Object.keys(orders).find((order) => !["paid", "cancelled"].includes(orders[order].state));
  response.status(lost ? 500 : 200).end(lost && `order ${lost} is reserved for ever`);
});
app.post("/test/reset", (_, response) => {
  reset();
  response.end();
});

reset();
const server = app.listen(process.env.PORT ?? 3000, "127.0.0.1", () => {
  url = `http://127.0.0.1:${server.address().port}`;
});
