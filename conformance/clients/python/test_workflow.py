"""A Flask application with the published workflow client: steps, sleep, call."""

import os
import threading
import unittest

from flask import Flask, request
from qstash import QStash
from upstash_workflow.flask import Serve
from werkzeug.serving import make_server

from standin import BASE, StandInTest, advance, control, deliveries

client = QStash(os.environ["QSTASH_TOKEN"], base_url=BASE)
app = Flask(__name__)
serve = Serve(app)
seen = []


@app.post("/third-party")
def third_party():
    return {"doubled": request.get_json()["n"] * 2}


@serve.route("/order")
def order(context):
    first = context.run("first", lambda: seen.append("first") or 20)
    context.sleep("nap", "1d")
    context.run("after the nap", lambda: seen.append("after the nap"))
    answer = context.call("double", url=request.host_url + "third-party", method="POST", body={"n": first + 1})
    context.run("last", lambda: seen.append((answer.status, answer.body)))


@serve.route("/broken", retries=0)
def broken(context):
    context.run("breaks", lambda: 1 / 0)


class Workflow(StandInTest):
    def setUp(self):
        super().setUp()
        seen.clear()
        self.server = make_server("127.0.0.1", 0, app, threaded=True)
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(self.server.shutdown)

    def start(self, path):
        client.message.publish_json(url=f"http://127.0.0.1:{self.server.server_port}{path}", body={}, retries=0)
        deliveries()

    def state(self):
        run, = control("GET", "runs")["runs"]
        return run["workflowState"]

    def test_sleep_and_call(self):
        self.start("/order")
        self.assertEqual(seen, ["first"])
        self.assertEqual(self.state(), "RUN_STARTED")
        advance("25h")
        self.assertEqual(seen, ["first", "after the nap", (200, {"doubled": 42})])
        self.assertEqual(self.state(), "RUN_SUCCESS")

    def test_a_failed_run_is_in_the_dlq(self):
        self.start("/broken")
        self.assertEqual(self.state(), "RUN_FAILED")
        entry, = control("GET", "dlq")["entries"]
        self.assertEqual(entry["responseStatus"], 500)


if __name__ == "__main__":
    unittest.main()
