// The published limiter against the stand-in, as it is.
import assert from "node:assert/strict";
import { Analytics } from "@upstash/core-analytics";
import { Ratelimit } from "@upstash/ratelimit";
import { Redis } from "@upstash/redis";
import { test, token, url } from "./store.mjs";

const redis = new Redis({ url, token });

// A window of a day: no test runs past its end, but at midnight.
const algorithms = {
  "fixed window": Ratelimit.fixedWindow(3, "1 d"),
  "sliding window": Ratelimit.slidingWindow(3, "1 d"),
  "token bucket": Ratelimit.tokenBucket(2, "1 d", 3),
};

const make = (limiter, name) =>
  new Ratelimit({ redis, limiter, prefix: `limit:${process.pid}:${name}`, ephemeralCache: false, analytics: true });

for (const [name, limiter] of Object.entries(algorithms)) {
  test(`${name}: 3 pass, the fourth does not`, async () => {
    const limit = make(limiter, name);
    const seen = [];
    for (let i = 0; i < 4; i++) {
      const answer = await limit.limit("me");
      await answer.pending;
      seen.push([answer.success, answer.remaining, answer.limit]);
      assert.equal(answer.reason, undefined);
      assert.ok(answer.reset > Date.now());
    }
    assert.deepEqual(seen, [[true, 2, 3], [true, 1, 3], [true, 0, 3], [false, 0, 3]]);
    assert.equal((await limit.limit("somebody else")).success, true);
  });

  test(`${name}: what is left, and starting again`, async () => {
    const limit = make(limiter, `${name} again`);
    await limit.limit("me");
    assert.equal((await limit.getRemaining("me")).remaining, 2);
    await limit.resetUsedTokens("me");
    assert.equal((await limit.getRemaining("me")).remaining, 3);
  });

  test(`${name}: 20 at once never pass the limit`, async () => {
    const limit = make(limiter, `${name} at once`);
    const answers = await Promise.all(Array.from({ length: 20 }, () => limit.limit("me")));
    assert.equal(answers.filter((a) => a.success).length, 3);
  });
}

test("several tokens at once", async () => {
  const limit = make(algorithms["sliding window"], "rate");
  assert.equal((await limit.limit("me", { rate: 2 })).remaining, 1);
  assert.equal((await limit.limit("me", { rate: 2 })).success, false);
});

test("the reader of analytics reads what the limiter writes", async () => {
  const prefix = `limit:${process.pid}:analytics`;
  const limit = new Ratelimit({ redis, limiter: Ratelimit.fixedWindow(1, "1 d"), prefix, ephemeralCache: false, analytics: true });
  for (let i = 0; i < 3; i++) await (await limit.limit("me")).pending;
  assert.deepEqual(await readBy(prefix), { me: { success: 1, blocked: 2 } });
});

const readBy = (prefix) => new Analytics({ redis, prefix, window: "1h" }).getAllowedBlocked("events", 2);

test("the reader of analytics reads what the plugin writes", { skip: !process.env.PLUGIN_PREFIX && "no plugin has counted here" }, async () => {
  for (const prefix of [process.env.PLUGIN_PREFIX, `${process.env.PLUGIN_PREFIX}:ALL:*`]) {
    const [[who, counts]] = Object.entries(await readBy(prefix));
    assert.deepEqual([who.length > 0, counts], [true, { success: 1, blocked: 2 }], prefix);
    const top = await new Analytics({ redis, prefix, window: "1h" }).getMostAllowedBlocked("events", 2, 5);
    assert.deepEqual([top.allowed, top.ratelimited], [[{ identifier: who, count: 1 }], [{ identifier: who, count: 2 }]], prefix);
    const [bucket] = await new Analytics({ redis, prefix, window: "1h" }).aggregateBuckets("events", "identifier", 1);
    assert.equal(bucket.identifier[who], 3, prefix);
  }
});
