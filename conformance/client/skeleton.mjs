// The adapter of my client library: the suite that judges clients drives the library through it.
//
//   understudy conform --client 'node adapter.mjs'
//
// One JSON object per line on standard input, one answer per line on standard output. Convert names
// only: never repair, retry, validate or catch for the library.
import { createInterface } from "node:readline";
import { Client, AcmeError, Receiver, version } from "acme"; // FILL IN: your library

// What is absent in c must stay the default of the library.
const clientOf = (c) => new Client({ baseUrl: c.url, token: c.token });
const bodyOf = ({ body = {} }) => ("text" in body ? body.text : body.json);

const operations = { // see docs/conformance/judge-a-client.md for all names
  async publish(c, args) {
    const { delay } = args.options ?? {}; // only those that hello declares
    const result = await clientOf(c).publish({
      url: args.destination.url,
      body: bodyOf(args),
      headers: args.headers && Object.fromEntries(args.headers),
      delay,
    });
    return { messageId: result.messageId }; // the names of the interface document
  },
  async verify(_, args) {
    await new Receiver(args.current, args.next).verify({ signature: args.signature, body: args.body.text, url: args.url });
    return { valid: true }; // a refusal is the error that the library throws
  },
};

async function answer({ op, client, args, times }) {
  if (op === "hello") {
    return {
      protocol: 1, name: "acme", version, language: `Node ${process.versions.node}`,
      operations: Object.keys(operations), options: ["delay", "headers"], features: ["base_url"], sentinel: "publish",
    };
  }
  try {
    let result;
    for (let i = 0; i < times; i++) result = await operations[op](client, args);
    return { result };
  } catch (e) { // what the library throws is its answer
    return { error: { class: e.name, library: e instanceof AcmeError, message: e.message, status: e.status ?? null } };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const call = JSON.parse(line);
  process.stdout.write(`${JSON.stringify({ id: call.id, ...(await answer(call)) })}\n`);
}
