"""The published messaging client against the stand-in. Nothing leaves the machine."""

from __future__ import annotations

import pytest
from qstash import QStash

from understudy_mock import Understudy

WAREHOUSE = "https://warehouse.test/orders"


@pytest.fixture
def client(understudy: Understudy) -> QStash:
    understudy.stub("https://warehouse.test/*", 200)
    return QStash(understudy.token, base_url=understudy.url)


def test_an_order_is_delivered(understudy: Understudy, client: QStash) -> None:
    client.message.publish_json(url=WAREHOUSE, body={"order": 7})
    (delivery,) = understudy.wait()
    assert delivery["request"].get("body") == '{"order": 7}'


def test_a_batch_is_delivered(understudy: Understudy, client: QStash) -> None:
    client.message.batch_json([{"url": f"{WAREHOUSE}/{n}", "body": {"order": n}} for n in range(3)])
    delivered = understudy.wait(count=3)
    assert sorted(d["url"] for d in delivered) == [f"{WAREHOUSE}/{n}" for n in range(3)]


def test_an_order_survives_an_outage(understudy: Understudy, client: QStash) -> None:
    understudy.stub("https://warehouse.test/*", 503, 503, 200)
    client.message.publish_json(url=WAREHOUSE, body={"order": 7})
    understudy.advance("1h")
    assert [d["response"].get("status") for d in understudy.deliveries()] == [503, 503, 200]


def test_a_reminder_waits_for_its_time(understudy: Understudy, client: QStash) -> None:
    client.message.publish_json(url=WAREHOUSE, body={"remind": 7}, delay="3d")
    understudy.advance("71h")
    assert understudy.deliveries() == []
    understudy.advance("1h")
    assert len(understudy.deliveries()) == 1


def test_a_refused_order_is_in_the_dlq(understudy: Understudy, client: QStash) -> None:
    understudy.stub("https://warehouse.test/*", {"status": 500, "body": "no such article"})
    client.message.publish_json(url=WAREHOUSE, body={"order": 7}, retries=1)
    understudy.advance(until="idle")
    (entry,) = client.dlq.list().messages
    assert entry.response_body == "no such article"
    assert "500" in understudy.explain(entry.dlq_id)["reasons"][0]["reason"]


def test_a_schedule_runs_each_night(understudy: Understudy, client: QStash) -> None:
    client.schedule.create(destination=WAREHOUSE, cron="0 3 * * *")
    understudy.advance("3d")
    assert len(understudy.deliveries()) == 3
