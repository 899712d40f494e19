# Code generated from spec/control.yaml by packaging/pypi/types. DO NOT EDIT.
"""The answers of the control API, as the server checks them before it sends them.

A class whose name begins with an underscore has the keys that are always there.
"""

from typing import Any, Dict, List, Literal, TypedDict, Union


class AccountEnv(TypedDict):
    name: str
    value: str


class Account(TypedDict):
    # url is that of --advertise, and not the address of the listener
    advertised: bool
    currentSigningKey: str
    # the environment for clients
    env: List[AccountEnv]
    headerPrefix: str
    id: str
    kvToken: str
    managementPassword: str
    managementUsername: str
    nextSigningKey: str
    token: str
    # how clients reach the server
    url: str
    userId: str
    vectorIndexes: List[str]
    vectorToken: str


class AccountList(TypedDict):
    accounts: List[str]


class Answer(TypedDict, total=False):
    body: str
    # on the clock, such as 3s
    delay: str
    # the connection ends without an answer
    drop: bool
    # no answer at all
    fail: Literal["refused", "reset", "timeout", "tls"]
    headers: Dict[str, str]
    # a number, or text with captures such as $1
    status: Union[int, str]


Headers = Dict[str, List[str]]


class Content(TypedDict, total=False):
    """One half of an exchange. A body that is not UTF-8 is in bodyBase64."""

    body: str
    bodyBase64: str
    # length of the whole body, when this is only its beginning or it was dropped
    bodyBytes: int
    # headers and body were dropped to make room (--memory)
    bodyDropped: bool
    headers: Headers
    # of a response; missing when none came
    status: int


class _Delivery(TypedDict):
    # Unix ms, on the clock of the account
    at: int
    # 0 for the first
    attempt: int
    durationMs: float
    messageId: str
    method: str
    request: Content
    response: Content
    # what the message is for, such as message, callback or step
    role: str
    url: str


class Delivery(_Delivery, total=False):
    """One attempt to deliver a message, as it went over the wire."""

    # why no response came
    error: str
    # no stub matched: the closest one, and what did not match
    nearMiss: str
    # why the body of the response is incomplete
    note: str
    # Unix ms of the wall clock, when the attempt ended; missing in a server with a seed
    realAt: int
    # a stub answered
    stubbed: bool


class _Exchange(TypedDict):
    account: str
    # Unix ms, on the clock of the account
    at: int
    method: str
    # with the query
    path: str
    request: Content
    response: Content


class Exchange(_Exchange, total=False):
    """One request to the interface, and its response."""

    operationId: str
    # why the request was refused
    problems: List[str]


class _Event(TypedDict):
    # such as DELIVERED, FAILED or RUN_SUCCESS
    state: str
    # Unix ms
    time: int


class Event(_Event, total=False):
    """An event of the log. Events of a message have messageId and url; events of a run have workflowRunId and workflowUrl."""

    dlqId: str
    error: str
    messageId: str
    # Unix ms
    nextDeliveryTime: int
    responseBody: str
    responseStatus: int
    url: str
    workflowRunId: str
    workflowUrl: str


class Awaited(TypedDict):
    count: int
    entries: List[Union[Delivery, Exchange, Event]]
    now: int


class Clock(TypedDict):
    mode: Literal["real", "manual", "auto"]
    now: int


class Credentials(TypedDict):
    currentSigningKey: str
    id: str
    kvToken: str
    managementPassword: str
    managementUsername: str
    nextSigningKey: str
    token: str
    userId: str
    vectorToken: str


class _DLQRow(TypedDict):
    # why the message failed, in words
    cause: str
    dlqId: str
    # Unix ms
    failedAt: int
    messageId: str
    retried: int
    url: str


class DLQRow(_DLQRow, total=False):
    """A DLQ entry without its body and headers."""

    # the beginning of the last response, or the error
    answer: str
    failureFunctionState: str
    flowControlKey: str
    labels: List[str]
    responseStatus: int
    workflowRunId: str


class _DLQ(TypedDict):
    # entries on all pages
    all: int
    entries: List[DLQRow]


class DLQ(_DLQ, total=False):
    # of the next page; missing on the last
    cursor: str


class Deliveries(TypedDict):
    # older entries that were dropped
    dropped: int
    entries: List[Delivery]
    # most entries that are kept
    limit: int


class Done(TypedDict):
    status: Literal["ok"]


class Error(TypedDict):
    error: str


class _Reason(TypedDict):
    reason: str


class Reason(_Reason, total=False):
    # such as sleeping, waiting, retrying or delayed
    kind: str
    # the rule that set the time
    rule: str
    # Unix ms
    until: int


class Explanation(TypedDict):
    # empty when it is not in the DLQ
    dlqId: str
    id: str
    kind: Literal["message", "run", "DLQ entry", "flow-control key"]
    now: int
    # paths of the views that show it
    pages: List[str]
    reasons: List[Reason]
    state: str


class _Fault(TypedDict):
    on: Literal["api", "delivery"]


class Fault(_Fault, total=False):
    body: str
    # api: real time; delivery: on the clock
    delay: str
    drop: bool
    duplicate: bool
    header: Dict[str, str]
    headers: Dict[str, str]
    # operationId
    operation: str
    preset: Literal["rate-limit-daily", "rate-limit-burst"]
    probability: float
    reorder: bool
    status: int
    times: int
    # of a delivery, as in a stub
    url: str


Faults = List[Fault]


class HealthClock(TypedDict):
    mode: Literal["real", "manual", "auto"]
    now: int


class HealthJournal(TypedDict):
    # most entries that a journal keeps
    limit: int


class _HealthMemoryBacklog(TypedDict):
    bytes: int
    limit: int
    messages: int


class HealthMemoryBacklog(_HealthMemoryBacklog, total=False):
    messagesLimit: int


class HealthMemory(TypedDict):
    """bytes"""

    backlog: HealthMemoryBacklog
    keyValue: int
    limit: int
    observations: int


class Health(TypedDict):
    clock: HealthClock
    dialect: str
    journal: HealthJournal
    # bytes
    memory: HealthMemory
    status: Literal["ok"]
    version: str


class Loaded(TypedDict):
    # how many accounts received something
    accounts: int


class _LogRow(TypedDict):
    sequence: int
    state: str
    # Unix ms
    time: int
    url: str


class LogRow(_LogRow, total=False):
    """An event of a message or a run without body and headers."""

    # the step sleeps until nextDeliveryTime
    asleep: bool
    # the error in words
    cause: str
    error: str
    messageId: str
    # Unix ms
    nextDeliveryTime: int
    responseStatus: int
    stepName: str
    workflowRunId: str


class _Log(TypedDict):
    events: List[LogRow]


class Log(_Log, total=False):
    # of the next page; missing on the last
    cursor: str


class _MessageRow(TypedDict):
    # that have begun
    attempts: int
    # of the body
    bytes: int
    # Unix ms
    createdAt: int
    maxRetries: int
    messageId: str
    method: str
    retried: int
    role: str
    # such as CREATED, RETRY, DELIVERED or FAILED
    state: str
    url: str


class MessageRow(_MessageRow, total=False):
    """A message in its current state, without its body and headers."""

    # it carries a sleep of its run
    asleep: bool
    # body and headers were dropped to make room (--memory)
    bodyDropped: bool
    # why its latest attempt failed
    cause: str
    flowControlKey: str
    labels: List[str]
    # Unix ms
    nextDeliveryTime: int
    queueName: str
    scheduleId: str
    # the message that a callback reports on
    sourceMessageId: str
    # URL group
    topicName: str
    workflowRunId: str


class _Messages(TypedDict):
    messages: List[MessageRow]


class Messages(_Messages, total=False):
    # of the next page; missing on the last
    cursor: str


class Progress(TypedDict):
    # deliveries that were attempted
    attempts: int
    # Unix ms
    now: int
    timersFired: int


class Relation(TypedDict):
    # with the steps that had finished
    resumed: bool
    workflowRunId: str


class Requests(TypedDict):
    # older entries that were dropped
    dropped: int
    entries: List[Exchange]
    # most entries that are kept
    limit: int


class _RunRow(TypedDict):
    # Unix ms
    workflowRunCreatedAt: int
    workflowRunId: str
    workflowState: str
    workflowUrl: str


class RunRow(_RunRow, total=False):
    """A workflow run without its steps."""

    dlqId: str
    flowControlKey: str
    invokerWorkflowRunId: str
    labels: List[str]
    predecessor: Relation
    successor: Relation
    why: Reason
    # Unix ms
    workflowRunCompletedAt: int


class _Runs(TypedDict):
    runs: List[RunRow]


class Runs(_Runs, total=False):
    # of the next page; missing on the last
    cursor: str


class _ScheduleRow(TypedDict):
    cron: str
    destination: str
    isPaused: bool
    # Unix ms
    nextTimes: List[int]
    scheduleId: str


class ScheduleRow(_ScheduleRow, total=False):
    # states by message id
    lastScheduleStates: Dict[str, str]
    # Unix ms
    lastScheduleTime: int


class Schedules(TypedDict):
    schedules: List[ScheduleRow]


class _Stub(TypedDict):
    # a URL in which * stands for anything, or a regular expression between slashes
    url: str


class Stub(_Stub, total=False):
    answers: List[Answer]
    header: Dict[str, str]
    method: str
    # each message begins with the first answer
    perMessage: bool


Stubs = List[Stub]


class WaitersWaiters(TypedDict):
    deadline: int
    eventId: str
    workflowRunId: str


class Waiters(TypedDict):
    waiters: List[WaitersWaiters]
