// A shop: a checkout reserves the goods and charges the customer, a charge sends a receipt.
// BUGS plants bugs, separated by commas; without it the shop is right.
import { Client, Receiver } from "@upstash/qstash";
import express from "express";

const bugs = new Set((process.env.BUGS ?? "").split(","));
const client = new Client({ baseUrl: process.env.QSTASH_URL, token: process.env.QSTASH_TOKEN });
const receiver = new Receiver({ currentSigningKey: process.env.QSTASH_CURRENT_SIGNING_KEY, nextSigningKey: process.env.QSTASH_NEXT_SIGNING_KEY });
const app = express();
let url, orders, ledger;

function reset() {
  orders = {};
  ledger = new Set(); // what was charged
}

// call calls an outside service, which recognizes a second call by its key.
async function call(service, body, key) {
  const response = await fetch(service, { method: "POST", headers: { "Content-Type": "application/json", "Idempotency-Key": key }, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${service}: ${response.status}`);
}

const publish = (path, order, options) =>
  client.publishJSON({ url: url + path, body: { order }, deduplicationId: `${path.slice(1)}-${order}`, ...options });

// handle adds a handler for deliveries: it verifies the signature, and an error is answered with 500, so that the service tries again.
function handle(path, work) {
  app.post(path, express.text({ type: "*/*" }), async (request, response) => {
    try {
      await receiver.verify({ signature: request.headers["upstash-signature"], body: request.body, url: url + path });
      await work(JSON.parse(request.body), Number(request.headers["upstash-retried"] ?? 0));
      response.end();
    } catch (error) {
      response.status(500).end(error.message);
    }
  });
}

app.post("/checkout", express.json(), async (request, response) => {
  const { order } = request.body;
  orders[order] ??= { reserved: false, receipt: "none" };
  try {
    await publish("/reserve", order);
    await publish("/charge", order);
    response.status(202).end();
  } catch (error) {
    response.status(500).end(error.message);
  }
});

handle("/reserve", ({ order }) => {
  orders[order].reserved = true;
});

// isCharged says whether an order was charged before.
function isCharged(order, retried) {
  if (bugs.has("not-idempotent")) return retried > 0 && ledger.has(order); // only a retry can be the second delivery
  if (bugs.has("effect-before-lost-answer")) return ledger.has(`${order} ${retried}`); // each attempt is another delivery
  if (bugs.has("two-faults")) return ledger.delete(order); // a delivery comes twice at most, so the entry is not needed any more
  return ledger.has(order);
}

// keyOf is the key by which the payment provider recognizes a charge.
function keyOf(order, retried) {
  if (bugs.has("not-idempotent")) return crypto.randomUUID();
  return bugs.has("effect-before-lost-answer") || bugs.has("two-faults") ? `charge-${order}-${retried}` : `charge-${order}`;
}

handle("/charge", async ({ order }, retried) => {
  if (!orders[order].reserved) {
    if (bugs.has("order-assumed")) return; // nothing is reserved: the order was cancelled
    throw new Error("not reserved yet");
  }
  const charged = isCharged(order, retried);
  if (!charged) {
    await call(`${process.env.PAYMENTS_URL}/charges`, { order }, keyOf(order, retried));
    ledger.add(bugs.has("effect-before-lost-answer") ? `${order} ${retried}` : order);
  }
  if (charged && bugs.has("swallowed-error")) return; // also if the first attempt failed after the charge
  await publish("/receipt", order, { retries: 0, failureCallback: bugs.has("no-failure-callback") ? undefined : `${url}/unsent` });
});

handle("/receipt", async ({ order }) => {
  if (orders[order].receipt === "sent") return;
  await call(`${process.env.MAIL_URL}/receipts`, { order }, `receipt-${order}`);
  orders[order].receipt = "sent";
});

// A receipt that cannot be delivered is for a person.
handle("/unsent", ({ sourceBody }) => {
  const { order } = JSON.parse(Buffer.from(sourceBody, "base64").toString());
  if (orders[order].receipt !== "sent") orders[order].receipt = "for a person";
});

app.get("/test/state", (_, response) => response.json(orders));
app.post("/test/reset", (_, response) => {
  reset();
  response.end();
});
app.get("/test/check", (_, response) => {
  const forgotten = Object.keys(orders).find((order) => orders[order].receipt === "none");
  response.status(forgotten ? 500 : 200).end(forgotten && `order ${forgotten} has no receipt, and nobody knows it`);
});

reset();
const server = app.listen(process.env.PORT ?? 3000, "127.0.0.1", () => {
  url = `http://127.0.0.1:${server.address().port}`;
});
