"""Workflow runs.

The interface document names runs, steps, their logs and the DLQ, and shows no word of
how the service and a workflow endpoint speak to each other. The suite brings workflow
endpoints that speak the protocol of published clients, so this file speaks it as well:
the endpoint is called with the payload and the finished steps, and hands in the next
ones. That protocol is a matter of the set-up; no oddity touches it.
"""

import asyncio
import base64
import json

from service import Config, Message, Refused, duration

DONE = "RUN_SUCCESS"


class Run:
    def __init__(self, service, run_id, url, headers, body, caller, invoked_by):
        names = service.names

        def get(name):
            return next((v for n, v in headers if n.lower() == name.lower()), None)

        self.config = Config(names, get, service.odd.delay_form, service.odd.flow_form)
        self.id, self.url, self.headers, self.body, self.caller = run_id or service.new_id("run"), url, headers, body, caller
        self.invoked_by = invoked_by  # (parent run, step) or None
        self.created = service.now_ms()
        self.over = False
        self.finished = []  # (message id, text) of the steps that are done
        self.submitted = set()  # what was handed in: a step that is handed in twice is one
        self.tasks = set()


class Step:
    """A step of a run as its logs tell it; values are those without a property name."""

    def __init__(self, run, name, kind, call_type="step", concurrent=1, values=None):
        self.run, self.name, self.kind, self.call_type, self.concurrent = run, name, kind, call_type, concurrent
        self.values = values or {}

    @classmethod
    def of(cls, run, item, call_type="step"):
        """A step from its JSON."""
        values = {"id": item.get("stepId") or item.get("targetStep"), "output": item.get("out")}
        if item.get("sleepFor"):
            values["sleep_for"] = item["sleepFor"] * 1000
        if item.get("sleepUntil"):
            values["sleep_until"] = item["sleepUntil"] * 1000
        return cls(run, item["stepName"], item["stepType"], call_type, item.get("concurrent", 1), values)


class Workflows:
    def __init__(self, service):
        self.service, self.names, self.odd = service, service.names, service.odd
        self.runs, self.waiters = {}, {}

    # Runs.

    def trigger(self, url, headers, body, caller, run_id=None, invoked_by=None):
        """Starts a run: a message for its first step is created."""
        run = Run(self.service, run_id, url, headers, body, caller, invoked_by)
        self.runs[run.id] = run
        self.service.count("workflow_run")
        self.service.count("requests")
        if not self.odd.same_time:
            self.service.log("RUN_STARTED", run)
        self.send(run, Step(run, "init", "Initial", values={"id": 0}))
        if self.odd.same_time:
            self.service.log("RUN_STARTED", run)
        return run

    def restart(self, dlq_id, header):
        """A new run of the original configuration and payload, with what the headers overwrite."""
        entry = next((e for e in self.service.dlq if e["id"] == dlq_id), None)
        if not entry:
            raise Refused(404, f"entry not found: {dlq_id}")
        brand, old = self.names.brand, entry["run"]
        replaced = {
            self.names.header("flow_key"): header(self.names.header("restart_flow_key")),
            brand + "-Flow-Control-Value": header(brand + "-Flow-Control-Value"),
            brand + "-Retries": header(self.names.header("restart_retries")),
        }
        replaced = {name: value for name, value in replaced.items() if value is not None}
        lowered = {name.lower() for name in replaced}
        headers = [(n, v) for n, v in old.headers if n.lower() not in lowered] + list(replaced.items())
        run = self.trigger(old.url, headers, old.body, old.caller, header(brand + "-Workflow-RunId"))
        if self.odd.restart_consumes:
            self.service.dlq.remove(entry)
        return run

    def cancel(self, run_id):
        run = self.running(run_id)
        self.end(run, "RUN_CANCELED")
        self.service.count("canceled")
        for task in list(run.tasks):
            task.cancel()

    def succeed(self, run_id, result):
        run = self.running(run_id)
        self.end(run, DONE, (200, [], result))
        self.tell_invoker(run, {"status": 200, "body": result.decode("utf-8", "replace")})

    def running(self, run_id):
        run = self.runs.get(run_id)
        if not run or run.over:
            raise Refused(404, f"run not found: {run_id}")
        return run

    def end(self, run, state, answer=None):
        run.over = True
        self.service.log(state, run, answer=answer)

    async def fail(self, run, message, last):
        """Ends a run as failed and moves it to the DLQ."""
        self.end(run, "RUN_FAILED")
        entry = self.service.bury(run, message, last)
        self.tell_invoker(run, {"status": 500, "body": "failed"})
        if run.config.failure_callback:
            entry["callback"] = (await self.service.call_back(run.config.failure_callback, message, last),)

    def tell_invoker(self, run, outcome):
        if run.invoked_by:
            parent, item, step = run.invoked_by
            if not parent.over:
                self.send(parent, step, {**item, "out": json.dumps(outcome)})

    # Messages of a run.

    def send(self, run, step, item=None, not_before=None, delay=0.0):
        """Calls the workflow with its payload and steps, the item last."""
        service = self.service
        message = Message(service, "POST", run.url, [], b"", run.config, run.caller, step)
        message.not_before = not_before or message.created + int(1000 * (delay if item else run.config.delay))
        text = json.dumps(item).encode() if item else None
        finishing = bool(item and item.get("stepId") and not item.get("targetStep"))

        def content():
            done = [(i, t) for i, t in run.finished if i != message.id]
            if finishing and len(done) == len(run.finished):
                run.finished.append((message.id, text))
            own = [(message.id, text)] if text else []
            listed = [("", run.body)] + done + own
            return json.dumps([{"messageId": i, "body": base64.b64encode(t).decode(), "callType": "step"} for i, t in listed]).encode()

        message.content = content
        message.headers = service.forwarded(run.headers, False) + [
            ("Content-Type", "application/json"),
            (self.names.brand + "-Workflow-RunId", run.id), (self.names.brand + "-Workflow-CreatedAt", str(run.created)),
        ]
        self.launch(message, run)
        return message

    def launch(self, message, run, then=None):
        self.service.count("workflow_message")
        self.service.log("CREATED", run, message)
        if self.odd.extra_states:
            self.service.log("QUEUED_FOR_DELIVERY", run, message)

        async def work():
            well, last = await self.service.process(message)
            if then:
                await then(last)
            elif not well and not run.over:
                await self.fail(run, message, last)

        task = self.service.spawn(work())
        run.tasks.add(task)
        task.add_done_callback(run.tasks.discard)

    # What a workflow endpoint hands in.

    def submit(self, destination, header, body):
        """A step that is done, one that is planned, or a call of a third party."""
        brand = self.names.brand
        run = self.running(header(brand + "-Workflow-RunId"))
        if header(brand + "-Workflow-CallType") == "toCallback":
            self.call(run, destination, header, body)
            return
        item = json.loads(body)
        identity = (item.get("stepId"), item.get("targetStep"))
        if identity in run.submitted:
            return
        run.submitted.add(identity)
        not_before = header(brand + "-Not-Before")
        self.send(
            run, Step.of(run, item), item,
            not_before=int(not_before) * 1000 if not_before else None, delay=duration(header(brand + "-Delay"), None, 0.0),
        )

    def call(self, run, destination, header, body):
        """Calls a third party, and the workflow with its answer."""
        brand = self.names.brand
        back = f"{brand}-callback-forward-".lower()
        prefix = f"{brand}-forward-".lower()
        returned = {n.lower()[len(back):]: v for n, v in header.pairs if n.lower().startswith(back)}
        own = f"{brand}-workflow-".lower()
        sent = [(n[len(prefix):], v) for n, v in header.pairs if n.lower().startswith(prefix)]
        identity = ("call", returned[own + "stepid"])
        if identity in run.submitted:
            return
        run.submitted.add(identity)
        values = {"id": int(returned[own + "stepid"]), "call_url": destination, "call_method": "POST", "call_body": body.decode(), "call_headers": dict(sent)}
        step = Step(run, returned[own + "stepname"], "Call", "toCallback", int(returned[own + "concurrent"]), values)
        message = Message(self.service, "POST", destination, sent, body, run.config, run.caller, step)
        message.not_before, message.retries = message.created, 0

        async def answered(last):
            status, headers, text = last or (0, [], b"")
            values.update(call_status=status, call_response_body=text.decode("utf-8", "replace"), call_response_headers=self.service.header_map(headers))
            outcome = {"status": status, "body": base64.b64encode(text).decode(), "header": self.service.header_map(headers)}
            headers = [(n, v) for n, v in returned.items()] + [("Content-Type", "application/json"), (brand + "-Workflow-RunId", run.id)]
            await self.service.client.send("POST", run.url, headers, json.dumps(outcome).encode(), 30)

        self.launch(message, run, answered)

    def invoke(self, destination, header, body, caller):
        """Starts another run, whose end is reported to this one."""
        asked = json.loads(body)
        parent, item = self.running(asked["workflowRunId"]), asked["step"]
        child = header(self.names.brand + "-Workflow-RunId")
        if child in self.runs:
            return
        step = Step.of(parent, item)
        run = self.trigger(destination, header.pairs, asked["body"].encode(), caller, child, (parent, item, step))
        step.values.update(invoke_run=run.id, invoke_url=run.url, invoke_created=run.created, invoke_body=asked["body"], invoke_headers=asked.get("headers"))
        self.service.log("INVOKED", parent)

    def wait(self, event, header, body):
        """Registers a waiter, which ends by a notification or its timeout."""
        asked = json.loads(body)
        run, item = self.running(header(self.names.brand + "-Workflow-RunId")), asked["step"]
        identity = ("wait", item["stepId"])
        if identity in run.submitted:
            return
        run.submitted.add(identity)
        seconds = duration(asked["timeout"], None, 0.0)
        step = Step.of(run, item)
        step.values.update(wait_event=event, wait_timeout=asked["timeout"], wait_deadline=self.service.now_ms() + int(1000 * seconds), wait_timed_out=False)
        waiter = (run, item, step)
        self.waiters.setdefault(event, []).append(waiter)
        self.service.log("WAITER_ADDED", run)

        async def time_out():
            await asyncio.sleep(seconds)
            if waiter in self.waiters[event]:
                self.waiters[event].remove(waiter)
                step.values["wait_timed_out"] = True
                self.send(run, step, {**item, "waitEventId": event, "waitTimeout": True})

        task = self.service.spawn(time_out())
        run.tasks.add(task)

    def notify(self, event, body):
        for run, item, step in self.waiters.pop(event, []):
            self.waiters[event] = []
            if not run.over:
                self.send(run, step, {**item, "waitEventId": event, "out": base64.b64encode(body).decode()})
