// explore(): the scenario is a function, with the published client.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Client } from "@upstash/qstash";
import { explore, ExploreError } from "understudy-mock";

// checkout is a scenario: an application charges an order that is published to it.
const checkout = (charges) => async (c) => {
  const client = new Client({ baseUrl: c.env.QSTASH_URL, token: c.env.QSTASH_TOKEN });
  const charged = new Set();
  const app = http.createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    try {
      await charges(c, JSON.parse(body).order, charged);
    } catch {
      response.statusCode = 502; // the delivery is repeated
    }
    response.end();
  });
  await new Promise((listening) => app.listen(0, "127.0.0.1", listening));
  c.cleanup(() => new Promise((closed) => app.close(closed) && app.closeAllConnections()));
  c.state(() => [...charged]);
  const url = `http://127.0.0.1:${app.address().port}/charge`;
  await c.do(() => client.publishJSON({ url, body: { order: 1 }, deduplicationId: "1" }));
  await c.advance("1d");
};

const charge = async (c, order, key) => {
  const answer = await fetch(`${c.outside("payments")}/charges`, { method: "POST", headers: key ? { "Idempotency-Key": key } : {}, body: JSON.stringify({ order }) });
  if (!answer.ok) throw new Error(`payments answered ${answer.status}`);
};
const twice = async (c, order, charged) => {
  await charge(c, order);
  charged.add(order);
};
const once = async (c, order, charged) => {
  await charge(c, order, `${order}`);
  charged.add(order);
};

test("a handler that charges again is found", async () => {
  await assert.rejects(explore({ outside: { payments: { answer: { status: 201 } } }, depth: 1 }, checkout(twice)), (error) => {
    assert.ok(error instanceof ExploreError);
    assert.match(error.message, /duplicated effect: payments POST \/charges \{order:1\}, 2 instead of 1/);
    assert.ok(error.findings.some((one) => /=lost-answer$/.test(one.case)));
    return true;
  });
});

test("a case is shown again by its name", async () => {
  const all = await explore({ depth: 1 }, checkout(twice)).catch((error) => error);
  await assert.rejects(explore({ case: all.findings[0].case }, checkout(twice)), (error) => error.findings.length === 1);
});

test("the replay file of a finding is written", async () => {
  const out = mkdtempSync(join(tmpdir(), "explore-"));
  const { findings } = await explore({ depth: 1, faults: ["lost-answer"], out }, checkout(twice)).catch((error) => error);
  assert.match(readFileSync(findings[0].replay, "utf8"), /"kind":"outcome"/);
});

test("nothing is found in a handler that charges once", async () => {
  const { findings, summary } = await explore({}, checkout(once));
  assert.deepEqual(findings, []);
  assert.match(summary, /^all \d+ single faults, all \d+ pairs; 0 findings/);
});

test("a scenario that fails without a fault says why", async () => {
  await assert.rejects(
    explore({}, async () => {
      throw new Error("no database");
    }),
    /the scenario fails without a fault: no database/,
  );
});

test("an application that is not reset is noticed", async () => {
  let cases = 0;
  await assert.rejects(
    explore({ depth: 1 }, async (c) => {
      cases++;
      await checkout(once)(c);
      c.state(() => (cases > 5 ? "later" : "first"));
    }),
    /the reset of the application is not complete/,
  );
});

test("wrong options are named", async () => {
  await assert.rejects(explore({ depth: 9 }, checkout(once)), /--depth: invalid value 9/);
  await assert.rejects(explore({ faults: ["lost"] }, checkout(once)), /faults: unknown fault "lost"/);
});
