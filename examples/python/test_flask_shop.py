"""A Flask application that receives deliveries, and retries when it fails."""

from __future__ import annotations

from typing import Dict

import pytest

import flask_shop
from conftest import Serve
from understudy_mock import Understudy


@pytest.fixture(autouse=True)
def shop(understudy_env: Dict[str, str], serve: Serve) -> str:
    flask_shop.shipped.clear()
    return serve(flask_shop.app)


def place_order(shop: str, number: int) -> None:
    placed = flask_shop.app.test_client().post("/orders", json={"order": number}, base_url=shop)
    assert placed.status_code == 202


def test_an_order_is_shipped_by_a_signed_delivery(understudy: Understudy, shop: str) -> None:
    place_order(shop, 7)
    understudy.wait(status=200)
    assert flask_shop.shipped == [{"order": 7}]


def test_a_forged_delivery_ships_nothing(shop: str) -> None:
    forged = flask_shop.app.test_client().post("/ship", json={"order": 8}, headers={"Upstash-Signature": "a.b.c"}, base_url=shop)
    assert forged.status_code == 401
    assert flask_shop.shipped == []


def test_an_order_waits_for_the_warehouse(understudy: Understudy, shop: str) -> None:
    flask_shop.app.config["WAREHOUSE_IS_CLOSED"] = True
    place_order(shop, 9)
    understudy.advance("1h")
    assert [d["response"].get("status") for d in understudy.deliveries()] == [503, 200]
    assert flask_shop.shipped == [{"order": 9}]
