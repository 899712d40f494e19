// The payment provider is down for two hours, recovers, and the retries arrive in the right order.
//   understudy run --clock manual -- node --test examples/outage/outage.test.mjs
import assert from "node:assert/strict";
import { test } from "node:test";

const { UNDERSTUDY_URL: url, UNDERSTUDY_TOKEN: token } = process.env;

async function control(method, path, body) {
  const answer = await fetch(`${url}/_understudy/${path}`, { method, headers: { "content-type": "application/json" }, body: body && JSON.stringify(body) });
  assert.ok(answer.ok, await answer.clone().text());
  return answer.json();
}
const provider = (status) => control("PUT", "stubs", [{ url: "https://payments.test/*", answers: [{ status }] }]);
const advance = (by) => control("POST", "clock/advance", { by });

test("retries arrive in the right order after an outage", async () => {
  await provider(503);
  const started = performance.now();
  for (const order of ["one", "two", "three"]) {
    // What the application under test does:
    await fetch(`${url}/v2/publish/https://payments.test/charge`, { method: "POST", headers: { authorization: `Bearer ${token}`, "svc-retries": "5" }, body: order });
    await advance("1s");
  }
  await advance("2h");
  await provider(200); // it recovers
  await advance("5h");
  const { entries } = await control("GET", "deliveries");
  const arrived = entries.filter((d) => d.response.status === 200).map((d) => Buffer.from(d.request.body ?? "", "utf8").toString());
  assert.deepEqual(arrived, ["one", "two", "three"]);
  console.log(`seven hours in ${Math.round(performance.now() - started)} ms`);
});
