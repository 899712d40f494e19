"""A shop that accepts an order now and ships it later, in a delivery that must be signed."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Tuple

from flask import Flask, request
from qstash import QStash, Receiver

app = Flask(__name__)
shipped: List[Dict[str, Any]] = []


@app.post("/orders")
def order() -> Tuple[Dict[str, str], int]:
    client = QStash(os.environ["QSTASH_TOKEN"], base_url=os.environ["QSTASH_URL"])
    sent = client.message.publish_json(url=request.host_url + "ship", body=request.get_json(), retries=3)
    return {"message": getattr(sent, "message_id")}, 202


@app.post("/ship")
def ship() -> Tuple[Dict[str, str], int]:
    receiver = Receiver(os.environ["QSTASH_CURRENT_SIGNING_KEY"], os.environ["QSTASH_NEXT_SIGNING_KEY"])
    try:
        receiver.verify(signature=request.headers["Upstash-Signature"], body=request.get_data(as_text=True), url=request.url)
    except Exception:
        return {"error": "invalid signature"}, 401
    if app.config.pop("WAREHOUSE_IS_CLOSED", False):
        return {"error": "the warehouse is closed"}, 503
    shipped.append(request.get_json())
    return {}, 200
