// The published store client against the stand-in, as it is.
import assert from "node:assert/strict";
import { Redis } from "@upstash/redis";
import { test, token, url } from "./store.mjs";

const redis = new Redis({ url, token, enableTelemetry: false });
const plain = new Redis({ url, token, responseEncoding: false, enableAutoPipelining: false });
const key = (name) => `store:${process.pid}:${name}`;

test("values come back as they went", async () => {
  await redis.set(key("text"), "grüße <&>");
  await redis.set(key("object"), { a: [1, null, true] });
  await redis.set(key("ok"), "OK");
  assert.equal(await redis.get(key("text")), "grüße <&>");
  assert.deepEqual(await redis.get(key("object")), { a: [1, null, true] });
  assert.equal(await redis.get(key("ok")), "OK");
  assert.equal(await redis.get(key("none")), null);
  assert.equal(await plain.get(key("text")), "grüße <&>");
});

test("numbers keep their digits", async () => {
  await redis.set(key("ms"), 1767225600123);
  assert.equal(await redis.incrby(key("ms"), 1), 1767225600124);
  assert.equal(await redis.pexpire(key("ms"), 60000), 1);
  assert.ok((await redis.pttl(key("ms"))) > 0);
});

test("commands of one tick are pipelined by themselves", async () => {
  const before = redis.pipelineCounter ?? 0;
  const answers = await Promise.all([redis.incr(key("n")), redis.incr(key("n")), redis.get(key("none")), redis.incr(key("n"))]);
  assert.deepEqual(answers, [1, 2, null, 3]);
  assert.ok((redis.pipelineCounter ?? 1) > before);
});

test("hashes, sets and sorted sets", async () => {
  await redis.hset(key("h"), { a: 1, b: "two" });
  assert.deepEqual(await redis.hgetall(key("h")), { a: 1, b: "two" });
  assert.deepEqual(await redis.hmget(key("h"), "a", "c"), { a: 1, c: null });
  await redis.sadd(key("s"), "x", "y");
  assert.deepEqual((await redis.smembers(key("s"))).sort(), ["x", "y"]);
  await redis.zincrby(key("z"), 2.5, "m");
  assert.deepEqual(await redis.zrange(key("z"), 0, -1, { withScores: true }), ["m", 2.5]);
  let cursor = "0";
  const found = [];
  do {
    const [next, keys] = await redis.scan(cursor, { match: key("*") });
    found.push(...keys);
    cursor = next;
  } while (cursor !== "0");
  assert.ok(found.includes(key("z")));
});

test("a transaction and a pipeline", async () => {
  const tx = redis.multi();
  tx.set(key("t"), 1).incr(key("t")).get(key("t"));
  assert.deepEqual(await tx.exec(), ["OK", 2, 2]);
  const p = redis.pipeline();
  p.get(key("t")).incr(key("text"));
  await assert.rejects(p.exec(), /not an integer/);
  const kept = redis.pipeline();
  kept.get(key("t")).incr(key("text"));
  const [first, second] = await kept.exec({ keepErrors: true });
  assert.equal(first.result, 2);
  assert.match(second.error, /not an integer/);
});

test("scripts by hash, and by text when the hash is unknown", async () => {
  const script = redis.createScript("#!lua flags=allow-key-locking\nreturn {KEYS[1], ARGV[1]}");
  assert.deepEqual(await script.exec([key("k")], ["a"]), [key("k"), "a"]);
  assert.deepEqual(await script.exec([key("k")], ["b"]), [key("k"), "b"]);
  await assert.rejects(redis.evalsha("f".repeat(40), [], []), /NOSCRIPT/);
});

test("errors are errors", async () => {
  await assert.rejects(plain.incr(key("text")), /ERR value is not an integer or out of range/);
  const stranger = new Redis({ url, token: "wrong", retry: false });
  await assert.rejects(stranger.get(key("text")), /WRONGPASS/);
});
