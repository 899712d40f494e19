"""Names that the interface document describes by meaning and does not show.

Each meaning has two names here: an ordinary one, and the one of --other-names. The
names with a value of HEADER are written behind the brand prefix.
"""

DLQ_FILTERS = {
    "cursor": ("cursor", "after"),
    "run": ("runId", "run"),
    "url": ("runUrl", "endpoint"),
    "from": ("from", "since_ms"),
    "to": ("until", "till_ms"),
    "status": ("status", "answer_code"),
    "ip": ("ip", "publisher"),
    "callback": ("callbackState", "failure-callback"),
    "size": ("size", "page_size"),
    "label": ("label", "tag"),
}

LOG_FILTERS = {
    "cursor": ("cursor", "after"),
    "run": ("runId", "run"),
    "url": ("runUrl", "endpoint"),
    "created": ("runCreated", "run_started_ms"),
    "state": ("state", "event"),
    "message": ("message", "message-id"),
    "from": ("from", "since_ms"),
    "to": ("until", "till_ms"),
    "size": ("size", "page_size"),
}

HEADERS = {
    "timeout": ("Timeout", "Time-Limit"),
    "callback": ("Callback", "Answer-To"),
    "failure_callback": ("Failure-Callback", "Failure-To"),
    "flow_key": ("Flow-Control-Key", "Lane"),
    "label": ("Label", "Tag"),
    "restart_flow_key": ("Flow-Control-Key", "New-Lane"),
    "restart_retries": ("Retries", "New-Attempts"),
}

DLQ_FIELDS = {
    "payload": ("payload", "request_body"),
    "payload_base64": ("payloadBase64", "request_body_b64"),
    "callback_headers": ("failureCallbackHeaders", "failure_to_headers"),
    "flow_key": ("flowControlKey", "lane"),
    "response_base64": ("responseBodyBase64", "answer_b64"),
    "label": ("label", "tag"),
}

LOG_FIELDS = {
    "headers": ("headers", "message_headers"),
    "error": ("error", "reason"),
    "status": ("responseStatus", "answer_code"),
    "body": ("responseBody", "answer_text"),
    "response_headers": ("responseHeaders", "answer_headers"),
    "invoker_run": ("invokerRunId", "parent_run"),
    "invoker_created": ("invokerCreatedAt", "parent_started"),
    "invoker_url": ("invokerUrl", "parent_url"),
    "run_response": ("runResponse", "outcome"),
}

STEP_FIELDS = {
    "id": ("stepId", "number"),
    "output": ("output", "result"),
    "sleep_until": ("sleepUntil", "wakes_at"),
    "sleep_for": ("sleepFor", "sleeps_ms"),
    "call_url": ("callUrl", "target"),
    "call_method": ("callMethod", "verb"),
    "call_headers": ("callHeaders", "sent_headers"),
    "call_body": ("callBody", "sent_body"),
    "call_status": ("callResponseStatus", "got_code"),
    "call_response_body": ("callResponseBody", "got_body"),
    "call_response_headers": ("callResponseHeaders", "got_headers"),
    "wait_event": ("waitEventId", "event"),
    "wait_deadline": ("waitDeadline", "gives_up_at"),
    "wait_timeout": ("waitTimeout", "gives_up_after"),
    "wait_timed_out": ("waitTimedOut", "gave_up"),
    "invoke_run": ("invokedRunId", "child_run"),
    "invoke_url": ("invokedUrl", "child_url"),
    "invoke_created": ("invokedCreatedAt", "child_started"),
    "invoke_body": ("invokedBody", "child_body"),
    "invoke_headers": ("invokedHeaders", "child_headers"),
}


class Names:
    """The names in force; for example names.dlq_filters["run"]."""

    def __init__(self, odd):
        self.brand = odd.brand or "Svc"
        choice = 1 if odd.other_names else 0
        self.dlq_filters, self.log_filters, self.headers, self.dlq_fields, self.log_fields, self.step_fields = (
            {meaning: pair[choice] for meaning, pair in table.items()}
            for table in (DLQ_FILTERS, LOG_FILTERS, HEADERS, DLQ_FIELDS, LOG_FIELDS, STEP_FIELDS)
        )

    def header(self, meaning):
        """The full name of a configuration header that the document describes by meaning."""
        return f"{self.brand}-{self.headers[meaning]}"
