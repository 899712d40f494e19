"""HTTP/1.1 on asyncio, both ways: a server for the interface and a client for deliveries.

Written out so that every oddity of the wire (framing, spelling, interim answers) can
be switched on; the HTTP server of the standard library hides them.
"""

import asyncio
import email.utils
import gzip
import http
import ssl
import time
import urllib.parse

LIMIT = 64 << 20  # bytes of a body that is read


class Headers:
    """Header pairs; a call gives the first value of a name, in any case."""

    def __init__(self, pairs):
        self.pairs = pairs

    def __call__(self, name, default=None):
        return next((v for n, v in self.pairs if n.lower() == name.lower()), default)


class Request:
    def __init__(self, method, target, headers, body, peer):
        self.method, self.target, self.header, self.body, self.peer = method, target, Headers(headers), body, peer
        self.path, _, self.query_text = target.partition("?")

    def query(self):
        return urllib.parse.parse_qsl(self.query_text, keep_blank_values=True)


class Answer:
    """What a handler returns. A body of None has no media type and no length."""

    def __init__(self, status, body=b"", media="application/json", headers=()):
        self.status, self.body, self.media, self.headers = status, body, media, list(headers)


class BadMessage(Exception):
    pass


async def read_head(reader):
    """The start line and the headers of a message, or None at the end of the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as e:
        if e.partial.strip():
            raise BadMessage("the head of a message is cut off")
        return None, None
    lines = head.decode("latin-1").lstrip("\r\n").split("\r\n")
    headers = []
    for line in lines[1:]:
        if line:
            name, _, value = line.partition(":")
            headers.append((name.strip(), _utf8(value.strip())))
    return lines[0], headers


def _utf8(value):
    """A header value as text: UTF-8 where it is that, else Latin-1."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return value


def _header(headers, name):
    return next((v for k, v in headers if k.lower() == name), None)


async def read_body(reader, headers, until_close=False):
    """The body of a message by its framing."""
    if "chunked" in (_header(headers, "transfer-encoding") or "").lower():
        parts, size = [], 0
        while True:
            length = int((await reader.readline()).split(b";")[0], 16)
            if length == 0:
                while (await reader.readline()).strip():
                    pass
                return b"".join(parts)
            size += length
            if size > LIMIT:
                raise BadMessage("the body is too large")
            parts.append(await reader.readexactly(length))
            await reader.readexactly(2)
    length = _header(headers, "content-length")
    if length is not None:
        if int(length) > LIMIT:
            raise BadMessage("the body is too large")
        return await reader.readexactly(int(length))
    return await reader.read(LIMIT) if until_close else b""


class Server:
    """One listener; handler(request) gives the answer."""

    def __init__(self, odd, handler):
        self.odd, self.handler, self.plain = odd, handler, None

    async def start(self, port):
        server = await asyncio.start_server(self._serve, "127.0.0.1", port, limit=1 << 20, backlog=1024)
        return server.sockets[0].getsockname()[1]

    async def _serve(self, reader, writer):
        try:
            while await self._one(reader, writer):
                pass
        except (BadMessage, ValueError, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _one(self, reader, writer):
        start, headers = await read_head(reader)
        if start is None:
            return False
        method, target, version = start.split(" ", 2)
        if (_header(headers, "expect") or "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await read_body(reader, headers)
        request = Request(method, target, headers, body, writer.get_extra_info("peername")[0])
        answer, ordinary = await self.handler(request)
        last = self._last(request, version, ordinary)
        await self._write(writer, request, answer, last, ordinary)
        return not last

    def _last(self, request, version, ordinary):
        wanted = (request.header("Connection") or "").lower()
        odd = ordinary and (self.odd.close or self.odd.until_close or self.odd.http10)
        return bool(odd or wanted == "close" or (version == "HTTP/1.0" and wanted != "keep-alive"))

    async def _write(self, writer, request, answer, last, ordinary):
        """Writes an answer; ordinary is false for the set-up paths, which are never odd."""
        odd = self.odd
        if not ordinary:
            head = [("Content-Type", answer.media), ("Content-Length", str(len(answer.body)))] + answer.headers
            if last:
                head.append(("Connection", "close"))
            writer.write(_head_bytes(f"HTTP/1.1 {answer.status} {_reason(answer.status)}", head, odd, False) + answer.body)
            await writer.drain()
            return
        if odd.slow:
            await asyncio.sleep(odd.slow)
        body, head = answer.body, [("Date", email.utils.formatdate(time.time() + odd.clock_skew, usegmt=True))]
        if body and answer.media:
            head.append(("Content-Type", answer.media))
        if odd.gzip and body and "gzip" in (request.header("Accept-Encoding") or "").lower():
            body = gzip.compress(body, 1)
            head += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
        if odd.more_headers:
            head += [("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2"), ("Vary", "Origin"), ("Server", "independent"), ("Via", "1.1 edge")]
        head += answer.headers
        if last:
            head.append(("Connection", "close"))
        bodyless = answer.status == 204 or request.method == "HEAD"
        chunked = odd.chunked and not odd.http10 and not odd.until_close
        if chunked and not bodyless:
            head.append(("Transfer-Encoding", "chunked"))
        elif not bodyless and not odd.until_close:
            head.append(("Content-Length", str(len(body))))
        if odd.early_hints and not odd.http10:
            writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")
        version = "HTTP/1.0" if odd.http10 else "HTTP/1.1"
        reason = "" if odd.no_reason else _reason(answer.status)
        writer.write(_head_bytes(f"{version} {answer.status} {reason}", head, odd, True))
        if not bodyless:
            await self._body(writer, body, chunked)
        await writer.drain()

    async def _body(self, writer, body, chunked):
        step = max(1, len(body) // 4) if self.odd.drip else max(7, len(body) // 16) if chunked else len(body) or 1
        for i in range(0, len(body), step):
            piece = body[i:i + step]
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
            if self.odd.drip:
                await writer.drain()
                await asyncio.sleep(0.005)
        if chunked:
            writer.write(b"0\r\n\r\n")


def _reason(status):
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "Other"


def _spell(name, odd):
    return name.lower() if odd.lower_headers else name.upper() if odd.upper_headers else name


def _head_bytes(start, headers, odd, spelled):
    lines = [start] + [f"{_spell(k, odd) if spelled else k}: {v}" for k, v in headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8")


class Client:
    """Sends deliveries. An answer is (status, headers, body), or None where none came."""

    def __init__(self, odd):
        self.odd, self.idle = odd, {}

    async def send(self, method, url, headers, body, timeout):
        try:
            return await asyncio.wait_for(self._send(method, url, headers, body), timeout)
        except (OSError, ValueError, BadMessage, asyncio.TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return None

    async def _send(self, method, url, headers, body):
        parts = urllib.parse.urlsplit(url)
        secure = parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
        kept = self.idle.get((parts.hostname, port))
        if kept:
            connection = kept.pop()
            try:
                return await self._exchange(connection, parts, method, headers, body)
            except (OSError, BadMessage, asyncio.IncompleteReadError):
                connection[1].close()
        context = ssl.create_default_context() if secure else None
        connection = await asyncio.open_connection(parts.hostname, port, ssl=context, limit=1 << 20)
        try:
            return await self._exchange(connection, parts, method, headers, body)
        except BaseException:
            connection[1].close()
            raise

    async def _exchange(self, connection, parts, method, headers, body):
        reader, writer = connection
        odd = self.odd
        path = (parts.path or "/") + ("?" + parts.query if parts.query else "")
        head = [("Host", parts.netloc.rpartition("@")[2])] + headers
        chunked = odd.deliver_chunked and body
        if chunked:
            head.append(("Transfer-Encoding", "chunked"))
        elif body or method in ("POST", "PUT", "PATCH"):
            head.append(("Content-Length", str(len(body))))
        if odd.deliver_expect and body:
            head.append(("Expect", "100-continue"))
        if not odd.deliver_keep:
            head.append(("Connection", "close"))
        writer.write(_head_bytes(f"{method} {path} HTTP/1.1", head, odd, True))
        if chunked:
            half = len(body) // 2
            for piece in filter(None, (body[:half], body[half:])):
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            writer.write(b"0\r\n\r\n")
        else:
            writer.write(body)
        await writer.drain()
        status, answer_headers = 100, []
        while status < 200:
            start, answer_headers = await read_head(reader)
            if start is None:
                raise BadMessage("no answer")
            status = int(start.split(" ")[1])
        if method == "HEAD" or status in (204, 304):
            answer = b""
        else:
            answer = await read_body(reader, answer_headers, until_close=True)
        framed = _header(answer_headers, "content-length") is not None or _header(answer_headers, "transfer-encoding")
        if odd.deliver_keep and framed and (_header(answer_headers, "connection") or "").lower() != "close":
            self.idle.setdefault((parts.hostname, parts.port or 80), []).append(connection)
        else:
            writer.close()
        return status, answer_headers, answer
