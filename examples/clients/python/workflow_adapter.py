"""An adapter for upstash-workflow of PyPI: the suite that judges clients drives the package through it.

    pip install -r requirements.txt && understudy conform --client 'python3 workflow_adapter.py'

It converts names only. What the package does not do, it does not do either.
"""

import json, logging, platform, sys, threading
from importlib.metadata import version

from flask import Flask
from qstash import QStash, Receiver
from qstash.errors import QStashError
from upstash_workflow.flask import Serve
from werkzeug.serving import make_server

logging.getLogger("werkzeug").disabled = True
trace = []


def traced(name, result):
    trace.append(name)
    return result


def steps(context):
    x = context.run("one", lambda: traced("one", context.request_payload))
    context.run("two", lambda: traced("two", x))


def sleep(context):
    context.sleep("nap", 90)
    context.sleep_until("until", context.request_payload["until"])


def call(context):
    p = context.request_payload
    answer = context.call("call", **{name: p[name] for name in ("url", "method", "body", "headers", "retries") if name in p})
    context.run("answered", lambda: [answer.status, answer.body, answer.header])


def fail(context):
    def one():
        trace.append("one")
        if context.request_payload.get("how") == "error":
            raise RuntimeError(context.request_payload["message"])

    context.run("one", one)


def early(context):
    return None


WORKFLOWS = {"steps": steps, "guarded": steps, "sleep": sleep, "call": call, "fail": fail, "early": early}
servers = []


def failed(context, status, response, headers):
    trace.append("failure")


def serve(client, workflow, current=None, next=None, url=None):
    app = Flask(workflow)
    retry = client.get("retry") and {"retries": client["retry"]["repeats"], "backoff": lambda _: client["retry"]["delay_ms"]}
    options = {
        "qstash_client": QStash(client.get("token"), base_url=client.get("url"), retry=retry), "env": {}, "url": url,
        "receiver": None if current is None else Receiver(current, next), "failure_function": failed if workflow == "guarded" else None,
    }
    Serve(app).route(f"/{workflow}", **options)(WORKFLOWS[workflow])
    servers.append(make_server("127.0.0.1", 0, app, threaded=True))
    threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
    return {"url": f"http://127.0.0.1:{servers[-1].server_port}/{workflow}"}


HELLO = {
    "protocol": 1, "name": "upstash-workflow (PyPI)", "version": version("upstash-workflow"), "language": f"Python {platform.python_version()}", "dialect": "upstash",
    "operations": ["serve", "trace"], "options": [],
    "features": ["base_url", "path_prefix", "retry", "tls", "plain", "lazy_fetch", "detect_trigger", "public_url", *(f"step.{w}" for w in ("run", "sleep", "call", "fail:error", "early", "guarded"))],
    "depends": [f"{name} {version(name)}" for name in ("qstash", "PyJWT", "flask")],
}


def answer(op, client={}, args={}, times=1, **_):
    if op == "hello":
        return HELLO
    try:
        if op == "trace":
            return {"result": [trace.pop(0) for _ in range(len(trace))]}
        return {"result": serve(client, **args)} if op == "serve" else {"unsupported": f"operation {op}"}
    except Exception as e:
        return {"error": {"class": type(e).__name__, "library": isinstance(e, QStashError), "message": str(e)}}


sys.stdout.reconfigure(line_buffering=True)
for line in sys.stdin:
    call_ = json.loads(line)
    print("\x1e" + json.dumps({"id": call_["id"], **answer(**call_)}))
