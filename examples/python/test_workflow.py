"""A durable workflow in a Flask application: it sleeps for a day, which a test skips."""

from __future__ import annotations

from typing import List

import pytest
from flask import Flask
from qstash import QStash
from upstash_workflow import WorkflowContext  # type: ignore[import-untyped]
from upstash_workflow.flask import Serve as ServeWorkflow  # type: ignore[import-untyped]

from conftest import Serve
from understudy_mock import Understudy


class Trial:
    """An application that welcomes a customer, and asks again after a day."""

    def __init__(self, client: QStash) -> None:
        self.mails: List[str] = []
        self.app = Flask("trial")
        workflows = ServeWorkflow(self.app)

        @workflows.route("/trial", qstash_client=client, retries=0)  # type: ignore[untyped-decorator]
        def trial(context: WorkflowContext[str]) -> None:
            context.run("welcome", lambda: self.mails.append("welcome"))
            context.sleep("a day", "1d")
            context.run("ask", lambda: self.mails.append("how is it?"))

        @workflows.route("/broken", qstash_client=client, retries=0)  # type: ignore[untyped-decorator]
        def broken(context: WorkflowContext[str]) -> None:
            context.run("fails", lambda: 1 // 0)


@pytest.fixture
def client(understudy: Understudy) -> QStash:
    return QStash(understudy.token, base_url=understudy.url)


def test_the_second_mail_comes_after_a_day(understudy: Understudy, client: QStash, serve: Serve) -> None:
    trial = Trial(client)
    client.message.publish_json(url=serve(trial.app) + "/trial", body={}, retries=0)
    understudy.settle()
    assert trial.mails == ["welcome"]
    understudy.advance("24h")
    assert trial.mails == ["welcome", "how is it?"]
    assert len(understudy.wait("events", state="RUN_SUCCESS")) == 1


def test_a_failed_run_says_why(understudy: Understudy, client: QStash, serve: Serve) -> None:
    client.message.publish_json(url=serve(Trial(client).app) + "/broken", body={}, retries=0)
    (failed,) = understudy.wait("events", state="RUN_FAILED")
    assert understudy.explain(failed.get("workflowRunId", ""))["state"] == "RUN_FAILED"
