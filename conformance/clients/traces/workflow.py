"""An instrumented Flask application whose workflow runs once, with a sleep of three days. Its spans and those of the
server go to the collector of OTEL_EXPORTER_OTLP_ENDPOINT."""

import json
import os
import threading
from urllib.request import Request, urlopen

from flask import Flask
from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from upstash_workflow.flask import Serve
from werkzeug.serving import make_server

BASE = os.environ["UNDERSTUDY_URL"]
provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("shop")
app = Flask(__name__)
FlaskInstrumentor().instrument_app(app)


@Serve(app).route("/order")
def order(context):
    def pack():
        with tracer.start_as_current_span("pack"):
            return 1

    context.run("pack", pack)
    context.sleep("rest", "3d")
    context.run("ship", lambda: 2)


def post(path, body=None, headers=None):
    data = b"" if body is None else json.dumps(body).encode()
    request = Request(BASE + path, data=data, method="POST", headers=headers or {})
    with urlopen(request, timeout=60) as response:
        return json.load(response)


server = make_server("127.0.0.1", 0, app, threaded=True)
thread = threading.Thread(target=server.serve_forever)
thread.start()
with tracer.start_as_current_span("checkout"):
    headers = {"Authorization": "Bearer " + os.environ["QSTASH_TOKEN"], "Upstash-Retries": "0", "Content-Type": "application/json"}
    propagate.inject(headers)
    post(f"/v2/publish/http://127.0.0.1:{server.server_port}/order", {"sku": "blue-shoes"}, headers)
post("/_understudy/settle")
post("/_understudy/clock/advance", {"by": "80h"})
server.shutdown()
thread.join()
provider.shutdown()
