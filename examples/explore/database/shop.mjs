// A shop that keeps its orders in a file: they are there again after a restart, so each case begins with a reset.
// BUGS plants bugs, separated by commas; without it the shop is right.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { Client } from "@upstash/qstash";
import express from "express";

const bugs = new Set((process.env.BUGS ?? "").split(","));
const client = new Client({ baseUrl: process.env.QSTASH_URL, token: process.env.QSTASH_TOKEN });
const file = process.env.DATABASE ?? "orders.json";
const app = express();
app.use(express.json({ type: "*/*" }));
let url;

const load = () => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : []);

// save replaces the file as a whole, so that a crash leaves the old one or the new one.
function save(orders) {
  writeFileSync(`${file}.new`, JSON.stringify(orders));
  renameSync(`${file}.new`, file);
}

function update(order, change) {
  const orders = load();
  Object.assign(orders.find((one) => one.order === order), change);
  save(orders);
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
  if (!load().some((one) => one.order === order)) save([...load(), { order, state: "open" }]);
  await client.publishJSON({ url: `${url}/charge`, body: { order }, deduplicationId: `charge-${order}` });
});

handle("/charge", async ({ order }) => {
  if (load().find((one) => one.order === order).state === "paid") return;
  if (bugs.has("recorded-first")) update(order, { state: "paid" }); // a second attempt finds it paid
  const headers = { "Content-Type": "application/json", "Idempotency-Key": `charge-${order}` };
  const response = await fetch(`${process.env.PAYMENTS_URL}/charges`, { method: "POST", headers, body: JSON.stringify({ order }) });
  if (!response.ok) throw new Error(`payments: ${response.status}`);
  update(order, { state: "paid" });
});

app.get("/test/state", (_, response) => response.json(load()));
app.post("/test/reset", (_, response) => {
  save([]);
  response.end();
});

const server = app.listen(process.env.PORT ?? 3000, "127.0.0.1", () => {
  url = `http://127.0.0.1:${server.address().port}`;
});
