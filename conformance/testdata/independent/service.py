"""The service itself: messages, groups, logs, the dead letter queue, keys, counts.

Written from the interface document alone.
"""

import asyncio
import base64
import hashlib
import json
import secrets
import time
import traceback

import names as naming
import wire
from encode import Map

HOP_BY_HOP = {"host", "connection", "content-length", "transfer-encoding", "keep-alive", "te", "trailer", "upgrade", "expect"}


class Refused(Exception):
    """An error answer: a status and a text."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status, self.text = status, text


class Message:
    """One request to be delivered, and how."""

    def __init__(self, service, method, url, headers, body, config, caller, step=None):
        self.id = service.new_id("msg")
        self.method, self.url, self.headers, self.body = method, url, headers, body
        self.config, self.caller, self.step = config, caller, step
        self.created = service.now_ms()
        self.not_before = self.created + int(config.delay * 1000)
        self.retries, self.content = config.retries, None  # content makes the body at each attempt


class Config:
    """Delay, retries, timeout, callbacks and flow control of a message."""

    def __init__(self, names, get, delay_form, flow_form):
        self.delay = duration(get(names.brand + "-Delay"), delay_form, 0.0)
        self.retries = _count(get(names.brand + "-Retries"), 3)
        self.timeout = duration(get(names.header("timeout")), delay_form, 30.0)
        self.callback = get(names.header("callback"))
        self.failure_callback = get(names.header("failure_callback"))
        self.flow_key = get(names.header("flow_key"))
        self.flow_value = flow_value(get(names.brand + "-Flow-Control-Value"), flow_form)
        self.label = get(names.header("label"))


def _count(text, default):
    if text is None:
        return default
    if not text.isdigit():
        raise Refused(400, f"not a count: {text}")
    return int(text)


def duration(text, form, default):
    if text is None:
        return default
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
    try:
        if form != "units" and text.replace(".", "", 1).isdigit():
            return float(text)
        unit = next(u for u in units if text.endswith(u) and text[:-len(u)].isdigit())
        if form != "seconds":
            return int(text[:-len(unit)]) * units[unit]
    except StopIteration:
        pass
    raise Refused(400, f"not a duration: {text}")


def flow_value(text, form):
    """Checks the flow-control values of a message; their syntax is open."""
    if text is not None and form == "json":
        try:
            if not isinstance(json.loads(text), dict):
                raise ValueError
        except ValueError:
            raise Refused(400, f"flow-control values are a JSON object, not {text}")
    return text


class Service:
    def __init__(self, odd):
        self.odd, self.names, self.client = odd, naming.Names(odd), wire.Client(odd)
        self.counter, self.deliveries, self.tasks = 0, 0, set()
        self.groups, self.keys, self.indices = {}, {}, {}
        self.logs, self.dlq = [], []
        self.burials = 0  # of all time: entries keep their places when others leave
        self.counts = {"requests": [], "delivered": [], "workflow_message": [], "workflow_run": [], "canceled": [], "bytes": []}

    def forget(self):
        """Forgets logs, entries, groups and indices; statistics stay."""
        for store in (self.logs, self.dlq, self.groups, self.indices):
            store.clear()

    # Time and identifiers.

    def now(self):
        now = time.time() + self.odd.clock_skew
        return float(int(now)) if self.odd.coarse_clock else now

    def now_ms(self):
        return int(self.now() * 1000)

    def new_id(self, kind):
        self.counter += 1
        unique, form = secrets.token_hex(8), self.odd.ids
        return {
            None: f"{kind}_{unique}",
            "marks": f"{kind}:{unique}~.-_=@+$!*'(),;",
            "wild": f"{kind} {unique}/%2F%é\"&?#",
            "digits": str(10**17 + self.counter),
            "prefixes": f"{self.counter:b}",
            "long": f"{kind}_{unique * 20}",
        }[form]

    def spawn(self, coroutine):
        task = asyncio.create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.ended)
        return task

    def ended(self, task):
        self.tasks.discard(task)
        if not task.cancelled() and task.exception():
            traceback.print_exception(task.exception())

    def count(self, what, amount=1):
        self.counts[what].append((self.now(), amount))

    # Publish.

    def publish(self, method, destination, headers, query, body, caller):
        """Messages for a URL or for each endpoint of a group."""
        brand = self.names.brand.lower() + "-"
        headers = headers + [(name, value) for name, value in query if name.startswith(brand)]
        if "://" in destination:
            urls = [destination]
        elif destination in self.groups:
            group = self.groups[destination]
            given = {name.lower() for name, _ in headers}
            headers = headers + [(n, v) for n, vs in group["headers"].items() if n.lower() not in given for v in vs]
            urls = list(group["endpoints"])
        else:
            raise Refused(404, f"destination not found: {destination}")

        def get(name):
            return next((v for n, v in headers if n.lower() == name.lower()), None)

        config = Config(self.names, get, self.odd.delay_form, self.odd.flow_form)
        config.delay += self.odd.late_delivery
        forwarded = self.forwarded(headers, (get(self.names.brand + "-Header-Forward") or "").lower() == "true")
        messages = [Message(self, method, url, forwarded, body, config, caller) for url in urls]
        for message in messages:
            self.count("requests")
            self.count("bytes", len(body))
            self.spawn(self.process(message))
        return messages

    def forwarded(self, headers, everything):
        """The headers that reach the destination: those with the prefix, or all incoming ones."""
        prefix = (self.names.brand + "-Forward-").lower()
        chosen = []
        for name, value in headers:
            if name.lower().startswith(prefix):
                chosen.append((name[len(prefix):], value))
            elif everything and name.lower() not in HOP_BY_HOP:
                chosen.append((name, value))
        if self.odd.join_headers:
            joined = {}
            for name, value in chosen:
                key = name.lower()
                joined[key] = (name, joined[key][1] + ", " + value) if key in joined else (name, value)
            chosen = list(joined.values())
        return chosen

    # Delivery.

    async def process(self, message):
        """Delivers a message until an answer of 2xx or the end of its retries; True if it went well."""
        wait = message.not_before - self.now_ms()
        if wait > 0:
            await asyncio.sleep(wait / 1000)
        last = None
        for attempt in range(message.retries + 1):
            if attempt:
                await asyncio.sleep(self.odd.backoff)
            await self.gate(message.config.flow_key)
            last = await self.deliver(message)
            if last and 200 <= last[0] < 300:
                self.count("delivered")
                if message.step:
                    self.log("DELIVERED", message.step.run, message)
                elif message.config.callback:
                    self.spawn(self.call_back(message.config.callback, message, last))
                return True, last
            if message.step:
                self.log("ERROR", message.step.run, message, answer=last, failed=True)
        if message.config.failure_callback and not message.step:
            self.spawn(self.call_back(message.config.failure_callback, message, last))
        return False, last

    async def gate(self, key):
        """Waits while the flow-control key is paused."""
        if key is not None:
            await self.key(key).wait()

    def key(self, name):
        """The gate of a flow-control key, open unless it was paused."""
        if name not in self.keys:
            self.keys[name] = asyncio.Event()
            self.keys[name].set()
        return self.keys[name]

    async def deliver(self, message):
        headers = list(message.headers)
        if self.odd.deliver_headers:
            headers += [(self.names.brand + "-Message-Id", message.id.encode("ascii", "replace").decode()), ("User-Agent", "independent/1"), ("X-Attempt-Of", "one")]
        body = message.content() if message.content else message.body
        answer = await self.client.send(message.method, message.url, headers, body, message.config.timeout)
        if answer and 200 <= answer[0] < 300:
            self.deliveries += 1
            if self.odd.duplicates and self.deliveries % self.odd.duplicates == 0:  # as after an answer that was lost
                self.spawn(self.client.send(message.method, message.url, headers, body, message.config.timeout))
        return answer

    async def call_back(self, url, message, last):
        """Reports to a callback address how a message ended."""
        body = json.dumps({"messageId": message.id, "status": last[0] if last else 0, "body": base64.b64encode(last[2] if last else b"").decode()}).encode()
        return await self.client.send("POST", url, [("Content-Type", "application/json")], body, 30)

    # Groups, keys and indices.

    def set_default_headers(self, name, body):
        if name not in self.groups:
            raise Refused(404, f"group not found: {name}")
        headers = body.get("headers") if isinstance(body, dict) else None
        if not isinstance(headers, dict):
            raise Refused(400, "headers must be an object")
        values = {}
        for header, value in headers.items():
            several = value if isinstance(value, list) else [value]
            if not all(isinstance(v, str) for v in several):
                raise Refused(400, f"the value of {header} must be a string or an array of strings")
            values[header] = several
        group = self.groups[name]
        group["headers"] = {**group["headers"], **values} if self.odd.merge_group else values

    def resume(self, key):
        if key not in self.keys:
            raise Refused(404, f"no such key: {key}")
        self.keys[key].set()

    def delete_index(self, name):
        if self.indices.pop(name, None) is None and not self.odd.delete_unknown:
            raise Refused(404, f"index not found: {name}")

    # The dead letter queue.

    def bury(self, run, message, last):
        """Moves a failed run to the DLQ."""
        entry = {"id": self.new_id("dlq"), "run": run, "message": message, "last": last, "callback": None, "buried": time.monotonic(), "number": self.burials}
        self.burials += 1
        self.dlq.append(entry)
        return entry

    # Logs and the DLQ as they are read.

    def log(self, state, run, message=None, answer=None, failed=False):
        at = self.now_ms()
        if self.odd.same_time and (state == "RUN_STARTED" or state == "CREATED" and message.step.kind == "Initial"):
            at = run.created
        self.logs.append({"number": len(self.logs), "state": state, "run": run, "message": message, "answer": answer, "failed": failed, "time": at, "written": time.monotonic()})

    def header_map(self, pairs):
        out = Map()
        for name, value in pairs:
            name = name.lower() if self.odd.lower_names else name
            known = next((n for n in out if n.lower() == name.lower()), name)
            if known in out and self.odd.join_headers:
                out[known] = [out[known][0] + ", " + value]
            else:
                out.setdefault(known, []).append(value)
        return out

    def unnamed(self, fields, values):
        """Values described without a property name; null or absent where they are not set."""
        return {fields[m]: v for m, v in values.items() if v is not None or self.odd.null_values}

    def event(self, log):
        run, message, answer = log["run"], log["message"], log["answer"]
        out = {"time": log["time"], "state": log["state"], "workflowRunId": run.id, "workflowUrl": run.url, "workflowCreatedAt": run.created}
        values = dict.fromkeys(naming.LOG_FIELDS)
        if message:
            step = message.step
            out["stepInfo"] = {
                "stepName": step.name, "stepType": step.kind, "callType": step.call_type,
                "messageId": message.id, "concurrent": step.concurrent, "createdAt": message.created,
                **self.unnamed(self.names.step_fields, {**dict.fromkeys(naming.STEP_FIELDS), **step.values}),
            }
        if log["state"] == "CREATED":
            out["nextDeliveryTime"] = message.not_before
        if log["failed"]:
            values["headers"] = self.header_map(message.headers)
            values["error"] = f"answered {answer[0]}" if answer else "no answer"
            if answer:
                values.update(status=answer[0], body=answer[2].decode("utf-8", "replace"), response_headers=self.header_map(answer[1]))
        if log["state"] == "RUN_STARTED" and run.invoked_by:
            parent = run.invoked_by[0]
            values.update(invoker_run=parent.id, invoker_created=parent.created, invoker_url=parent.url)
        if log["state"] == "RUN_SUCCESS":
            values["run_response"] = answer[2].decode("utf-8", "replace")
        out.update(self.unnamed(self.names.log_fields, values))
        return out

    def dlq_entry(self, entry):
        run, message, last, callback = entry["run"], entry["message"], entry["last"], entry["callback"]
        out = {
            "dlqId": entry["id"], "messageId": message.id, "url": message.url, "method": message.method,
            "header": self.header_map(run.headers), "maxRetries": run.config.retries, "notBefore": message.not_before,
            "createdAt": message.created, "callerIP": run.caller, "workflowRunId": run.id,
            "workflowCreatedAt": run.created, "workflowUrl": run.url,
        }
        values = dict.fromkeys(naming.DLQ_FIELDS)
        values["payload"], values["payload_base64"] = _text_or_base64(run.body)
        values.update(flow_key=run.config.flow_key, label=run.config.label)
        if run.config.failure_callback:
            out["failureCallback"] = run.config.failure_callback
            values["callback_headers"] = self.header_map([("Content-Type", "application/json")])
        if last:
            text, values["response_base64"] = _text_or_base64(last[2])
            out.update(responseStatus=last[0], responseHeader=self.header_map(last[1]))
            if text is not None:
                out["responseBody"] = text
        elif self.odd.no_response_fields:
            out.update(responseStatus=0, responseHeader=Map(), responseBody="")
        if callback:
            out["failureCallbackInfo"] = self.callback_info(callback[0])
        out.update(self.unnamed(self.names.dlq_fields, values))
        return out

    def callback_info(self, answer):
        status = answer[0] if answer else 0
        state = "CALLBACK_SUCCESS" if 200 <= status < 300 else self.odd.callback_state or "CALLBACK_FAILED"
        return {
            "state": state, "responseStatus": status,
            "responseBody": answer[2].decode("utf-8", "replace") if answer else "",
            "responseHeaders": self.header_map(answer[1]) if answer else Map(),
        }

    def read_logs(self, query):
        names = self.names.log_filters

        fits = _filter(query, names, {
            "run": lambda log: log["run"].id, "url": lambda log: log["run"].url,
            "created": lambda log: str(log["run"].created), "state": lambda log: log["state"],
            "message": lambda log: log["message"].id if log["message"] else None,
        }, lambda log: log["time"])

        ready = time.monotonic() - self.odd.late_logs
        found = [(log["number"], log) for log in self.logs if log["written"] <= ready and fits(log)]
        page, cursor = self.page(found, query, names, 1000)
        if cursor is None and self.odd.empty_end:
            cursor = ""
        return self.listing("events", [self.event(log) for log in page], cursor)

    def read_dlq(self, query):
        names = self.names.dlq_filters

        fits = _filter(query, names, {
            "run": lambda entry: entry["run"].id, "url": lambda entry: entry["run"].url,
            "status": lambda entry: str(entry["last"][0]) if entry["last"] else None,
            "ip": lambda entry: entry["run"].caller, "label": lambda entry: entry["run"].config.label,
            "callback": lambda entry: self.callback_info(entry["callback"][0])["state"] if entry["callback"] else None,
        }, lambda entry: entry["message"].created)

        ready = time.monotonic() - self.odd.late_dlq
        found = [(entry["number"], entry) for entry in self.dlq if entry["buried"] <= ready and fits(entry)]
        page, cursor = self.page(found, query, names, 100)
        return self.listing("messages", [self.dlq_entry(entry) for entry in page], cursor)

    def listing(self, name, items, cursor):
        return {name: items} if cursor is None else {"cursor": cursor, name: items}

    def page(self, found, query, names, most):
        """A page in the order of the list, and the cursor of the next one."""
        size = _count(query.get(names["size"]), most)
        if not 1 <= size <= most:
            raise Refused(400, f"the page size is 1 to {most}")
        if self.odd.short_pages:
            size = max(1, size - size // 3)

        def rank(item):
            if self.odd.order == "oldest":
                return f"{item[0]:012d}"
            if self.odd.order == "shuffled":
                return hashlib.sha1(str(item[0]).encode()).hexdigest()
            return f"{10**12 - 1 - item[0]:012d}"

        ranked = sorted(((rank(item), item[1]) for item in found), key=lambda r: r[0])
        after = query.get(names["cursor"])
        if after is None and self.odd.empty_pages and found:
            return [], self.cursor("")
        if after is not None:
            start = self.position(after)
            ranked = [r for r in ranked if r[0] > start]
        page = ranked[:size]
        return [r[1] for r in page], self.cursor(page[-1][0]) if len(ranked) > size else None

    def cursor(self, position):
        return f"c+/={position}&% é" if self.odd.odd_cursors else f"c{position}"

    def position(self, cursor):
        head, tail = ("c+/=", "&% é") if self.odd.odd_cursors else ("c", "")
        if not (cursor.startswith(head) and cursor.endswith(tail)):
            raise Refused(400, f"not a cursor: {cursor}")
        return cursor[len(head):len(cursor) - len(tail)]


def _filter(query, names, values, time_of):
    """A function that says whether an item has the value of every filter that is asked for."""
    asked = [(value, query[names[meaning]]) for meaning, value in values.items() if query.get(names[meaning]) is not None]
    times = []
    for meaning, sign in (("from", 1), ("to", -1)):
        bound = query.get(names[meaning])
        if bound is not None:
            if not bound.isdigit():
                raise Refused(400, f"not a time in ms: {bound}")
            times.append((sign, int(bound)))
    return lambda item: (
        all(value(item) == wanted for value, wanted in asked)
        and all(sign * (time_of(item) - bound) >= 0 for sign, bound in times)
    )


def _text_or_base64(body):
    try:
        return body.decode(), None
    except UnicodeDecodeError:
        return None, base64.b64encode(body).decode()
