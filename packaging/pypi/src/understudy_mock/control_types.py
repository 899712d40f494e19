# Code generated from spec/control.yaml by packaging/types_test.go. DO NOT EDIT.
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
    # true: the connection ends without an answer
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
    # length of the whole body, if it was cut or dropped
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

    # why there was no response
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
    # Unix ms, real time; on the clock of the account if it repeats (see the overview)
    at: int
    method: str
    # with the query
    path: str
    # how many requests the account had before, also those that are no longer kept
    position: int
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


class _BodyPart(TypedDict):
    # the byte after the part
    end: int
    # bytes of the whole body
    size: int
    # the first byte of the part
    start: int
    # whether the whole body is text
    text: bool


class BodyPart(_BodyPart, total=False):
    body: str
    bodyBase64: str


class Canceled(TypedDict):
    # number of messages
    cancelled: int


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
    # that have begun
    attempts: int
    # why the message failed, in words
    cause: str
    dlqId: str
    # Unix ms
    failedAt: int
    messageId: str
    retried: int
    # of the message
    role: str
    # workflow: a failed run; message: any other message, such as the failure callback of a run
    source: Literal["message", "workflow"]
    url: str


class DLQRow(_DLQRow, total=False):
    """A DLQ entry without its body and headers."""

    # the start of the last response, or the error
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
    # entries on all pages by source
    counts: Dict[str, int]
    # of the next page; missing on the last
    cursor: str


class Deliveries(TypedDict):
    # older entries that were dropped
    dropped: int
    entries: List[Delivery]
    # maximum number of entries that are kept
    limit: int
    # older entries that match and are kept but are not in this answer; a larger limit adds them
    older: int


class Done(TypedDict):
    status: Literal["ok"]


Empty = Dict[str, Any]


class Error(TypedDict):
    error: str


class Excerpt(TypedDict):
    """what was found there, and what is around it"""

    after: str
    before: str
    found: str


class _Remedy(TypedDict):
    # the same in a terminal
    command: str
    do: Literal["retry", "resume", "restart", "hurry", "open the answer", "notify", "unpause key", "unpause queue", "advance"]
    does: str
    method: str
    path: str


class Remedy(_Remedy, total=False):
    """what can be done, as a request and as a command"""

    # the event, key or queue, or the duration of a move of the clock
    subject: str


class _SignatureCheck(TypedDict):
    # what to compare, in words
    checks: List[str]
    header: str
    # which signing key made the signature. unknown: one that the account no longer has; dropped: the server does not have the delivery, as after a restart
    key: Literal["current", "next", "unknown", "dropped"]


class SignatureCheck(_SignatureCheck, total=False):
    """how the attempt was signed, after a 401 or 403"""

    # environment variable that must have the key
    variable: str


class _Stack(TypedDict):
    text: str


class Stack(_Stack, total=False):
    """the stack trace in the answer"""

    # the innermost call in the code of the endpoint
    own: str


class _LastFailure(TypedDict):
    attempt: int
    # maximum number
    attempts: int
    can: List[Remedy]
    messageId: str
    # the step, the attempt, and the first line of the answer or of the error
    reason: str


class LastFailure(_LastFailure, total=False):
    """the latest attempt that failed, and what can be done; missing when none has"""

    # why there was no answer
    error: str
    responseStatus: int
    signature: SignatureCheck
    stack: Stack
    stepName: str


class _LineageLink(TypedDict):
    # whether it came before the message or run
    before: bool
    id: str
    kind: Literal["message", "run", "schedule", "DLQ entry"]
    # whether the account still has it
    known: bool
    # such as resumes
    relation: str


class LineageLink(_LineageLink, total=False):
    """what a message, run or DLQ entry came from, or what came from it"""

    # Unix ms
    at: int
    state: str


class _Reason(TypedDict):
    reason: str


class Reason(_Reason, total=False):
    # such as sleeping, waiting, retrying, delayed, or clock
    kind: str
    next: Remedy
    # the rule that set the time
    rule: str
    # Unix ms
    until: int


class _ExplanationTrace(TypedDict):
    traceId: str


class ExplanationTrace(_ExplanationTrace, total=False):
    """missing without trace context"""

    # in the viewer of --trace-url
    url: str


class _Explanation(TypedDict):
    # empty when it is not in the DLQ
    dlqId: str
    id: str
    kind: Literal["message", "run", "DLQ entry", "flow-control key"]
    lineage: List[LineageLink]
    now: int
    # paths of the views that show it
    pages: List[str]
    reasons: List[Reason]
    state: str


class Explanation(_Explanation, total=False):
    failure: LastFailure
    # missing without trace context
    trace: ExplanationTrace


class _Fault(TypedDict):
    # what fails: API calls or deliveries
    on: Literal["api", "delivery"]


class Fault(_Fault, total=False):
    # body of the answer
    body: str
    # delay, such as 3s: of an API call in real time, of a delivery on the clock
    delay: str
    # true: the connection ends without an answer
    drop: bool
    # true: the delivery is made twice
    duplicate: bool
    # true: the API call takes effect before its answer is lost or replaced
    executed: bool
    # headers that the delivery must have, by name
    header: Dict[str, str]
    # headers of the answer
    headers: Dict[str, str]
    # operationId of the API calls that fail, such as publishMessage; all by default
    operation: str
    # a refusal of an API call as the service sends it, with status, body and headers
    preset: Literal["rate-limit-daily", "rate-limit-burst"]
    # how likely it applies, from 0 to 1
    probability: float
    # true: the next delivery comes first
    reorder: bool
    # status of the answer
    status: int
    # how often it applies; 0, the default, is always
    times: int
    # URL of the delivery, in which * matches any characters, or a regular expression between slashes
    url: str


Faults = List[Fault]


class _FleetAccount(TypedDict):
    id: str
    # serving; waiting: no server has it; refused: its server cannot serve it, see reason; others: the answering server is working on it
    state: Literal["claiming", "dropping", "moving", "opening", "refused", "serving", "waiting"]


class FleetAccount(_FleetAccount, total=False):
    # id of its server; missing while it has none
    owner: str
    reason: str
    # of its server
    url: str


class _FleetMember(TypedDict):
    # number of accounts
    accounts: int
    # of this start of the server; different after a restart
    id: str
    # Unix ms
    since: int
    # how the other servers reach it
    url: str


class FleetMember(_FleetMember, total=False):
    # it is handing its accounts over to the others
    leaving: bool


class Fleet(TypedDict):
    accounts: List[FleetAccount]
    members: List[FleetMember]
    # how often an account moved to another server, as seen by the answering server since its start
    ownerChanges: int
    # id of the server that answers
    self: str


class HealthClock(TypedDict):
    mode: Literal["real", "manual", "auto"]
    now: int


class HealthJournal(TypedDict):
    # maximum number of entries that a journal keeps
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


class JournalEnd(TypedDict):
    # of the account's clock, Unix ms
    at: int
    # number of the record
    lsn: int


class JournalQueue(TypedDict):
    lag: int
    name: str
    parallelism: int
    paused: bool


class _JournalRecord(TypedDict):
    at: int
    lsn: int


class JournalRecord(_JournalRecord, total=False):
    """that was applied last"""

    # of the command, short, without bodies and credentials
    arguments: str
    # the command; missing where the state is that of the snapshot
    kind: str


class _JournalState(TypedDict):
    dlq: int
    flowKeys: int
    groups: int
    inFlight: int
    # by state
    messages: Dict[str, int]
    # flow-control keys that are paused
    paused: int
    queueCount: int
    # the first 50 by name
    queues: List[JournalQueue]
    # by state
    runs: Dict[str, int]
    schedules: int
    waiters: int


class JournalState(_JournalState, total=False):
    # Unix ms of the next timer
    nextDue: int


class JournalStep(TypedDict):
    account: str
    first: JournalEnd
    last: JournalEnd
    record: JournalRecord
    # the journal begins with a snapshot: states before it are gone
    snapshot: bool
    state: JournalState


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
    # the step of its run whose result, call or sleep it carries
    carries: str
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
    why: Reason
    workflowRunId: str


class _Messages(TypedDict):
    messages: List[MessageRow]


class Messages(_Messages, total=False):
    # entries on all pages by state, if they were asked for
    counts: Dict[str, int]
    # of the next page; missing on the last
    cursor: str


class _Overview(TypedDict):
    account: str
    # that have begun
    attempts: int
    clock: Clock
    dlq: int
    faults: int
    flowKeys: int
    # what a reset of the account removes, in words
    forgets: str
    groups: int
    inFlight: int
    # by state
    messages: Dict[str, int]
    parallel: int
    # flow-control keys that are paused
    paused: int
    # recent rate of attempts
    perSecond: float
    queues: int
    # Unix ms of the wall clock
    real: int
    # by state
    runs: Dict[str, int]
    schedules: int
    stubs: int
    waiters: int


class Overview(_Overview, total=False):
    """A summary of an account."""

    # for bug reports
    flags: List[str]
    # the server has a store with journals
    journal: bool
    # when the next timer fires, Unix ms; missing for never
    nextDue: int
    # the server has a seed, and the clock is not real: requests have times of the clock, so that the same commands give the same bytes
    repeats: bool


class _Progress(TypedDict):
    # deliveries that were attempted
    attempts: int
    # attempts that failed
    failed: int
    # Unix ms
    now: int
    # runs whose sleep or wait for an event ended
    runsWoken: int
    timersFired: int


class Progress(_Progress, total=False):
    # when the next timer fires, Unix ms; missing for never
    nextDue: int


class Relation(TypedDict):
    # with the steps that had finished
    resumed: bool
    workflowRunId: str


class Requests(TypedDict):
    # older entries that were dropped
    dropped: int
    entries: List[Exchange]
    # maximum number of entries that are kept
    limit: int
    # older entries that match and are kept but are not in this answer; a larger limit adds them
    older: int


Rewrites = Dict[str, str]


class _RunRow(TypedDict):
    # Unix ms
    workflowRunCreatedAt: int
    workflowRunId: str
    workflowState: str
    workflowUrl: str


class RunRow(_RunRow, total=False):
    """A workflow run without its steps."""

    # of the message that it waits for, or that it failed with
    attempts: int
    dlqId: str
    flowControlKey: str
    invokerWorkflowRunId: str
    labels: List[str]
    # that this message may have
    maxAttempts: int
    predecessor: Relation
    # the step that its latest attempt was for, such as the step that failed; missing if unknown
    stepName: str
    successor: Relation
    why: Reason
    # Unix ms
    workflowRunCompletedAt: int


class _Runs(TypedDict):
    runs: List[RunRow]


class Runs(_Runs, total=False):
    # entries on all pages by state, if they were asked for
    counts: Dict[str, int]
    # of the next page; missing on the last
    cursor: str


class _ScheduleRow(TypedDict):
    cron: str
    destination: str
    isPaused: bool
    # Unix ms
    nextTimes: List[int]
    scheduleId: str
    # IANA name
    timeZone: str
    # when it is due, without the zone: at 09:30, Monday through Friday
    words: str


class ScheduleRow(_ScheduleRow, total=False):
    # states by message id
    lastScheduleStates: Dict[str, str]
    # Unix ms
    lastScheduleTime: int


class Schedules(TypedDict):
    schedules: List[ScheduleRow]


class _SearchHit(TypedDict):
    kind: Literal["message", "run", "dlq", "log"]
    state: str
    # Unix ms: of the creation, the failure or the event
    time: int


class SearchHit(_SearchHit, total=False):
    """Something that a search has found, without its body and headers."""

    dlqId: str
    error: str
    excerpt: Excerpt
    # of the message, the run or the DLQ entry; an event has none
    id: str
    labels: List[str]
    messageId: str
    method: str
    # where the first word was found, such as body or header X-Order
    place: str
    # of the latest answer
    responseStatus: int
    # of the event
    sequence: int
    stepName: str
    url: str
    workflowRunId: str


class _Search(TypedDict):
    # by kind, for kinds that may have more hits: after count hits, after 256 MiB of texts, or after 4 MiB of decompressed bodies; each cursor continues its kind
    cursors: Dict[str, str]
    hits: List[SearchHit]
    query: str
    tookMs: float


class Search(_Search, total=False):
    # the only cursor, if one kind was searched
    cursor: str


class _Stub(TypedDict):
    # a URL in which * matches any characters, or a regular expression between slashes
    url: str


class Stub(_Stub, total=False):
    # used one after the other; the last one repeats
    answers: List[Answer]
    # headers that the delivery must have, by name
    header: Dict[str, str]
    # method of the delivery; any by default
    method: str
    # each message starts with the first answer
    perMessage: bool


Stubs = List[Stub]


class UndoPoint(TypedDict):
    # that it takes
    bytes: int
    id: str
    # what followed it
    label: str
    # events of the log since then that going back discards, without cancellations; 100 also for more, and 0 for a part of the account
    later: int
    # what goes back; a queue that has messages is kept with the account
    scope: Literal["account", "group", "queue", "rules", "schedule"]
    # Unix ms on the clock of the account
    time: int


class UndoPoints(TypedDict):
    # maximum bytes of all points
    limit: int
    points: List[UndoPoint]


class WaitingRun(TypedDict):
    deadline: int
    eventId: str
    workflowRunId: str


class Waiters(TypedDict):
    waiters: List[WaitingRun]
