"""The legal oddities of the independent server, one switch each.

Every oddity names the silence of the interface document that it uses: what the
document leaves open, so that a server may do it and still keep every sentence.
"""

import argparse
from typing import NamedTuple, Optional


class Oddity(NamedTuple):
    name: str
    silence: str
    sample: Optional[str] = None  # the value that --all gives; None marks a plain switch
    combines: bool = True  # part of --all


ODDITIES = [
    # What an answer looks like on the wire. The document says "Bodies are JSON" and
    # nothing about framing, coding, connections or the spelling of header names.
    Oddity("gzip", "Content coding of answers: not mentioned; used only where the client accepts it."),
    Oddity("chunked", "Framing of answers: not mentioned. Answers come in small chunks without Content-Length."),
    Oddity("until-close", "Framing of answers: not mentioned. The end of the connection ends the body.", combines=False),
    Oddity("close", "Connections: not mentioned. Every answer closes its connection.", combines=False),
    Oddity("http10", "HTTP version: not mentioned. The status line says HTTP/1.0.", combines=False),
    Oddity("lower-headers", "Header names have no case; answers and deliveries write them in lower case."),
    Oddity("upper-headers", "Header names have no case; answers and deliveries write them in upper case.", combines=False),
    Oddity("no-reason", "Reason phrases: not mentioned. The status line has none."),
    Oddity("early-hints", "Interim answers: not mentioned. A 103 comes before each final answer."),
    Oddity("more-headers", "Other answer headers: not mentioned. Set-Cookie twice, Vary twice, Server, Via."),
    Oddity("mixed-media", "Media types have no case: Application/JSON; Charset=UTF-8."),
    Oddity("vendor-media", "Only statistics and search deletion name application/json; other answers say application/vnd.service+json."),
    Oddity("no-media", "Only statistics and search deletion name a media type; other answers have none.", combines=False),
    Oddity("slow", "Speed of answers: not mentioned. Seconds before each answer.", "0.2"),
    Oddity("drip", "Speed of answers: not mentioned. A body is written in small pieces with pauses."),
    Oddity("pretty", "White space in JSON: not mentioned. Indented, with an empty line before and after."),
    Oddity("escapes", "Escapes in JSON: not mentioned. Letters are written as \\u00XX, slashes as \\/."),
    Oddity("number-form", "Numbers in JSON: an integer may be written as 1.0 or 1e0.", "float"),
    Oddity("reversed-members", "Order of members: not mentioned. Members come in reverse order."),
    Oddity("extra-fields", "Further members of objects: not excluded. Every object has some."),
    # Status codes and error bodies: "not shown" for nearly all operations.
    Oddity("success", "Success codes of publish, restart, resume and group update: not shown. 200, 201, 202 or 204 (204 only where no answer body is documented).", "202"),
    Oddity("bare-answers", "Answer bodies of publish, group update and resume: not shown. They are empty."),
    Oddity("errors", "Error bodies other than that of resume: not shown. text, empty, html, problem or list.", "problem"),
    Oddity("refuse-code", "Status code of a failed authentication: not shown.", "403"),
    Oddity("missing-code", "Status code of an unknown id: not shown.", "410"),
    Oddity("limit-every", "Request rate limits: not shown. Every n-th request gets 429 with Retry-After.", "200"),
    Oddity("retry-after-date", "Form of Retry-After: not mentioned. An HTTP date in place of seconds."),
    Oddity("delete-unknown", "Deletion of an unknown index: not shown. It succeeds."),
    Oddity("delete-answer", "The string that a deletion answers: not shown. Any text, here empty.", ""),
    # Addresses and names.
    Oddity("base-paths", "{base_url} and the other addresses are hosts, and nothing more is said; here each has a path."),
    Oddity("hosts", "The four addresses may be four hosts; here each has its own port."),
    Oddity("brand", "The brand prefix is written Svc in the document; a service has its own.", "Zebra"),
    Oddity("other-names", "Names of filters, headers and fields that are described without a name: not shown. A second set of names."),
    Oddity("own-tokens", "Permission model per credential: not shown. The vector index has a token of its own."),
    Oddity("trailing-slash", "A slash at the end of a path: not mentioned. It is tolerated."),
    # Identifiers.
    Oddity("ids", "Form of identifiers: strings, nothing more. marks, wild, digits, prefixes or long.", "marks"),
    Oddity("odd-cursors", "Form of a cursor: a string. It has characters that a query must escape."),
    Oddity("group-ids", "Order of a list of publish results: not shown, nor their names.", combines=True),
    # Lists.
    Oddity("order", "Order of lists: not shown. newest, oldest or shuffled.", "shuffled"),
    Oddity("short-pages", "A page holds at most the asked number; nothing says that it is full while a cursor comes with it."),
    Oddity("empty-pages", "An empty page with a cursor is not the end: only an absent cursor is."),
    Oddity("empty-end", "The cursor of the logs may be empty at the end as well as absent."),
    Oddity("late-logs", "When a log becomes readable: not shown. Seconds after it was written.", "2"),
    Oddity("late-dlq", "When a failed run becomes readable in the DLQ: not shown. Seconds after the failure.", "1"),
    Oddity("late-statistics", "When statistics count a message: not shown. Seconds after it.", "2"),
    Oddity("late-vector", "The index information is updated eventually. Seconds after the change.", "2"),
    Oddity("extra-states", "Full list of message states: not shown. Logs have further states."),
    Oddity("callback-state", "States of a failure callback other than CALLBACK_SUCCESS: not shown.", "CALLBACK_GIVEN_UP"),
    Oddity("same-time", "Order of logs with the same time: not shown. CREATED comes before RUN_STARTED."),
    Oddity("null-values", "Values that are described without a property name: null where they are not set."),
    Oddity("no-response-fields", "responseStatus and its kin after an attempt that got no answer: 0 and empty in place of absent."),
    Oddity("restart-consumes", "Fate of the DLQ entry after a restart: not shown. It is removed."),
    # Headers of messages.
    Oddity("join-headers", "Several values of one header may be joined by commas in one element."),
    Oddity("lower-names", "Case of names in header objects: not mentioned. They are lower case."),
    Oddity("merge-group", "Whether an update replaces or merges default headers: not shown. It merges."),
    # Deliveries.
    Oddity("duplicates", "At most one delivery: not promised. Every n-th delivery is made twice.", "3"),
    Oddity("late-delivery", "Time of a delivery: not shown. Seconds after the publish.", "1"),
    Oddity("deliver-chunked", "Framing of deliveries: not mentioned. The body comes in chunks."),
    Oddity("deliver-expect", "Deliveries may ask with Expect: 100-continue."),
    Oddity("deliver-headers", "Further headers of a delivery: not shown. It has some."),
    Oddity("deliver-keep", "Connections of deliveries: not mentioned. They stay open for the next one."),
    Oddity("backoff", "Time between attempts: not shown. Seconds.", "2"),
    Oddity("delay-form", "Form of Svc-Delay: not shown. seconds: a bare number of seconds; units: a number and a unit.", "seconds"),
    Oddity("flow-form", "Form of Svc-Flow-Control-Value: not shown. anything, or json: only a JSON object.", "json"),
    # Time.
    Oddity("date-t", "Separator between date and time of x: not shown. T in place of a space."),
    Oddity("fraction", "Digits of the fractional-second part of x: not shown. 1 to 9, or mixed.", "mixed"),
    Oddity("coarse-clock", "Resolution of times: not shown. Whole seconds, counted in milliseconds."),
    Oddity("clock-skew", "Clocks of client and server: not said to agree. Seconds by which this one is ahead.", "45"),
    # Statistics.
    Oddity("newest-first", "Order of the points of a series: not shown. The newest comes first."),
    Oddity("days-so-far", "Daily arrays other than days: one object per day, up to today only."),
    Oddity("day-names", "Form of day names: not shown. date, long (1 November) or weekday (Sunday 1).", "long"),
    Oddity("more-metrics", "Full set of metric ids: not shown. Further ids are before and after the known ones."),
    Oddity("aligned", "Times of the points: intervals of the period; here on whole intervals of the clock."),
    # The vector index.
    Oddity("vector-type", "Type of the index: DENSE, SPARSE or HYBRID, with the object that belongs to it.", "HYBRID"),
    Oddity("more-namespaces", "Further namespaces beside the default one are allowed."),
]


def parser():
    """The command line: one switch for each oddity, and how to start."""
    p = argparse.ArgumentParser(description="An independent server of the interface document, odd on purpose where the document is silent.")
    p.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (0: any free one)")
    p.add_argument("--target", metavar="FILE", help="write the filled target file here before the address is printed")
    p.add_argument("--rps", type=float, default=0, help="limits.rps in the target file (0: not written)")
    p.add_argument("--all", action="store_true", help="every oddity that combines with the others")
    p.add_argument("--list", action="store_true", help="print the switches as one set of arguments a line, and stop")
    for o in ODDITIES:
        if o.sample is None:
            p.add_argument("--" + o.name, action="store_true", help=o.silence)
        else:
            p.add_argument("--" + o.name, default=None, metavar="VALUE", help=f"{o.silence} For example: {o.sample or repr('')}")
    return p


def parse(arguments):
    """The chosen oddities; --all fills in those that were not chosen and combine."""
    odd = parser().parse_args(arguments)
    if odd.all:
        for o in ODDITIES:
            attribute = o.name.replace("-", "_")
            if o.combines and getattr(odd, attribute) in (None, False):
                setattr(odd, attribute, True if o.sample is None else o.sample)
    for name in ("slow", "late_logs", "late_dlq", "late_statistics", "late_vector", "late_delivery", "clock_skew", "backoff"):
        value = getattr(odd, name)
        setattr(odd, name, float(value) if value else (0.3 if name == "backoff" else 0.0))
    for name in ("limit_every", "duplicates"):
        setattr(odd, name, int(getattr(odd, name) or 0))
    return odd


def variants():
    """Each oddity alone, as the arguments that switch it on; some have several values."""
    several = {
        "success": ["200", "201", "202", "204"],
        "errors": ["text", "empty", "html", "problem", "list"],
        "refuse-code": ["403", "404"],
        "missing-code": ["400", "410"],
        "number-form": ["float", "exponent"],
        "ids": ["marks", "wild", "digits", "prefixes", "long"],
        "order": ["newest", "oldest", "shuffled"],
        "delay-form": ["seconds", "units"],
        "fraction": ["1", "3", "9", "mixed"],
        "clock-skew": ["45", "-45"],
        "day-names": ["date", "long", "weekday"],
        "vector-type": ["DENSE", "SPARSE", "HYBRID"],
        "delete-answer": ["", "Search index deleted"],
    }
    for o in ODDITIES:
        if o.sample is None:
            yield ["--" + o.name]
        else:
            for value in several.get(o.name, [o.sample]):
                yield [f"--{o.name}={value}"]
