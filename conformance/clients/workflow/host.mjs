// A plain Node host for workflows, and the little that tests need of the
// stand-in's control API.
import http from "node:http";
import { serve, createWorkflow, serveMany } from "@upstash/workflow/cloudflare";

export const base = process.env.UNDERSTUDY_URL;
export { createWorkflow };

// host serves { path: routeFunction | { route, options } | workflows } on a
// free port, and plain handlers (request, body) => [status, text, headers?].
export async function host(workflows, plain = {}) {
  const calls = {};
  const handlers = {};
  for (const [path, w] of Object.entries(workflows)) {
    if (w.many) handlers[path] = serveMany(w.many, w.options);
    else handlers[path] = serve(w.route ?? w, w.options);
  }
  const server = http.createServer(async (req, res) => {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const path = new URL(req.url, "http://h").pathname;
    calls[path] = (calls[path] ?? 0) + 1;
    try {
      if (plain[path]) {
        const [status, text, headers] = await plain[path](req, body);
        res.writeHead(status, headers).end(text);
        return;
      }
      const found = Object.keys(handlers).find((p) => path === p || path.startsWith(p + "/"));
      if (!found) return void res.writeHead(404).end("route not found");
      const request = new Request(`http://${req.headers.host}${req.url}`, {
        method: req.method,
        headers: Object.entries(req.headers).flatMap(([k, v]) => [].concat(v).map((x) => [k, x])),
        body: req.method === "GET" ? undefined : body,
      });
      const response = await handlers[found].fetch(request, process.env);
      res.writeHead(response.status, Object.fromEntries(response.headers)).end(Buffer.from(await response.arrayBuffer()));
    } catch (error) {
      res.writeHead(500).end(String(error));
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${server.address().port}`;
  return { url, calls, close: () => new Promise((closed) => server.close(closed).closeAllConnections()) };
}

async function control(method, path, body) {
  const response = await fetch(`${base}/_understudy/${path}`, { method, body: body && JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

export const advance = (by) => control("POST", "clock/advance", { by });
export const settle = () => control("POST", "settle", { timeout: "20s" });
export const setClock = (mode) => control("PUT", "clock", { mode });
export const reset = async () => {
  await control("POST", "reset"); // the clock as well is as it was
  await setClock("manual");
};

// api calls the interface itself, for what the client does not wrap.
export async function api(method, path, body, headers = {}) {
  const response = await fetch(base + path, {
    method,
    headers: { Authorization: `Bearer ${process.env.UNDERSTUDY_TOKEN}`, ...headers },
    body,
  });
  const text = await response.text();
  return { status: response.status, body: text ? JSON.parse(text) : undefined };
}

// run reads the run view of one run.
export async function run(id) {
  const { body } = await api("GET", `/v2/workflows/events?groupBy=workflowRunId&workflowRunId=${id}`);
  return body.runs[0];
}

export async function states(id) {
  const { body } = await api("GET", `/v2/workflows/messageLogs?workflowRunId=${id}`);
  return body.events.map((e) => e.state).reverse();
}
