// Every call of the helper, for the compiler: tsc --strict. It is not run.
import { startUnderstudy, type Condition, type Delivery, type Exchange, type Explanation, type Options, type Progress, type Understudy, UnderstudyError } from "understudy-mock";

const options: Options = { clock: "manual", seed: 7, dialect: "svc", port: 0, controlToken: "secret", strictOptions: true, rewrite: { "https://app.test": "http://127.0.0.1:3000" }, maxBody: "2MiB" };

export async function everything(): Promise<void> {
  await using understudy: Understudy = await startUnderstudy(options);
  const url: string = understudy.url + understudy.token + understudy.env.UNDERSTUDY_URL + understudy.pid;
  const progress: Progress = await understudy.advance("24h");
  await understudy.advance({ until: "idle", timeout: "5s" });
  await understudy.stub("https://app.test/*", 503, { status: 200, body: url, delay: "3s" });
  await understudy.stub({ url: "https://app.test/*", method: "POST", answers: [{ fail: "timeout" }], perMessage: true });
  const deliveries: Delivery[] = await understudy.deliveries({ messageId: "msg_1", status: 200 });
  const header: string | undefined = deliveries[0]?.request.headers?.["Content-Type"]?.[0];
  const requests: Exchange[] = await understudy.requests({ refused: true });
  const awaited: Delivery[] = await understudy.await({ on: "deliveries", count: 2, advance: "24h" });
  const asked: Exchange[] = await understudy.await({ on: "requests", operation: "publishMessage" });
  const [event] = await understudy.await({ on: "events", state: "DELIVERED" });
  const condition: Condition<"events"> = { on: "events", workflowRunId: "wfr_1" };
  const explanation: Explanation = await understudy.explain(awaited[0]!.messageId);
  const rows = [...(await understudy.messages({ state: "FAILED" })).map((m) => m.messageId), ...(await understudy.dlq()).map((d) => d.cause)];
  await understudy.settle();
  await understudy.reset();
  const health: unknown = await understudy.control("GET", "health");
  const { mode } = await understudy.clock();
  const status: number | undefined = new UnderstudyError("no answer").status;
  void [mode, status, understudy.log, progress.attempts, header, requests, asked, event?.time, condition, explanation.reasons[0]?.until, rows, health];

  // @ts-expect-error: an option that does not exist
  await startUnderstudy({ clok: "manual" });
  // @ts-expect-error: a clock that does not exist
  await startUnderstudy({ clock: "slow" });
  // @ts-expect-error: a field that no delivery has
  void deliveries[0]?.destination;
  // @ts-expect-error: a filter that deliveries do not have
  await understudy.deliveries({ state: "FAILED" });
  // @ts-expect-error: a condition that does not exist
  await understudy.await({ on: "deliveries", id: "msg_1" });
}
