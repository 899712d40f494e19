"""The published clients of the vector index and of the key-value store, which read their environment."""

from __future__ import annotations

from typing import Dict

import pytest
from upstash_redis import Redis
from upstash_vector import Index

from understudy_mock import Understudy

pytestmark = pytest.mark.usefixtures("understudy_env")


def test_the_nearest_vector_is_found() -> None:
    index = Index.from_env()
    index.upsert([("north", [0.0, 1.0]), ("east", [1.0, 0.0])])
    (nearest,) = index.query([0.2, 0.9], top_k=1)
    assert nearest.id == "north"


def test_a_key_expires_with_the_clock(understudy: Understudy) -> None:
    redis = Redis.from_env()
    redis.set("session", "7", ex=3600)
    assert redis.get("session") == "7"
    understudy.advance("1h")
    assert redis.get("session") is None
