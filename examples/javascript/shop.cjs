// The application under test: a shop that takes orders from a queue. It verifies
// each delivery with the client's Receiver, and answers with `status`.
const http = require("node:http");
const { Client, Receiver } = require("@upstash/qstash");

async function startShop(env) {
  const client = new Client({ baseUrl: env.QSTASH_URL, token: env.QSTASH_TOKEN });
  const receiver = new Receiver({ currentSigningKey: env.QSTASH_CURRENT_SIGNING_KEY, nextSigningKey: env.QSTASH_NEXT_SIGNING_KEY });
  const shop = { orders: [], status: 200, client };
  const server = http.createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    try {
      await receiver.verify({ signature: request.headers["upstash-signature"], body, url: shop.url });
      shop.orders.push(JSON.parse(body).order);
      response.writeHead(shop.status).end();
    } catch (error) {
      response.writeHead(401).end(String(error));
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  shop.url = `http://127.0.0.1:${server.address().port}/orders`;
  shop.order = async (number, options) => (await client.publishJSON({ url: shop.url, body: { order: number }, ...options })).messageId;
  shop.stop = () => new Promise((closed) => server.close(closed));
  return shop;
}

module.exports = { startShop };
