"""A shop that accepts an order now and ships it later, in a delivery that must be signed."""

from __future__ import annotations

import os
from typing import Any, Dict, List

from fastapi import FastAPI, HTTPException, Request
from qstash import AsyncQStash, Receiver

app = FastAPI()
shipped: List[Dict[str, Any]] = []


@app.post("/orders", status_code=202)
async def order(body: Dict[str, Any], request: Request) -> Dict[str, str]:
    client = AsyncQStash(os.environ["QSTASH_TOKEN"], base_url=os.environ["QSTASH_URL"])
    sent = await client.message.publish_json(url=str(request.url_for("ship")), body=body, delay="10m")
    return {"message": getattr(sent, "message_id")}


@app.post("/ship")
async def ship(request: Request) -> None:
    receiver = Receiver(os.environ["QSTASH_CURRENT_SIGNING_KEY"], os.environ["QSTASH_NEXT_SIGNING_KEY"])
    body = (await request.body()).decode()
    try:
        receiver.verify(signature=request.headers["Upstash-Signature"], body=body, url=str(request.url))
    except Exception:
        raise HTTPException(401, "invalid signature") from None
    shipped.append(await request.json())
