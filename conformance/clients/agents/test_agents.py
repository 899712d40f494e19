"""The tools for coding agents, with the Python SDK of the Model Context Protocol: over stdio with
`understudy mcp`, and over HTTP. A session that knows nothing finds a planted failure."""

import base64
import json
import os
import unittest

from mcp import Client, StdioServerParameters

URL = os.environ["UNDERSTUDY_URL"]
STACK = "TypeError: Cannot read properties of undefined (reading 'price')\n    at total (/app/src/cart.js:41:18)"

# A call of each tool, in an order that works. @name is an id from an earlier answer.
CALLS = [
    ("clock", {"mode": "manual"}),
    ("stub", {"url": "https://agents.test/*", "answers": [{"status": 500, "body": STACK}]}),
    ("publish", {"destination": "https://agents.test/cart", "body": {"items": 2}, "retries": 1}),
    ("settle", {}),
    ("deliver_now", {"messageId": "@messageId"}),
    ("settle", {}),
    ("overview", {}),
    ("list", {"kind": "dlq"}),
    ("why", {"id": "@messageId"}),
    ("get", {"id": "@messageId"}),
    ("deliveries", {"messageId": "@messageId"}),
    ("body", {"kind": "messages", "id": "@messageId"}),
    ("search", {"q": "cart"}),
    ("wait", {"on": "events", "messageId": "@messageId", "state": "FAILED"}),
    ("retry", {"dlqId": "@dlqId"}),
    ("cancel", {"id": "@messageId"}),
    ("trigger", {"workflowUrl": "https://agents.test/flow", "options": {"Retries": "0"}}),
    ("settle", {}),
    ("resume", {"id": "@workflowRunId"}),
    ("settle", {}),
    ("restart", {"id": "@workflowRunId"}),
    ("notify", {"eventId": "paid", "data": {"ok": True}}),
    ("advance", {"by": "1h"}),
    ("fault", {"on": "delivery", "drop": True, "times": 1}),
    ("clear", {"kind": "faults"}),
    ("snapshot", {"label": "before reset"}),
    ("reset", {}),
    ("restore", {"id": "@id"}),
    ("docs_search", {"query": "manual clock"}),
    ("docs_read", {"page": "testing-python"}),
    ("explain_error", {"text": "header Upstash-Delay: invalid value \"soon\": must be a duration"}),
]


def find(value, name):
    """The first member with a name, at any depth."""
    if isinstance(value, dict):
        if isinstance(value.get(name), str):
            return value[name]
        value = list(value.values())
    if isinstance(value, list):
        for member in value:
            found = find(member, name)
            if found:
                return found
    return None


class Agents(unittest.IsolatedAsyncioTestCase):
    def ways(self):
        yield "stdio", StdioServerParameters(command=os.environ["UNDERSTUDY_BINARY"], args=["mcp", "--url", URL])
        yield "http", URL + "/_understudy/mcp"

    async def call(self, client, name, arguments):
        result = await client.call_tool(name, arguments)
        self.assertFalse(result.is_error, (name, arguments, result.content))
        self.assertLessEqual(len(result.content[0].text.encode()), 20_000)
        return json.loads(result.content[0].text)

    async def test_every_tool(self):
        for way, server in self.ways():
            with self.subTest(way):
                async with Client(server) as client:
                    known, called = {}, set()
                    for name, arguments in CALLS:
                        called.add(name)
                        arguments = {k: known.get(v[1:], v) if isinstance(v, str) and v.startswith("@") else v for k, v in arguments.items()}
                        answer = await self.call(client, name, arguments)
                        for key in ("messageId", "workflowRunId", "dlqId", "id"):
                            known[key] = find(answer.get("result"), key) or known.get(key)
                    self.assertEqual(called, {tool.name for tool in (await client.list_tools()).tools})
                    await self.call(client, "reset", {})

    async def test_a_planted_failure_in_six_calls(self):
        for way, server in self.ways():
            with self.subTest(way):
                async with Client(server) as client:
                    await self.call(client, "reset", {})
                    await self.call(client, "stub", {"url": "https://agents.test/*", "answers": [{"status": 500, "body": STACK}]})
                    await self.call(client, "trigger", {"workflowUrl": "https://agents.test/checkout", "body": {"items": []}, "options": {"Retries": "0"}})
                    await self.call(client, "settle", {})

                    overview = await self.call(client, "overview", {})
                    self.assertEqual(overview["result"]["runs"], {"RUN_FAILED": 1})
                    runs = await self.call(client, "list", {"kind": "runs", "state": "RUN_FAILED"})
                    why = await self.call(client, "why", {"id": find(runs, "workflowRunId")})
                    self.assertIn("/app/src/cart.js:41:18", why["result"]["failure"]["stack"]["text"])
                    deliveries = await self.call(client, "deliveries", {"messageId": why["result"]["failure"]["messageId"]})
                    sent = json.loads(find(deliveries, "body"))[0]["body"]
                    self.assertEqual(base64.b64decode(sent), b'{"items":[]}')
                    await self.call(client, "reset", {})

    async def test_read_only(self):
        params = StdioServerParameters(command=os.environ["UNDERSTUDY_BINARY"], args=["mcp", "--url", URL, "--read-only"])
        for server in (params, URL + "/_understudy/mcp?read-only=true"):
            async with Client(server) as client:
                for tool in (await client.list_tools()).tools:
                    self.assertTrue(tool.annotations.read_only_hint, tool.name)

    async def test_resources_and_prompts(self):
        async with Client(URL + "/_understudy/mcp") as client:
            names = {resource.name for resource in (await client.list_resources()).resources}
            self.assertIn("interface", names)
            page = await client.read_resource("understudy://docs/testing-python")
            self.assertIn("# ", page.contents[0].text)
            prompt = await client.get_prompt("debug-run", {"id": "wfr_1"})
            self.assertIn("wfr_1", prompt.messages[0].content.text)


if __name__ == "__main__":
    unittest.main()
