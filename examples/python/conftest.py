"""Serves an application on a free port of this machine, as long as a test needs it."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Callable, Iterator

import pytest
from werkzeug.serving import make_server

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

Serve = Callable[["WSGIApplication"], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that serves a WSGI application and returns its URL."""
    with contextlib.ExitStack() as stack:

        def start(app: WSGIApplication) -> str:
            server = make_server("127.0.0.1", 0, app, threaded=True)
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            stack.callback(server.server_close)
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            return f"http://127.0.0.1:{server.server_port}"

        yield start
