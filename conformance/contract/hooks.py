"""What schemathesis cannot know from the documents alone."""

import re

import schemathesis

# Rules that a schema cannot state. A request that fits the schemas and breaks
# one of them is refused, and the error names the rule. Each row is the text of
# the error, and why no schema has it.
BEYOND_SCHEMAS = [
    (r"cursor: .*must be the cursor of an earlier page", "a cursor is what the server gave"),
    (r"empty filter: must have a value", "the same parameter of a list may be empty, of a bulk operation it may not"),
    (r"query \w+: .*cannot be read", "a semicolon in a query"),
    (r"Svc-[\w-]+: missing", "one header needs another, or the query parameter of the same name"),
    (r"(at most 365d|a duration of 1s or more)", "the sum of the parts of a duration"),
    (r"(http\(s\)|URL)", "the parts of a URL"),
    (r"must be (parallelism=N|a formula|text of 1 to|1 to 256 bytes|body, header)", "a small language of its own; lengths in bytes"),
    (r"[Rr]etry.?[Dd]elay", "a formula has a grammar"),
    (r"cron", "a cron line has a grammar and time zones"),
    (r"query (state|responseStatus): ", "a list in one parameter"),
    (r"(header name|body /headers)", "names of an object"),
    (r"neither name nor url", "one of two members; either may be null"),
    (r"must be a string, a number, a boolean or a list", "a filter in a body, which a server of any version may know"),
    (r"query workflowUrlExactMatch: given without workflowUrl", "one parameter needs another"),
    (r"body /.*: unknown filter", "an object that lists its members would refuse those of other versions without a hint"),
    (r"item \d+: ", "an item of a batch is a request of its own"),
    (r"(at least one of parallelism|nothing to unpin)", "one of several parameters"),
    (r"takes no step", "the step of a run that does not exist"),
    (r"(Only|only) one of|must be provided", "one of several members"),
    (r"This index|vector dimension|sparse vector|32 bits|finite number", "what the index holds, and 32-bit numbers"),
    (r"filter: invalid value", "a filter has a grammar"),
    (r"\bERR |WRONGTYPE|NOSCRIPT|EXECABORT|MISCONF", "a command of the key-value store has its own arguments"),
]


@schemathesis.hook
def filter_failure(context, failure, case, response):
    if getattr(failure, "code", "") != "ST202":
        return True
    text = response.text
    return not any(re.search(rule, text) for rule, _ in BEYOND_SCHEMAS)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Keeps calls short that would wait for something which never happens."""
    if isinstance(case.query, dict) and str(case.query.get("follow")).lower() in ("true", "1", ""):
        del case.query["follow"]  # a stream without end
    if case.path in ("/_understudy/await", "/_understudy/settle", "/_understudy/clock/advance") and isinstance(case.body, dict):
        case.body.setdefault("timeout", "10ms")
