"""A shop: a checkout reserves the goods and charges the customer, a charge sends a receipt.

BUGS plants bugs, separated by commas; without it the shop is right.
"""

from __future__ import annotations

import base64
import json
import os
import uuid
from typing import Any, Awaitable, Callable, Dict, Set

import httpx
import uvicorn
from fastapi import FastAPI, HTTPException, Request
from qstash import AsyncQStash, Receiver

bugs = set(os.environ.get("BUGS", "").split(","))
url = f"http://127.0.0.1:{os.environ.get('PORT', '8000')}"
client = AsyncQStash(os.environ["QSTASH_TOKEN"], base_url=os.environ["QSTASH_URL"])
receiver = Receiver(os.environ["QSTASH_CURRENT_SIGNING_KEY"], os.environ["QSTASH_NEXT_SIGNING_KEY"])
http = httpx.AsyncClient(trust_env=False)
app = FastAPI()
orders: Dict[int, Dict[str, Any]] = {}
ledger: Set[str] = set()  # what was charged

Work = Callable[[Dict[str, Any], int], Awaitable[None]]


async def call(service: str, body: Dict[str, Any], key: str) -> None:
    """Call an outside service, which recognizes a second call by its key."""
    (await http.post(service, json=body, headers={"Idempotency-Key": key})).raise_for_status()


async def publish(path: str, order: int, **options: Any) -> None:
    await client.message.publish_json(url=url + path, body={"order": order}, deduplication_id=f"{path[1:]}-{order}", **options)


def delivery(path: str) -> Callable[[Work], Work]:
    """Add a handler for deliveries. It verifies the signature; an error is answered with 500, so that the service tries again."""

    def add(work: Work) -> Work:
        async def handle(request: Request) -> None:
            body = (await request.body()).decode()
            try:
                receiver.verify(signature=request.headers["Upstash-Signature"], body=body, url=url + path)
                await work(json.loads(body), int(request.headers.get("Upstash-Retried", "0")))
            except Exception as error:
                raise HTTPException(500, str(error)) from error

        app.add_api_route(path, handle, methods=["POST"])
        return work

    return add


@app.post("/checkout", status_code=202)
async def checkout(body: Dict[str, int]) -> None:
    orders.setdefault(body["order"], {"reserved": False, "receipt": "none"})
    await publish("/reserve", body["order"])
    await publish("/charge", body["order"])


@delivery("/reserve")
async def reserve(body: Dict[str, Any], retried: int) -> None:
    orders[body["order"]]["reserved"] = True


def charged(order: int, retried: int) -> bool:
    """Return whether an order was charged before."""
    if "not-idempotent" in bugs:
        return retried > 0 and str(order) in ledger  # only a retry can be the second delivery
    if "effect-before-lost-answer" in bugs:
        return f"{order} {retried}" in ledger  # each attempt is another delivery
    known = str(order) in ledger
    if "two-faults" in bugs:
        ledger.discard(str(order))  # a delivery comes twice at most, so the entry is not needed any more
    return known


def key(order: int, retried: int) -> str:
    """Return the key by which the payment provider recognizes a charge."""
    if "not-idempotent" in bugs:
        return str(uuid.uuid4())
    return f"charge-{order}-{retried}" if bugs & {"effect-before-lost-answer", "two-faults"} else f"charge-{order}"


@delivery("/charge")
async def charge(body: Dict[str, Any], retried: int) -> None:
    order = body["order"]
    if not orders[order]["reserved"]:
        if "order-assumed" in bugs:
            return  # nothing is reserved: the order was cancelled
        raise RuntimeError("not reserved yet")
    known = charged(order, retried)
    if not known:
        await call(os.environ["PAYMENTS_URL"] + "/charges", {"order": order}, key(order, retried))
        ledger.add(f"{order} {retried}" if "effect-before-lost-answer" in bugs else str(order))
    if known and "swallowed-error" in bugs:
        return  # also if the first attempt failed after the charge
    await publish("/receipt", order, retries=0, failure_callback=None if "no-failure-callback" in bugs else url + "/unsent")


@delivery("/receipt")
async def receipt(body: Dict[str, Any], retried: int) -> None:
    if orders[body["order"]]["receipt"] != "sent":
        await call(os.environ["MAIL_URL"] + "/receipts", {"order": body["order"]}, f"receipt-{body['order']}")
        orders[body["order"]]["receipt"] = "sent"


@delivery("/unsent")  # a receipt that cannot be delivered is for a person
async def unsent(body: Dict[str, Any], retried: int) -> None:
    order = orders[json.loads(base64.b64decode(body["sourceBody"]))["order"]]
    order["receipt"] = "sent" if order["receipt"] == "sent" else "for a person"


@app.get("/test/state")
async def state() -> Dict[int, Dict[str, Any]]:
    return orders


@app.post("/test/reset")
async def reset() -> None:
    orders.clear()
    ledger.clear()


@app.get("/test/check")
async def check() -> None:
    if any(order["receipt"] == "none" for order in orders.values()):
        raise HTTPException(500, "an order has no receipt, and nobody knows it")


if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8000")), log_level="warning")
