"""What a run of the suite needs and the interface document does not show: accounts,
groups, runs, pauses, indices, vectors, and the protocol of workflow endpoints.

These paths are never odd. They are beside the interface, under /_setup/ (the drivers
of the target file) or where workflow endpoints look for them.
"""

import json
import os
import urllib.parse

import names as naming
from api import Account
from service import Refused
from wire import Answer, Headers


class Setup:
    def __init__(self, odd, api):
        self.odd, self.api, self.names = odd, api, api.names

    def handle(self, request, areas):
        """The answer to a request of the set-up, or None where it is none."""
        prefix, brand = self.api.prefixes["base"], self.names.brand
        path = request.path
        if path.startswith("/_setup/"):
            operation = getattr(self, f"{request.method.lower()}_{path[len('/_setup/'):]}", None)
        elif "base" in areas and path.startswith(prefix + "/v2/"):
            operation = self.protocol(request, path[len(prefix) + len("/v2/"):], brand)
        else:
            return None
        if not operation:
            return None
        try:
            account = self.api.authenticate(request, "base")
            return Answer(200, json.dumps(operation(account, request, dict(request.query()))).encode())
        except Refused as e:
            return Answer(e.status, json.dumps({"error": e.text}).encode())
        except (AttributeError, KeyError, TypeError, ValueError) as e:
            return Answer(400, json.dumps({"error": f"{type(e).__name__}: {e}"}).encode())

    # Drivers.

    def put_account(self, account, request, query):
        made = Account(self.odd, query["name"], query.get("password") or "secret")
        self.api.accounts.append(made)
        return {
            "token": made.tokens["base"], "vectorToken": made.tokens["vector"], "userId": made.user,
            "managementUsername": made.user, "managementPassword": made.password,
        }

    def post_reset(self, account, request, query):
        account.service.forget()
        return {}

    def post_group(self, account, request, query):
        account.service.groups[query["name"]] = {"endpoints": [e["url"] for e in json.loads(request.body)], "headers": {}}
        return {}

    def post_pause(self, account, request, query):
        account.service.key(query["key"]).clear()
        return {}

    def post_run(self, account, request, query):
        headers = [(n, v) for n, v in request.header.pairs if n.lower().startswith(self.names.brand.lower() + "-")]
        run = account.workflows.trigger(query["workflow"], headers, request.body, request.peer)
        return {"run": {"id": run.id}}

    def post_cancel(self, account, request, query):
        account.workflows.cancel(query["run"])
        return {}

    def post_index(self, account, request, query):
        name = account.service.new_id("index")
        account.service.indices[name] = query["name"]
        return {"id": name}

    def get_index(self, account, request, query):
        if query["id"] not in account.service.indices:
            raise Refused(404, "index not found")
        return {}

    def post_vectors(self, account, request, query):
        account.vector.add(query["namespace"], len(json.loads(request.body)))
        return {}

    # The protocol of workflow endpoints.

    def protocol(self, request, path, brand):
        operation, _, rest = path.partition("/")
        rest = rest if operation == "publish" else urllib.parse.unquote(rest)
        header = request.header
        if request.method == "POST" and operation == "batch":
            return lambda account, request, query: self.batch(account, json.loads(request.body))
        if operation == "publish" and header(brand + "-Workflow-RunId") and header(brand + "-Workflow-Invoke") == "true":
            return lambda account, request, query: account.workflows.invoke(rest, header, request.body, request.peer)
        if operation == "publish" and header(brand + "-Workflow-RunId"):
            return lambda account, request, query: account.workflows.submit(rest, header, request.body)
        if request.method == "POST" and operation == "wait":
            return lambda account, request, query: account.workflows.wait(rest, header, request.body)
        if request.method == "POST" and operation == "notify":
            return lambda account, request, query: account.workflows.notify(rest, request.body)
        if request.method == "DELETE" and path.startswith("workflows/runs/"):
            return lambda account, request, query: account.workflows.succeed(rest.removeprefix("runs/"), request.body)
        return None

    def batch(self, account, items):
        for item in items:
            account.workflows.submit(item["destination"], Headers(list(item["headers"].items())), item["body"].encode())
        return [{"messageId": "x"} for _ in items]

    # The target file.

    def write_target(self, path, addresses, side):
        """Fills in the template beside this file; every value is quoted as JSON, which is YAML too."""
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "target.yaml.tmpl")) as f:
            text = f.read()
        account, names = self.api.accounts[0], self.names
        values = {
            "SETUP": side, "BRAND": names.brand, "DELAY": "{n}" if self.odd.delay_form == "seconds" else "{n}s",
            "TOKEN": account.tokens["base"], "VECTOR_TOKEN": account.tokens["vector"], "USER": account.user, "PASSWORD": account.password,
            "RPS": str(self.odd.rps or 500),
            "FLOW_1": '{"most": 10}' if self.odd.flow_form == "json" else "most 10", "FLOW_2": '{"most": 2, "per": "1s"}' if self.odd.flow_form == "json" else "most 2, 1s",
            "PARALLEL": "48" if self.odd.slow else "16",  # a slow server waits, a quick one computes
            "SETTLE": f"{20 + int(self.odd.late_logs) * 2}s",
        }
        values.update({area.upper(): address for area, address in addresses.items()})
        for table, group in (("DLQ", names.dlq_filters), ("LOG", names.log_filters), ("HEADER", {m: names.header(m) for m in naming.HEADERS}),
                             ("DLQ_FIELD", names.dlq_fields), ("LOG_FIELD", names.log_fields), ("STEP_FIELD", names.step_fields)):
            values.update({f"{table}.{meaning}": name for meaning, name in group.items()})
        for name, value in values.items():
            text = text.replace(f"<{name}>", json.dumps(value)[1:-1])
        with open(path, "w") as f:
            f.write(text)
