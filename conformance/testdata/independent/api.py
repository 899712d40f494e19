"""The operations of the interface document on HTTP."""

import base64
import email.utils
import json
import time
import urllib.parse

from encode import render
from service import Refused, Service
from usage import Statistics, VectorIndex
from wire import Answer
from workflow import Workflows

AREAS = ("base", "region", "dev", "vector")


class Account:
    """A user of the service, with credentials and data of its own."""

    def __init__(self, odd, user, password):
        self.user, self.password = user, password
        key = base64.b32encode(user.encode()).decode().rstrip("=")
        own = {"vector": "vector", "dev": "dev"} if odd.own_tokens else {}
        self.tokens = {area: f"{own.get(area, 'any')}-{key}" for area in AREAS}
        self.service, self.vector = Service(odd), VectorIndex(odd)
        self.workflows, self.statistics = Workflows(self.service), Statistics(self.service)


class Api:
    def __init__(self, odd, names):
        self.odd, self.names, self.requests = odd, names, 0
        self.prefixes = {area: f"/{area}/api.v9" if odd.base_paths else "" for area in AREAS}
        self.accounts = [Account(odd, "operator@example.com", "pass:word")]

    async def handle(self, request, areas):
        """The answer to a request that came to the address of the areas."""
        self.requests += 1
        resuming = "/v2/flowControl/" in request.path  # the one operation whose error body is shown
        if self.odd.limit_every and self.requests % self.odd.limit_every == 0:
            wait = email.utils.formatdate(time.time() + 2, usegmt=True) if self.odd.retry_after_date else "1"
            return self.error(429, "too many requests", [("Retry-After", wait)], resuming)
        try:
            return self.route(request, areas)
        except Refused as e:
            status = int(self.odd.missing_code or 404) if e.status == 404 else e.status
            return self.error(status, e.text, stated=resuming)

    def route(self, request, areas):
        for area in areas:
            prefix = self.prefixes[area]
            if not request.path.startswith(prefix + "/"):
                continue
            path = request.path[len(prefix):]
            if area == "base" and path.startswith("/v2/publish/"):
                return self.publish(request, path[len("/v2/publish/"):])
            if self.odd.trailing_slash and len(path) > 1:
                path = path.removesuffix("/")
            segments = tuple(urllib.parse.unquote(s) for s in path.split("/")[1:])
            for where, method, pattern, operation in self.routes():
                if where == area and method == request.method and (values := _match(pattern, segments)) is not None:
                    return operation(self.authenticate(request, area), request, *values)
        raise Refused(404, "operation not found")

    def routes(self):
        return (
            ("dev", "GET", ("v2", "qstash", "stats", None), self.read_statistics),
            ("dev", "DELETE", ("v2", "search", None), self.delete_index),
            ("base", "GET", ("v2", "workflows", "dlq"), self.list_dlq),
            ("base", "POST", ("v2", "dlq", "restart", None), self.restart),
            ("base", "GET", ("v2", "workflows", "messageLogs"), self.list_logs),
            ("base", "PATCH", ("v2", "topics", None), self.update_group),
            ("region", "POST", ("v2", "flowControl", None, "resume"), self.resume),
            ("vector", "GET", ("info",), self.read_vector),
        )

    # Authentication.

    def authenticate(self, request, area, token=None):
        """The account whose credentials a request has."""
        scheme, _, value = (request.header("Authorization") or "").partition(" ")
        for account in self.accounts:
            if area == "dev":
                known = scheme.lower() == "basic" and _basic(value) == f"{account.user}:{account.password}"
            else:
                known = account.tokens[area] in (token, value.strip() if scheme.lower() == "bearer" else None)
            if known:
                return account
        raise Refused(int(self.odd.refuse_code or 401), "not authenticated")

    # Operations.

    def publish(self, request, destination):
        brand = self.names.brand.lower()
        account = self.authenticate(request, "base", next((v for k, v in request.query() if k == brand + "_token"), None))
        kept = [p for p in request.query_text.split("&") if p and not p.startswith((brand + "-", brand + "_token"))]
        if "://" not in destination:
            destination = urllib.parse.unquote(destination)
        if "://" in destination and kept:
            destination += ("&" if "?" in destination else "?") + "&".join(kept)
        messages = account.service.publish(request.method, destination, request.header.pairs, request.query(), request.body, request.peer)
        answers = [{"id" if self.odd.group_ids else "messageId": m.id, "url": m.url} for m in messages]
        if self.odd.group_ids:
            return self.success({"published": answers[::-1]})
        return self.success(answers[0] if "://" in destination else answers)

    def read_statistics(self, account, request, user):
        if user != account.user:
            raise Refused(404, f"no such user: {user}")
        period = dict(request.query()).get("period", "1h")
        if period not in ("1h", "3h", "12h", "1d", "3d", "7d", "30d"):
            raise Refused(400, f"not a period: {period}")
        return self.json(200, account.statistics.read(period), stated=True)

    def delete_index(self, account, request, name):
        account.service.delete_index(name)
        answer = self.odd.delete_answer
        return self.json(200, f"deleted {name}" if answer is None else answer, stated=True)

    def list_dlq(self, account, request):
        return self.json(200, account.service.read_dlq(dict(request.query())))

    def list_logs(self, account, request):
        return self.json(200, account.service.read_logs(dict(request.query())))

    def restart(self, account, request, dlq_id):
        run = account.workflows.restart(dlq_id, request.header)
        return self.json(self.status(), {"workflowRunId": run.id, "workflowCreatedAt": run.created})

    def update_group(self, account, request, name):
        try:
            body = json.loads(request.body)
        except ValueError:
            raise Refused(400, "the body is not JSON")
        account.service.set_default_headers(name, body)
        return self.success({"name": name})

    def resume(self, account, request, key):
        account.service.resume(key)
        return self.success({})

    def read_vector(self, account, request):
        return self.json(200, account.vector.read())

    # Answers.

    def status(self):
        """The success code where the document shows none, and a body is documented."""
        code = int(self.odd.success or 200)
        return 200 if code == 204 else code

    def success(self, value):
        """A success whose code and body the document does not show."""
        if self.odd.success == "204":
            return Answer(204)
        if self.odd.bare_answers:
            return Answer(self.status())
        return self.json(self.status(), value)

    def json(self, status, value, stated=False):
        return Answer(status, render(value, self.odd), self.media(stated))

    def media(self, stated):
        if self.odd.mixed_media:
            return "Application/JSON; Charset=UTF-8"
        if self.odd.vendor_media and not stated:
            return "application/vnd.service+json;charset=utf-8"
        return None if self.odd.no_media and not stated else "application/json"

    def error(self, status, text, headers=(), stated=False):
        """An error answer; only that of resume has a documented body."""
        form = None if stated else self.odd.errors
        if form == "empty":
            return Answer(status, b"", None, headers)
        if form in ("text", "html"):
            return Answer(status, text.encode() if form == "text" else f"<h1>{status}</h1>".encode(), f"text/{form.replace('text', 'plain')}", headers)
        if form == "problem":
            return Answer(status, render({"type": "about:blank", "title": text, "status": status}, self.odd), "application/problem+json", headers)
        value = [{"message": text}] if form == "list" else {"error": text}
        return Answer(status, render(value, self.odd), self.media(False), headers)


def _match(pattern, segments):
    """The values of the open segments, or None."""
    if len(pattern) != len(segments) or any(p is not None and p != s for p, s in zip(pattern, segments)):
        return None
    return [s for p, s in zip(pattern, segments) if p is None]


def _basic(value):
    try:
        return base64.b64decode(value.strip(), validate=True).decode()
    except ValueError:
        return None
