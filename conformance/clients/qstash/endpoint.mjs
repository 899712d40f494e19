// A plain Node endpoint that keeps what arrives, and the little that tests need
// of the stand-in's control API.
import http from "node:http";

export const base = process.env.UNDERSTUDY_URL;
if (!base) throw new Error("UNDERSTUDY_URL is not set: run these tests by `make verify`, or under `understudy run --dialect upstash -- npm test`");

// endpoint listens on a free port. answer(request) gives [status, body, headers];
// without one it answers 200.
export async function endpoint(answer = () => [200, "ok"]) {
  const arrived = [];
  const server = http.createServer(async (req, res) => {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const request = { method: req.method, path: req.url, headers: req.headers, body: Buffer.concat(chunks).toString() };
    arrived.push(request);
    const [status, body, headers] = answer(request);
    res.writeHead(status, headers).end(body);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    arrived,
    url: `http://127.0.0.1:${server.address().port}`,
    on: (path) => arrived.filter((r) => r.path === path),
    close: () => new Promise((closed) => server.close(closed).closeAllConnections()),
  };
}

async function control(method, path, body) {
  const response = await fetch(`${base}/_understudy/${path}`, { method, body: body && JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

export const advance = (by) => control("POST", "clock/advance", { by });
export const settle = () => control("POST", "settle", { timeout: "20s" });
export const reset = async () => {
  await control("POST", "reset"); // the clock as well is as it was
  await setClock("manual");
};
export const setClock = (mode) => control("PUT", "clock", { mode });

// decoded is what a callback carries in base64.
export const decoded = (text) => Buffer.from(text, "base64").toString();
