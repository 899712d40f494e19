// A shop that sends its orders to itself through the messaging service:
// POST /orders publishes, POST /fulfil receives, GET /orders shows.
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const { QSTASH_URL, QSTASH_TOKEN, QSTASH_CURRENT_SIGNING_KEY, SHOP_URL } = process.env;
const fulfilled = [];

// signed reports whether a signature, a JWT signed with HS256, is that of a body.
function signed(signature, body) {
  const [header, claims, mac] = String(signature).split(".");
  const wanted = createHmac("sha256", QSTASH_CURRENT_SIGNING_KEY).update(`${header}.${claims}`).digest();
  const given = Buffer.from(mac ?? "", "base64url");
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return false;
  const { sub, exp, body: digest } = JSON.parse(Buffer.from(claims, "base64url"));
  return sub === `${SHOP_URL}/fulfil` && exp * 1000 > Date.now() &&
    Buffer.from(digest, "base64url").equals(createHash("sha256").update(body).digest());
}

const routes = {
  "POST /orders": async (_, body) => {
    const answer = await fetch(`${QSTASH_URL}/v2/publish/${SHOP_URL}/fulfil`, {
      method: "POST",
      headers: { Authorization: `Bearer ${QSTASH_TOKEN}`, "Content-Type": "application/json", "Upstash-Retries": "3" },
      body,
    });
    return [answer.status, await answer.json()];
  },
  "POST /fulfil": async (request, body) => {
    if (!signed(request.headers["upstash-signature"], body)) return [401, { error: "wrong signature" }];
    fulfilled.push(JSON.parse(body));
    return [200, { ok: true }];
  },
  "GET /orders": async () => [200, fulfilled],
};

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const route = routes[`${request.method} ${request.url}`] ?? (async () => [404, { error: "not found" }]);
  const [status, answer] = await route(request, Buffer.concat(chunks)).catch((error) => [502, { error: String(error) }]);
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
});
server.listen(Number(process.env.PORT), () => console.log(`listening on port ${server.address().port}`));
process.on("SIGTERM", () => server.close(() => process.exit(0)));
