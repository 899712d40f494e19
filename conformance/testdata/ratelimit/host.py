"""A host application with a rate limiter, written from the interface document.

    host.py CONFIG UPSTREAM     serves until it is ended; prints its address
    host.py --admin PORT        starts hosts on request: POST / {"config": ..., "upstream": ...}

CONFIG is the JSON of "Rate-limit plugin configuration". A configuration that the
document does not allow ends it with status 1 (with --admin: 422). It needs the
standard library alone.
"""

import http.server
import json
import re
import sys
import threading
import time
import urllib.error
import urllib.request

METHODS = {"GET", "POST", "DELETE", "PUT", "PATCH", "ALL"}
UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def need(holds, what):
    if not holds:
        raise ValueError(what)


def check(config):
    need(isinstance(config.get("token"), str) and config["token"], "token is required")
    need(isinstance(config.get("url"), str) and config["url"], "url is required")
    need(isinstance(config.get("strategy"), list), "strategy is required")
    for s in config["strategy"]:
        need(isinstance(s.get("methods"), list) and set(s["methods"]) <= METHODS, "methods must be an array of methods")
        need(isinstance(s.get("path"), str), "path is required")
        source = s.get("identifierSource")
        need(isinstance(source, str) and (source == "ip" or source.startswith("header.")), "identifierSource must be ip or header.<KEY>")
        limiter = s.get("limiter")
        need(isinstance(limiter, dict), "limiter is required")
        need(limiter.get("algorithm") in ALGORITHMS, f"algorithm must be one of {', '.join(ALGORITHMS)}")
        need(isinstance(limiter.get("tokens"), (int, float)), "tokens is required")
        window = re.fullmatch(r"(\d+)(ms|s|m|h|d)", limiter.get("window", ""))
        need(window, "window must be a number and one of ms, s, m, h, d")
        s["ms"] = int(window[1]) * UNITS[window[2]]
    return config


def pattern(path):
    parts = [".*" if p == "*" else "[^/]+" if p.startswith(":") else re.escape(p) for p in path.split("/")]
    return re.compile("/".join(parts) + "/?")


class Store:
    def __init__(self, config):
        self.url, self.token = config["url"], config["token"]

    def ask(self, *command):
        request = urllib.request.Request(self.url, json.dumps([str(c) for c in command]).encode(), {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["result"]


def fixed_window(store, key, limit, ms, _refill):
    counter = f"{key}:{int(time.time() * 1000) // ms}"
    n = store.ask("INCR", counter)
    store.ask("PEXPIRE", counter, 2 * ms)
    return n <= limit


def sliding_window(store, key, limit, ms, _refill):
    now = time.time() * 1000
    store.ask("ZREMRANGEBYSCORE", key, 0, now - ms)
    if store.ask("ZCARD", key) >= limit:
        return False
    store.ask("ZADD", key, now, repr(now))
    store.ask("PEXPIRE", key, ms)
    return True


def token_bucket(store, key, limit, ms, refill):
    now = int(time.time() * 1000)
    left, since = json.loads(store.ask("GET", key) or "null") or (limit, now)
    times = (now - since) // ms
    left, since = min(limit, left + times * refill), since + times * ms
    allowed = left >= 1
    store.ask("SET", key, json.dumps([left - allowed, since]))
    return allowed


ALGORITHMS = {"fixed-window": fixed_window, "sliding-window": sliding_window, "token-bucket": token_bucket}


class Host(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lock = threading.Lock()

    def allowed(self):
        config, path = self.server.config, self.path.partition("?")[0]
        if not config.get("enabled", True):
            return True
        for s in config["strategy"]:
            if not {self.command, "ALL"} & set(s["methods"]) or not (s["path"] == "*" or pattern(s["path"]).fullmatch(path) or pattern(s["path"]).fullmatch(path + "/x")):
                continue
            source = s["identifierSource"]
            who = self.client_address[0] if source == "ip" else self.headers.get(source.partition(".")[2], "")
            key = ":".join([config.get("prefix", "limit"), self.command, s["path"], who])
            limiter = s["limiter"]
            with self.lock:
                if not ALGORITHMS[limiter["algorithm"]](Store(config), key, limiter["tokens"], s["ms"], limiter.get("refillRate", 1)):
                    return False
        return True

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.allowed():
            return self.answer(429, b"too many requests")
        headers = {n: v for n, v in self.headers.items() if n.lower() not in ("host", "content-length", "connection")}
        request = urllib.request.Request(self.server.upstream + self.path, body or None, headers, method=self.command)
        try:
            with urllib.request.urlopen(request) as answer:
                self.answer(answer.status, answer.read())
        except urllib.error.HTTPError as refused:
            self.answer(refused.code, refused.read())

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

    def log_message(self, *_):
        pass


def host(config, upstream):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Host)
    server.config, server.upstream = check(config), upstream
    return server, f"http://127.0.0.1:{server.server_address[1]}"


class Admin(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            server, url = host(asked["config"], asked["upstream"])
        except ValueError as why:
            status, text = 422, str(why)
        else:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            status, text = 201, json.dumps({"url": url})
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    if sys.argv[1] == "--admin":
        server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Admin)
        url = f"http://127.0.0.1:{server.server_address[1]}"
    else:
        try:
            server, url = host(json.loads(sys.argv[1]), sys.argv[2])
        except ValueError as why:
            sys.exit(str(why))
    print(url, flush=True)
    server.serve_forever()
