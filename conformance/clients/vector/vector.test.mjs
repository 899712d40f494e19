// The published vector client against the stand-in, as it is. The server has
// three indexes (docs, words, both), a manual clock, and a lag of two seconds.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { Index } from "@upstash/vector";

const env = process.env;
const open = (name) => new Index({ url: env[`UNDERSTUDY_VECTOR_${name}_URL`], token: env[`UNDERSTUDY_VECTOR_${name}_TOKEN`] });
const docs = open("DOCS");

async function control(method, path, body) {
  const r = await fetch(`${env.UNDERSTUDY_URL}/_understudy/${path}`, { method, headers: { "content-type": "application/json" }, body: body && JSON.stringify(body) });
  assert.equal(r.status, 200, await r.clone().text());
  return r.json();
}
const advance = (by) => control("POST", "clock/advance", { by });

beforeEach(() => control("POST", "reset"));

test("the URL of the environment opens the first index", async () => {
  const index = new Index({ url: env.UPSTASH_VECTOR_REST_URL, token: env.UPSTASH_VECTOR_REST_TOKEN });
  assert.equal((await index.info()).dimension, 3);
});

test("a change is pending for the lag, and then ready", async () => {
  assert.equal(await docs.upsert({ id: "a", vector: [1, 0, 0], metadata: { n: 1 } }), "Success");
  let info = await docs.info();
  assert.deepEqual([info.vectorCount, info.pendingVectorCount], [0, 1]);
  assert.equal(info.similarityFunction, "COSINE");
  assert.equal(info.denseIndex.dimension, 3);
  await advance("1999ms");
  assert.equal((await docs.info()).pendingVectorCount, 1);
  await advance("1ms");
  info = await docs.info();
  assert.deepEqual([info.vectorCount, info.pendingVectorCount], [1, 0]);
  assert.ok(info.indexSize > 0);
  assert.deepEqual(info.namespaces[""], { vectorCount: 1, pendingVectorCount: 0 });
});

test("query finds the nearest first, exactly", async () => {
  await docs.upsert([
    { id: "x", vector: [1, 0, 0], metadata: { name: "x" }, data: "ex" },
    { id: "y", vector: [0, 1, 0] },
    { id: "xy", vector: [1, 1, 0] },
    { id: "-x", vector: [-1, 0, 0] },
  ]);
  await advance("2s");
  const found = await docs.query({ vector: [1, 0, 0], topK: 3, includeMetadata: true, includeData: true, includeVectors: true });
  assert.deepEqual(found.map((v) => v.id), ["x", "xy", "y"]);
  assert.equal(found[0].score, 1);
  assert.ok(Math.abs(found[1].score - (1 + Math.SQRT1_2) / 2) < 1e-6);
  assert.equal(found[2].score, 0.5);
  assert.deepEqual([found[0].metadata, found[0].data, found[0].vector], [{ name: "x" }, "ex", [1, 0, 0]]);
});

test("fetch, update, range, delete, reset", async () => {
  await docs.upsert(["a", "b", "c", "d", "e"].map((id, i) => ({ id, vector: [1, i, 0], metadata: { i } })));
  await advance("2s");
  const [a, none] = await docs.fetch(["a", "none"], { includeMetadata: true });
  assert.deepEqual([a.metadata, none], [{ i: 0 }, null]);
  assert.deepEqual(await docs.update({ id: "a", metadata: { i: 9 } }), { updated: 1 });
  assert.deepEqual((await docs.fetch(["a"], { includeMetadata: true }))[0].metadata, { i: 9 });
  const seen = [];
  for (let cursor = "0"; ; ) {
    const page = await docs.range({ cursor, limit: 2 });
    seen.push(...page.vectors.map((v) => v.id));
    if (!page.nextCursor) break;
    cursor = page.nextCursor;
  }
  assert.deepEqual(seen.toSorted(), ["a", "b", "c", "d", "e"]);
  assert.deepEqual(await docs.delete(["a", "b", "none"]), { deleted: 2 });
  assert.equal((await docs.fetch(["a"]))[0], null);
  assert.equal(await docs.reset(), "Success");
  assert.equal((await docs.info()).vectorCount, 0);
});

test("namespaces are apart, and exist from their first upsert", async () => {
  const eu = docs.namespace("eu");
  await eu.upsert({ id: "a", vector: [0, 0, 1] });
  await advance("2s");
  assert.deepEqual((await docs.listNamespaces()).toSorted(), ["", "eu"]);
  assert.deepEqual(await docs.query({ vector: [0, 0, 1], topK: 5 }), []);
  assert.deepEqual((await eu.query({ vector: [0, 0, 1], topK: 5 })).map((v) => v.id), ["a"]);
  const info = await docs.info();
  assert.equal(info.vectorCount, 1);
  assert.deepEqual(info.namespaces.eu, { vectorCount: 1, pendingVectorCount: 0 });
  await docs.deleteNamespace("eu");
  assert.deepEqual(await docs.listNamespaces(), [""]);
});

test("filters on metadata", async () => {
  const cities = { tokyo: { continent: "Asia", people: 14, tags: ["sea", "rail"] }, paris: { continent: "Europe", people: 2, mayor: { name: "A" } }, none: undefined };
  await docs.upsert(Object.entries(cities).map(([id, metadata], i) => ({ id, vector: [1, i, 0], metadata })));
  await advance("2s");
  const found = async (filter) => (await docs.query({ vector: [1, 0, 0], topK: 5, filter })).map((v) => v.id);
  assert.deepEqual(await found("people > 2 OR mayor.name = 'A'"), ["tokyo", "paris"]);
  assert.deepEqual(await found("continent GLOB 'As*' AND tags CONTAINS \"sea\""), ["tokyo"]);
  assert.deepEqual(await found("HAS NOT FIELD people"), []);
  await assert.rejects(found("people >"), /filter/);
  assert.deepEqual(await docs.delete({ filter: "people <= 2" }), { deleted: 1 });
  assert.deepEqual(await found(undefined), ["tokyo", "none"]);
});

test("sparse and hybrid indexes", async () => {
  const words = open("WORDS"), both = open("BOTH");
  await words.upsert([
    { id: "a", sparseVector: { indices: [1, 7], values: [0.5, 0.5] } },
    { id: "b", sparseVector: { indices: [2], values: [1] } },
  ]);
  await both.upsert({ id: "h", vector: [1, 0], sparseVector: { indices: [3], values: [2] } });
  await advance("2s");
  assert.deepEqual((await words.query({ sparseVector: { indices: [7], values: [2] }, topK: 5 })).map((v) => [v.id, v.score]), [["a", 1]]);
  assert.equal((await words.info()).indexType, "SPARSE");
  const info = await both.info();
  assert.equal(info.indexType, "HYBRID");
  assert.equal(info.similarityFunction, "DOT_PRODUCT");
  assert.deepEqual((await both.query({ vector: [1, 0], sparseVector: { indices: [3], values: [1] }, topK: 1 })).map((v) => v.id), ["h"]);
});

const ids = (found) => found.map((v) => v.id);

test("a hybrid index takes a query with one of its two parts", async () => {
  const both = open("BOTH");
  await both.upsert([
    { id: "h", vector: [1, 0], sparseVector: { indices: [3], values: [2] } },
    { id: "i", vector: [0, 1], sparseVector: { indices: [4], values: [2] } },
  ]);
  await advance("2s");
  assert.deepEqual(ids(await both.query({ vector: [0, 1], topK: 2 })), ["i", "h"]);
  assert.deepEqual(ids(await both.query({ sparseVector: { indices: [4], values: [1] }, topK: 2 })), ["i"]);
  const many = await both.queryMany([{ vector: [1, 0], topK: 1 }, { sparseVector: { indices: [4], values: [1] }, topK: 1 }]);
  assert.deepEqual(many.map(ids), [["h"], ["i"]]);
});

test("fused scores are those of the service", async () => {
  const both = open("BOTH");
  await both.upsert([
    { id: "a", vector: [1, 0], sparseVector: { indices: [1], values: [3] } },
    { id: "b", vector: [2, 0], sparseVector: { indices: [1], values: [2] } },
    { id: "c", vector: [3, 0], sparseVector: { indices: [1, 2], values: [1, 1] } },
  ]);
  await advance("2s");
  const [first] = await both.query({ vector: [1, 0], sparseVector: { indices: [1], values: [1] }, topK: 1 });
  assert.ok(Math.abs(first.score - (1 / 60 + 1 / 62)) < 1e-7, `score ${first.score}`);
  const [dense] = await both.query({ vector: [1, 0], topK: 1 });
  assert.deepEqual([dense.id, dense.score], ["c", 2]); // (1 + 3) / 2: not fused
  const [sparse] = await both.query({ sparseVector: { indices: [1, 2], values: [0.5, 0.5] }, topK: 1, weightingStrategy: "IDF", fusionAlgorithm: "DBSF" });
  assert.equal(sparse.id, "c");
  assert.ok(Math.abs(sparse.score - 0.5 * (Math.log(1 + 0.5 / 3.5) + Math.log(1 + 2.5 / 1.5))) < 1e-6, `score ${sparse.score}`);
});

test("values of an index that is there twice add up", async () => {
  const words = open("WORDS");
  await words.upsert({ id: "a", sparseVector: { indices: [7, 2, 7], values: [1, 5, 2] } });
  await advance("2s");
  const [a] = await words.fetch(["a"], { includeVectors: true });
  assert.deepEqual(a.sparseVector, { indices: [7, 2], values: [3, 5] });
  assert.equal((await words.query({ sparseVector: { indices: [7, 7], values: [1, 1] }, topK: 1 }))[0].score, 6);
});

test("IDF weights what is rare higher", async () => {
  const words = open("WORDS");
  await words.upsert([
    { id: "rare", sparseVector: { indices: [1, 2], values: [1, 1] } },
    ...["b", "c", "d"].map((id) => ({ id, sparseVector: { indices: [2], values: [1] } })),
    { id: "e", sparseVector: { indices: [9], values: [1] } },
  ]);
  await advance("2s");
  const [first] = await words.query({ sparseVector: { indices: [1], values: [2] }, topK: 1, weightingStrategy: "IDF" });
  assert.equal(first.id, "rare");
  assert.ok(Math.abs(first.score - 2 * Math.log(1 + (5 - 1 + 0.5) / (1 + 0.5))) < 1e-5, `score ${first.score}`);
});

test("a resumable query continues where it was, in a namespace too", async () => {
  for (const space of [docs, docs.namespace("eu")]) {
    await space.upsert(["a", "b", "c", "d", "e"].map((id, i) => ({ id, vector: [1, i, 0], metadata: { i } })));
    await advance("2s");
    const { result, fetchNext, stop } = await space.resumableQuery({ vector: [1, 0, 0], topK: 2, maxIdle: 60, includeMetadata: true });
    assert.deepEqual(result.map((v) => [v.id, v.metadata.i]), [["a", 0], ["b", 1]]);
    assert.deepEqual((await fetchNext(2)).map((v) => [v.id, v.metadata.i, v.vector]), [["c", 2, undefined], ["d", 3, undefined]]);
    assert.deepEqual(ids(await fetchNext(5)), ["e"]);
    assert.deepEqual(await fetchNext(5), []);
    assert.equal(await stop(), "Success");
    await assert.rejects(async () => fetchNext(1));
  }
});

test("a resumable query ends when it is idle for too long", async () => {
  const { fetchNext } = await docs.resumableQuery({ vector: [1, 0, 0], topK: 2, maxIdle: 60 });
  await advance("60s");
  assert.deepEqual(await fetchNext(1), []);
  await advance("61s");
  await assert.rejects(fetchNext(1), /not found/);
});

test("texts become vectors by hashing, in each kind of index", async () => {
  for (const name of ["TEXT", "WORDS", "BOTH"]) {
    const index = open(name);
    await index.upsert([
      { id: "cat", data: "A cat sleeps on the warm roof", metadata: { n: 1 } },
      { id: "tax", data: "Quarterly tax reports are due in April" },
    ]);
    await advance("2s");
    const found = await index.query({ data: "where does the cat sleep?", topK: 1, includeData: true, includeMetadata: true });
    assert.deepEqual(found.map((v) => [v.id, v.data, v.metadata]), [["cat", "A cat sleeps on the warm roof", { n: 1 }]], name);
    const { result, stop } = await index.resumableQuery({ data: "tax reports", topK: 1, maxIdle: 60 });
    assert.deepEqual(ids(result), ["tax"], name);
    await stop();
  }
  assert.match((await open("TEXT").info()).denseIndex.embeddingModel, /TEST/);
});

test("what does not fit is refused and stores nothing", async () => {
  await assert.rejects(docs.upsert([{ id: "ok", vector: [1, 0, 0] }, { id: "bad", vector: [1, 0] }]), /dimension/i);
  await assert.rejects(docs.upsert({ id: "bad", vector: [1, 0, 1e39] }), /vector/i);
  await assert.rejects(docs.upsert({ id: "bad", vector: [1, 0, Number.NaN] }), /vector|null/i);
  await advance("2s");
  assert.equal((await docs.info()).vectorCount, 0);
  await assert.rejects(new Index({ url: env.UNDERSTUDY_VECTOR_WORDS_URL, token: env.UNDERSTUDY_VECTOR_DOCS_TOKEN }).info(), /Unauthorized/);
  await assert.rejects(new Index({ url: env.UNDERSTUDY_VECTOR_DOCS_URL, token: "wrong" }).info(), /Unauthorized/);
  await assert.rejects(new Index({ url: `${env.UNDERSTUDY_VECTOR_URL}/index/none`, token: env.UNDERSTUDY_VECTOR_DOCS_TOKEN }).info(), /none/);
});
