// Writes the answers of a running server as literals of the types that the helper
// declares for them, for the compiler: a missing or an unknown field is an error.
import { startUnderstudy } from "understudy-mock";

const u = await startUnderstudy({ controlToken: "secret", seed: 7 });
const publish = async (url, headers = {}) => {
  const response = await fetch(`${u.url}/v2/publish/${url}`, { method: "POST", headers: { Authorization: `Bearer ${u.token}`, ...headers }, body: "order" });
  return (await response.json()).messageId;
};

const answers = {};
const keep = (operation, answer) => (answers[operation] = answer);
await u.stub("https://app.test/*", 503, { status: 200, body: "\uD83D\uDCE6", headers: { "X-Kind": "text" } });
await u.stub("https://down.test/*", { fail: "refused" });
const messageId = await publish("https://app.test/order", { "Svc-Label": "order" });
await publish("https://down.test/order", { "Svc-Retries": "1", "Svc-Failure-Callback": "https://app.test/failed" });
await publish("https://app.test/order", { "Svc-Retries": "many" });
await u.control("POST", "settle", {});
keep("controlAdvance", await u.advance("24h"));
const call = async (operation, method, path, body) => keep(operation, await u.control(method, path, body));
await call("controlDeliveries", "GET", "deliveries?maxBody=2");
await call("controlRequests", "GET", "requests");
await call("controlMessages", "GET", "messages");
await call("controlDLQ", "GET", "dlq");
await call("controlLog", "GET", "log");
await call("controlHealth", "GET", "health");
await call("controlAccounts", "GET", "accounts");
const [account] = answers.controlAccounts.accounts;
await call("controlAccount", "GET", `accounts/${account}`);
await call("controlStubs", "GET", "stubs");
await call("controlClock", "GET", "clock");
await call("controlSetRewrites", "PUT", "rewrites", { "https://a.test": "http://127.0.0.1:1" });
await call("controlSetFaults", "PUT", "faults", [{ on: "delivery", delay: "3s", probability: 0.5 }]);
await call("controlExplain", "GET", `explain/${messageId}`);
await call("controlAwait", "POST", "await", { on: "deliveries", messageId });
await call("controlSchedules", "GET", "schedules");
await call("controlRuns", "GET", "runs");
await call("controlReset", "POST", "reset");

const missing = ["controlDeliveries", "controlRequests", "controlDLQ"].filter((id) => answers[id].entries.length === 0);
if (missing.length > 0 || answers.controlMessages.messages.length < 3) throw new Error(`no entries to compare: ${missing}`);
await u.stop();

console.log('import type { Operations } from "./node_modules/understudy-mock/index.js";');
for (const [operation, answer] of Object.entries(answers)) {
  console.log(`export const ${operation}: Operations["${operation}"]["response"] = ${JSON.stringify(answer, null, 1)};`);
}
