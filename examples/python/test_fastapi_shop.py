"""A FastAPI application that receives deliveries."""

from __future__ import annotations

import socket
import threading
import urllib.error
import urllib.request
from typing import Dict, Iterator

import pytest
import uvicorn

import fastapi_shop
from understudy_mock import Understudy


@pytest.fixture
def shop(understudy_env: Dict[str, str]) -> Iterator[str]:
    fastapi_shop.shipped.clear()
    listener = socket.create_server(("127.0.0.1", 0))  # a request that comes before the server waits
    server = uvicorn.Server(uvicorn.Config(fastapi_shop.app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join()


def post(url: str, body: bytes, **headers: str) -> int:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request) as response:
        return int(response.status)


def test_an_order_is_shipped_ten_minutes_later(understudy: Understudy, shop: str) -> None:
    assert post(shop + "/orders", b'{"order": 7}') == 202
    assert fastapi_shop.shipped == []
    understudy.advance("10m")
    assert fastapi_shop.shipped == [{"order": 7}]


def test_a_forged_delivery_ships_nothing(shop: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match="401"):
        post(shop + "/ship", b'{"order": 8}', **{"Upstash-Signature": "a.b.c"})
    assert fastapi_shop.shipped == []
