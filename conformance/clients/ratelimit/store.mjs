// Where the store is. A server without one says nothing of it in its environment:
// then there is nothing to test, which is a failure in continuous integration.
import { test as always } from "node:test";

export const url = process.env.UPSTASH_REDIS_REST_URL;
export const token = process.env.UPSTASH_REDIS_REST_TOKEN;

const absent = "SKIPPED: the server has no key-value store";
if (!url) console.error(absent);
export const test = url || process.env.CI === "true" ? always : (name) => always(name, { skip: absent });
