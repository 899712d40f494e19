"""The first test: the published client, a payment provider that is down, and a clock that moves."""

from qstash import QStash
from understudy_mock import Understudy


def test_order_survives_an_outage(understudy: Understudy) -> None:
    understudy.stub("https://payments.test/*", 503, 503, 200)
    client = QStash(understudy.token, base_url=understudy.url)
    client.message.publish_json(url="https://payments.test/orders", body={"order": 7})
    understudy.advance("1h")
    assert [d["response"].get("status") for d in understudy.deliveries()] == [503, 503, 200]
