"""The adapter of my client library: the suite that judges clients drives the library through it.

    understudy conform --client 'python3 adapter.py'

One JSON object per line on standard input, one answer per line on standard output. Convert names
only: never repair, retry, validate or catch for the library.
"""
import json
import sys

import acme  # FILL IN: your library


def client_of(c):  # what is absent in c must stay the default of the library
    return acme.Client(c["token"], base_url=c["url"])


def body_of(args):
    body = args.get("body", {})
    return body.get("text", body.get("json"))


def publish(c, args):
    options = args.get("options", {})  # only those that hello declares
    result = client_of(c).publish(
        url=args["destination"].get("url"),
        body=body_of(args),
        headers=dict(args.get("headers", [])),
        **({"delay": options["delay"]} if "delay" in options else {}),
    )
    return {"messageId": result.message_id}  # the names of the interface document


def verify(_, args):
    acme.Receiver(args["current"], args["next"]).verify(signature=args["signature"], body=args["body"]["text"], url=args.get("url"))
    return {"valid": True}  # a refusal is the error that the library raises


OPERATIONS = {"publish": publish, "verify": verify}  # see docs/client-suite.md for all names

for line in sys.stdin:
    call = json.loads(line)
    try:
        if call["op"] == "hello":
            answer = {
                "protocol": 1, "name": "acme", "version": acme.__version__, "language": "Python " + sys.version.split()[0],
                "operations": list(OPERATIONS), "options": ["delay", "headers"], "features": ["base_url"], "sentinel": "publish",
            }
        else:
            for _ in range(call["times"]):
                result = OPERATIONS[call["op"]](call["client"], call["args"])
            answer = {"result": result}
    except Exception as e:  # what the library raises is its answer
        answer = {"error": {"class": type(e).__name__, "library": isinstance(e, acme.Error), "message": str(e), "status": getattr(e, "status", None)}}
    print(json.dumps({"id": call["id"], **answer}), flush=True)
