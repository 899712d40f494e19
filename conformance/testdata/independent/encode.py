"""JSON and times as the server writes them, with the oddities of writing."""

import datetime
import functools
import json


def render(value, odd):
    """The JSON text of a value."""
    text = _render(value, odd, 0)
    if odd.pretty:
        text = "\n" + text + "\n\n"
    return text.encode()


def _render(value, odd, depth):
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int):
        return _integer(value, odd.number_form)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return _string(value, odd.escapes)
    gap, close, colon = ("\n" + "  " * (depth + 1), "\n" + "  " * depth, " : ") if odd.pretty else ("", "", ":")
    if isinstance(value, dict):
        if odd.extra_fields and not getattr(value, "closed", False):
            value = {"_trace": "a-1", **value, "_links": Map({"self": None, "tags": []})}
        items = list(value.items())
        if odd.reversed_members:
            items.reverse()
        parts = [_string(k, odd.escapes) + colon + _render(v, odd, depth + 1) for k, v in items]
        left, right = "{", "}"
    else:
        parts = [_render(v, odd, depth + 1) for v in value]
        left, right = "[", "]"
    if not parts:
        return left + right
    return left + gap + ("," + gap).join(parts) + close + right


class Map(dict):
    """An object whose members are data (header names, namespaces), so that nothing may be added."""

    closed = True


def _integer(value, form):
    if form == "float":
        return f"{value}.0"
    if form == "exponent":
        digits = str(abs(value))
        sign = "-" if value < 0 else ""
        if len(digits) == 1:
            return f"{sign}{digits}e0"
        return f"{sign}{digits[0]}.{digits[1:]}E+{len(digits) - 1}"
    return str(value)


@functools.lru_cache(maxsize=20_000)
def _string(text, escapes):
    written = json.dumps(text, ensure_ascii=escapes)
    if not escapes:
        return written
    out, i = [], 1
    while i < len(written) - 1:
        c = written[i]
        if c == "\\":
            step = 6 if written[i + 1] == "u" else 2
            out.append(written[i:i + step])
            i += step
            continue
        out.append("\\/" if c == "/" else "\\u%04x" % ord(c) if c in "aeiou<>&" else c)
        i += 1
    return '"' + "".join(out) + '"'


def timestamp(seconds, odd, index=0):
    """A time as the x of a point: date and time with a fraction, followed by +0000 UTC."""
    digits = odd.fraction or "6"
    count = (1, 3, 6, 9, 2)[index % 5] if digits == "mixed" else int(digits)
    whole = int(seconds // 1)
    date = datetime.datetime.fromtimestamp(whole, datetime.timezone.utc)
    fraction = ("%.9f" % (seconds - whole))[2:][:count]
    return date.strftime("%Y-%m-%dT%H:%M:%S." if odd.date_t else "%Y-%m-%d %H:%M:%S.") + fraction + " +0000 UTC"


def day_name(day, odd):
    """The name of a day; its form is open."""
    if odd.day_names == "long":
        return f"{day.day} {day.strftime('%B')}"
    if odd.day_names == "weekday":
        return f"{day.strftime('%A')} {day.day}"
    return day.isoformat()
