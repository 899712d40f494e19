"""An adapter for qstash of PyPI: the suite that judges clients drives the package through it.

    pip install -r requirements.txt && understudy conform --client 'python3 qstash_adapter.py'

It converts names only. What the package does not do, it does not do either.
"""

import base64, dataclasses, enum, json, platform, re, sys
from importlib.metadata import version

from qstash import QStash, Receiver
from qstash.errors import QStashError
from qstash.log import LogState

sys.stdout.reconfigure(line_buffering=True)  # what the package prints stays in its order
FILTERS = {
    "messageId": "message_id", "topicName": "url_group", "queueName": "queue", "scheduleId": "schedule_id", "fromDate": "from_time", "toDate": "to_time",
    "responseStatus": "response_status", "callerIp": "caller_ip",
}
MESSAGES = "@publish,publish.json,batch,batch.json"
OPTIONS = [
    "method", "headers:single", "retries", "retry_delay", "timeout", "callback", "failure_callback", "label:string", "redact", "schedule_id", "queue",
    "delay" + MESSAGES + ",schedule.create", "flow_control" + MESSAGES + ",schedule.create", "not_before" + MESSAGES, "deduplication_id" + MESSAGES + ",enqueue,enqueue.json",
    "content_based_deduplication" + MESSAGES + ",enqueue,enqueue.json", "filters:" + ",".join([*FILTERS, "url", "state", "label"]),
]
# Attributes of results whose names are not those of the interface in snake case.
ATTRIBUTES = {
    "url_group": "topicName", "endpoint": "endpointName", "queue": "queueName", "caller_ip": "callerIP", "headers": "header", "response_headers": "responseHeader",
    "callback_headers": "callbackHeader", "failure_callback_headers": "failureCallbackHeader", "logs": "events", "key": "flowControlKey",
}
clients = {}


def client_of(c):
    key = json.dumps(c, sort_keys=True)
    if key not in clients:
        retry = c.get("retry") and {"retries": c["retry"]["repeats"], "backoff": lambda _: c["retry"]["delay_ms"]}
        clients[key] = QStash(c.get("token"), retry=retry, base_url=c.get("url"))
    return clients[key]


def body_of(body):
    if body is None or "json" in body:
        return {} if body is None else {"body": body["json"]}
    return {"body": body["text"] if "text" in body else base64.b64decode(body["base64"])}


def message_of(a, **more):
    m = {**body_of(a.get("body")), **a.get("options", {}), **more}
    m.update({name: a["destination"][key] for key, name in (("url", "url"), ("group", "url_group")) if key in a.get("destination", {})})
    m.update({name: a[name] for name in ("method", "queue") if name in a})
    for name, value in a.get("headers", []):
        if name.lower() == "content-type" and "json" not in a.get("body", {}):
            m["content_type"] = value
        elif name in m.setdefault("headers", {}):
            raise NotImplementedError("a header with several values")
        else:
            m["headers"][name] = value
    return m


def schedule_of(a):
    m = message_of(a, cron=a["cron"])
    m["destination"] = m.pop("url", None) or m.pop("url_group")
    return m


def page_of(a):
    filters = {FILTERS.get(k, k): LogState(v) if k == "state" else v for k, v in a.get("filters", {}).items()}
    return {"filter": filters, **{name: a[name] for name in ("cursor", "count") if name in a}}


OPERATIONS = {
    "publish": lambda c, a: c.message.publish(**a), "publish.json": lambda c, a: c.message.publish_json(**a),
    "enqueue": lambda c, a: c.message.enqueue(**a), "enqueue.json": lambda c, a: c.message.enqueue_json(**a),
    "batch": lambda c, a: c.message.batch(a), "batch.json": lambda c, a: c.message.batch_json(a),
    "schedule.create": lambda c, a: {"scheduleId": c.schedule.create(**a)},
    "schedule.list": lambda c, a: c.schedule.list(), "queue.list": lambda c, a: c.queue.list(), "group.list": lambda c, a: c.url_group.list(),
    "message.get": lambda c, a: c.message.get(a["messageId"]), "message.cancel": lambda c, a: c.message.cancel(a["messageId"]),
    "message.cancel_many": lambda c, a: {"cancelled": c.message.cancel_many(a["messageIds"])}, "message.cancel_all": lambda c, a: c.message.cancel_all(),
    "queue.upsert": lambda c, a: c.queue.upsert(**a),
    "group.add": lambda c, a: c.url_group.upsert_endpoints(a["group"], a["endpoints"]),
    "group.remove": lambda c, a: c.url_group.remove_endpoints(a["group"], a["endpoints"]),
    "dlq.list": lambda c, a: c.dlq.list(**a),
    "dlq.get": lambda c, a: c.dlq.get(a["dlqId"]), "dlq.delete": lambda c, a: c.dlq.delete(a["dlqId"]),
    "dlq.delete_many": lambda c, a: {"deleted": c.dlq.delete_many(a["dlqIds"])},
    "event.list": lambda c, a: c.log.list(**a),
    "key.get": lambda c, a: c.signing_key.get(), "key.rotate": lambda c, a: c.signing_key.rotate(),
    "flow.pin": lambda c, a: c.flow_control.pin(a["key"], {k: v for k, v in a.items() if k != "key"}),
    "flow.unpin": lambda c, a: c.flow_control.unpin(a["key"], {k: v for k, v in a.items() if k != "key"}),
    "flow.reset": lambda c, a: c.flow_control.reset_rate(a["key"]),
    **{f"schedule.{verb}": lambda c, a, v=verb: getattr(c.schedule, v)(a["scheduleId"]) for verb in ("get", "delete", "pause", "resume")},
    **{f"queue.{verb}": lambda c, a, v=verb: getattr(c.queue, v)(a["queue"]) for verb in ("get", "delete", "pause", "resume")},
    **{f"group.{verb}": lambda c, a, v=verb: getattr(c.url_group, v)(a["group"]) for verb in ("get", "delete")},
    **{f"flow.{verb}": lambda c, a, v=verb: getattr(c.flow_control, v)(a["key"]) for verb in ("get", "pause", "resume")},
}
CONVERTED = {  # operations whose arguments have other names or another form
    **dict.fromkeys(("publish", "publish.json", "enqueue", "enqueue.json"), message_of),
    **dict.fromkeys(("batch", "batch.json"), lambda a: [message_of(m) for m in a["messages"]]),
    **dict.fromkeys(("dlq.list", "event.list"), page_of),
    "schedule.create": schedule_of,
}


def plain(value):
    """A result with the names of the interface."""
    if dataclasses.is_dataclass(value):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        flow = value.pop("flow_control", None)
        if flow is not None:
            value.update({"flow_control_key": flow.key, "parallelism": flow.parallelism, "rate": flow.rate, "period": flow.period})
        return {ATTRIBUTES.get(k, re.sub("_(.)", lambda m: m[1].upper(), k)): plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, enum.Enum):
        return value.value
    return [plain(v) for v in value] if isinstance(value, list) else value


def verify(a):
    body = body_of(a.get("body")).get("body", "")
    Receiver(a["current"], a["next"]).verify(signature=a["signature"], body=body, url=a.get("url"), clock_tolerance=a.get("tolerance_s", 0))
    return {"valid": True}


HELLO = {
    "protocol": 1, "name": "qstash (PyPI)", "version": version("qstash"), "language": f"Python {platform.python_version()}", "dialect": "upstash",
    "operations": [*OPERATIONS, "verify"], "options": OPTIONS, "features": ["base_url", "path_prefix", "retry", "tls", "plain", "both_destinations", "bytes", "json.any", "tolerance", "error.rate_limit"],
    "sentinel": "dlq.list", "depends": [f"PyJWT {version('PyJWT')}"],
}


def answer(op, client={}, args={}, times=1, **_):
    if op not in HELLO["operations"]:
        return HELLO if op == "hello" else {"unsupported": f"operation {op}"}
    try:
        converted = CONVERTED.get(op, dict)(args)
    except NotImplementedError as e:
        return {"unsupported": str(e)}
    try:
        for _ in range(times):
            result = verify(args) if op == "verify" else OPERATIONS[op](client_of(client), converted)
        return {"result": plain(result)}
    except Exception as e:
        of = {name: getattr(e, name, None) for name in ("status", "limit", "remaining", "reset", "retry_after")}
        return {"error": {"class": type(e).__name__, "library": isinstance(e, QStashError), "message": str(e), **of}}


for line in sys.stdin:
    call = json.loads(line)
    print("\x1e" + json.dumps({"id": call["id"], **answer(**call)}))
