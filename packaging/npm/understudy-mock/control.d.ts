// Code generated from spec/control.yaml by packaging/types_test.go. DO NOT EDIT.

export interface Account {
  /** url is that of --advertise, and not the address of the listener */
  advertised: boolean;
  currentSigningKey: string;
  /** the environment for clients */
  env: {
    name: string;
    value: string;
  }[];
  headerPrefix: string;
  id: string;
  kvToken: string;
  managementPassword: string;
  managementUsername: string;
  nextSigningKey: string;
  token: string;
  /** how clients reach the server */
  url: string;
  userId: string;
  vectorIndexes: string[];
  vectorToken: string;
}

export interface AccountList {
  accounts: string[];
}

export interface Answer {
  body?: string;
  /** on the clock, such as 3s */
  delay?: string;
  /** true: the connection ends without an answer */
  drop?: boolean;
  /** no answer at all */
  fail?: "refused" | "reset" | "timeout" | "tls";
  headers?: Record<string, string>;
  /** a number, or text with captures such as $1 */
  status?: number | string;
}

export interface Awaited {
  count: number;
  entries: (Delivery | Exchange | Event)[];
  now: number;
}

export interface BodyPart {
  body?: string;
  bodyBase64?: string;
  /** the byte after the part */
  end: number;
  /** bytes of the whole body */
  size: number;
  /** the first byte of the part */
  start: number;
  /** whether the whole body is text */
  text: boolean;
}

export interface Canceled {
  /** number of messages */
  cancelled: number;
}

export interface Clock {
  mode: "real" | "manual" | "auto";
  now: number;
}

/** One half of an exchange. A body that is not UTF-8 is in bodyBase64. */
export interface Content {
  body?: string;
  bodyBase64?: string;
  /** length of the whole body, if it was cut or dropped */
  bodyBytes?: number;
  /** headers and body were dropped to make room (--memory) */
  bodyDropped?: boolean;
  headers?: Headers;
  /** of a response; missing when none came */
  status?: number;
}

export interface Credentials {
  currentSigningKey: string;
  id: string;
  kvToken: string;
  managementPassword: string;
  managementUsername: string;
  nextSigningKey: string;
  token: string;
  userId: string;
  vectorToken: string;
}

export interface DLQ {
  /** entries on all pages */
  all: number;
  /** entries on all pages by source */
  counts?: Record<string, number>;
  /** of the next page; missing on the last */
  cursor?: string;
  entries: DLQRow[];
}

/** A DLQ entry without its body and headers. */
export interface DLQRow {
  /** the start of the last response, or the error */
  answer?: string;
  /** that have begun */
  attempts: number;
  /** why the message failed, in words */
  cause: string;
  dlqId: string;
  /** Unix ms */
  failedAt: number;
  failureFunctionState?: string;
  flowControlKey?: string;
  labels?: string[];
  messageId: string;
  responseStatus?: number;
  retried: number;
  /** of the message */
  role: string;
  /** workflow: a failed run; message: any other message, such as the failure callback of a run */
  source: "message" | "workflow";
  url: string;
  workflowRunId?: string;
}

export interface Deliveries {
  /** older entries that were dropped */
  dropped: number;
  entries: Delivery[];
  /** maximum number of entries that are kept */
  limit: number;
  /** older entries that match and are kept but are not in this answer; a larger limit adds them */
  older: number;
}

/** One attempt to deliver a message, as it went over the wire. */
export interface Delivery {
  /** Unix ms, on the clock of the account */
  at: number;
  /** 0 for the first */
  attempt: number;
  durationMs: number;
  /** why there was no response */
  error?: string;
  messageId: string;
  method: string;
  /** no stub matched: the closest one, and what did not match */
  nearMiss?: string;
  /** why the body of the response is incomplete */
  note?: string;
  /** Unix ms of the wall clock, when the attempt ended; missing in a server with a seed */
  realAt?: number;
  request: Content;
  response: Content;
  /** what the message is for, such as message, callback or step */
  role: string;
  /** a stub answered */
  stubbed?: boolean;
  url: string;
}

export interface Done {
  status: "ok";
}

export type Empty = Record<string, never>;

export interface Error {
  error: string;
  [name: string]: unknown;
}

/** An event of the log. Events of a message have messageId and url; events of a run have workflowRunId and workflowUrl. */
export interface Event {
  dlqId?: string;
  error?: string;
  messageId?: string;
  /** Unix ms */
  nextDeliveryTime?: number;
  responseBody?: string;
  responseStatus?: number;
  /** such as DELIVERED, FAILED or RUN_SUCCESS */
  state: string;
  /** Unix ms */
  time: number;
  url?: string;
  workflowRunId?: string;
  workflowUrl?: string;
  [name: string]: unknown;
}

/** what was found there, and what is around it */
export interface Excerpt {
  after: string;
  before: string;
  found: string;
}

/** One request to the interface, and its response. */
export interface Exchange {
  account: string;
  /** Unix ms, real time; on the clock of the account if it repeats (see the overview) */
  at: number;
  method: string;
  operationId?: string;
  /** with the query */
  path: string;
  /** how many requests the account had before, also those that are no longer kept */
  position: number;
  /** why the request was refused */
  problems?: string[];
  request: Content;
  response: Content;
}

export interface Explanation {
  /** empty when it is not in the DLQ */
  dlqId: string;
  failure?: LastFailure;
  id: string;
  kind: "message" | "run" | "DLQ entry" | "flow-control key";
  lineage: LineageLink[];
  now: number;
  /** paths of the views that show it */
  pages: string[];
  reasons: Reason[];
  state: string;
  /** missing without trace context */
  trace?: {
    traceId: string;
    /** in the viewer of --trace-url */
    url?: string;
  };
}

export interface Fault {
  /** body of the answer */
  body?: string;
  /** delay, such as 3s: of an API call in real time, of a delivery on the clock */
  delay?: string;
  /** true: the connection ends without an answer */
  drop?: boolean;
  /** true: the delivery is made twice */
  duplicate?: boolean;
  /** true: the API call takes effect before its answer is lost or replaced */
  executed?: boolean;
  /** headers that the delivery must have, by name */
  header?: Record<string, string>;
  /** headers of the answer */
  headers?: Record<string, string>;
  /** what fails: API calls or deliveries */
  on: "api" | "delivery";
  /** operationId of the API calls that fail, such as publishMessage; all by default */
  operation?: string;
  /** a refusal of an API call as the service sends it, with status, body and headers */
  preset?: "rate-limit-daily" | "rate-limit-burst";
  /** how likely it applies, from 0 to 1 */
  probability?: number;
  /** true: the next delivery comes first */
  reorder?: boolean;
  /** status of the answer */
  status?: number;
  /** how often it applies; 0, the default, is always */
  times?: number;
  /** URL of the delivery, in which * matches any characters, or a regular expression between slashes */
  url?: string;
}

export type Faults = Fault[];

export interface Fleet {
  accounts: FleetAccount[];
  members: FleetMember[];
  /** how often an account moved to another server, as seen by the answering server since its start */
  ownerChanges: number;
  /** id of the server that answers */
  self: string;
}

export interface FleetAccount {
  id: string;
  /** id of its server; missing while it has none */
  owner?: string;
  reason?: string;
  /** serving; waiting: no server has it; refused: its server cannot serve it, see reason; others: the answering server is working on it */
  state: "claiming" | "dropping" | "moving" | "opening" | "refused" | "serving" | "waiting";
  /** of its server */
  url?: string;
}

export interface FleetMember {
  /** number of accounts */
  accounts: number;
  /** of this start of the server; different after a restart */
  id: string;
  /** it is handing its accounts over to the others */
  leaving?: boolean;
  /** Unix ms */
  since: number;
  /** how the other servers reach it */
  url: string;
}

/** values by canonical name */
export type Headers = Record<string, string[]>;

export interface Health {
  clock: {
    mode: "real" | "manual" | "auto";
    now: number;
  };
  dialect: string;
  journal: {
    /** maximum number of entries that a journal keeps */
    limit: number;
  };
  /** bytes */
  memory: {
    backlog: {
      bytes: number;
      limit: number;
      messages: number;
      messagesLimit?: number;
    };
    keyValue: number;
    limit: number;
    observations: number;
  };
  status: "ok";
  version: string;
}

export interface JournalEnd {
  /** of the account's clock, Unix ms */
  at: number;
  /** number of the record */
  lsn: number;
}

export interface JournalQueue {
  lag: number;
  name: string;
  parallelism: number;
  paused: boolean;
}

/** that was applied last */
export interface JournalRecord {
  /** of the command, short, without bodies and credentials */
  arguments?: string;
  at: number;
  /** the command; missing where the state is that of the snapshot */
  kind?: string;
  lsn: number;
}

export interface JournalState {
  dlq: number;
  flowKeys: number;
  groups: number;
  inFlight: number;
  /** by state */
  messages: Record<string, number>;
  /** Unix ms of the next timer */
  nextDue?: number;
  /** flow-control keys that are paused */
  paused: number;
  queueCount: number;
  /** the first 50 by name */
  queues: JournalQueue[];
  /** by state */
  runs: Record<string, number>;
  schedules: number;
  waiters: number;
}

export interface JournalStep {
  account: string;
  first: JournalEnd;
  last: JournalEnd;
  record: JournalRecord;
  /** the journal begins with a snapshot: states before it are gone */
  snapshot: boolean;
  state: JournalState;
}

/** the latest attempt that failed, and what can be done; missing when none has */
export interface LastFailure {
  attempt: number;
  /** maximum number */
  attempts: number;
  can: Remedy[];
  /** why there was no answer */
  error?: string;
  messageId: string;
  /** the step, the attempt, and the first line of the answer or of the error */
  reason: string;
  responseStatus?: number;
  signature?: SignatureCheck;
  stack?: Stack;
  stepName?: string;
}

/** what a message, run or DLQ entry came from, or what came from it */
export interface LineageLink {
  /** Unix ms */
  at?: number;
  /** whether it came before the message or run */
  before: boolean;
  id: string;
  kind: "message" | "run" | "schedule" | "DLQ entry";
  /** whether the account still has it */
  known: boolean;
  /** such as resumes */
  relation: string;
  state?: string;
}

export interface Loaded {
  /** how many accounts received something */
  accounts: number;
}

export interface Log {
  /** of the next page; missing on the last */
  cursor?: string;
  events: LogRow[];
}

/** An event of a message or a run without body and headers. */
export interface LogRow {
  /** the step sleeps until nextDeliveryTime */
  asleep?: boolean;
  /** the error in words */
  cause?: string;
  error?: string;
  messageId?: string;
  /** Unix ms */
  nextDeliveryTime?: number;
  responseStatus?: number;
  sequence: number;
  state: string;
  stepName?: string;
  /** Unix ms */
  time: number;
  url: string;
  workflowRunId?: string;
}

/** A message in its current state, without its body and headers. */
export interface MessageRow {
  /** it carries a sleep of its run */
  asleep?: boolean;
  /** that have begun */
  attempts: number;
  /** body and headers were dropped to make room (--memory) */
  bodyDropped?: boolean;
  /** of the body */
  bytes: number;
  /** the step of its run whose result, call or sleep it carries */
  carries?: string;
  /** why its latest attempt failed */
  cause?: string;
  /** Unix ms */
  createdAt: number;
  flowControlKey?: string;
  labels?: string[];
  maxRetries: number;
  messageId: string;
  method: string;
  /** Unix ms */
  nextDeliveryTime?: number;
  queueName?: string;
  retried: number;
  role: string;
  scheduleId?: string;
  /** the message that a callback reports on */
  sourceMessageId?: string;
  /** such as CREATED, RETRY, DELIVERED or FAILED */
  state: string;
  /** URL group */
  topicName?: string;
  url: string;
  why?: Reason;
  workflowRunId?: string;
}

export interface Messages {
  /** entries on all pages by state, if they were asked for */
  counts?: Record<string, number>;
  /** of the next page; missing on the last */
  cursor?: string;
  messages: MessageRow[];
}

/** A summary of an account. */
export interface Overview {
  account: string;
  /** that have begun */
  attempts: number;
  clock: Clock;
  dlq: number;
  faults: number;
  /** for bug reports */
  flags?: string[];
  flowKeys: number;
  /** what a reset of the account removes, in words */
  forgets: string;
  groups: number;
  inFlight: number;
  /** the server has a store with journals */
  journal?: boolean;
  /** by state */
  messages: Record<string, number>;
  /** when the next timer fires, Unix ms; missing for never */
  nextDue?: number;
  parallel: number;
  /** flow-control keys that are paused */
  paused: number;
  /** recent rate of attempts */
  perSecond: number;
  queues: number;
  /** Unix ms of the wall clock */
  real: number;
  /** the server has a seed, and the clock is not real: requests have times of the clock, so that the same commands give the same bytes */
  repeats?: boolean;
  /** by state */
  runs: Record<string, number>;
  schedules: number;
  stubs: number;
  waiters: number;
}

export interface Progress {
  /** deliveries that were attempted */
  attempts: number;
  /** attempts that failed */
  failed: number;
  /** when the next timer fires, Unix ms; missing for never */
  nextDue?: number;
  /** Unix ms */
  now: number;
  /** runs whose sleep or wait for an event ended */
  runsWoken: number;
  timersFired: number;
}

export interface Reason {
  /** such as sleeping, waiting, retrying, delayed, or clock */
  kind?: string;
  next?: Remedy;
  reason: string;
  /** the rule that set the time */
  rule?: string;
  /** Unix ms */
  until?: number;
}

export interface Relation {
  /** with the steps that had finished */
  resumed: boolean;
  workflowRunId: string;
}

/** what can be done, as a request and as a command */
export interface Remedy {
  /** the same in a terminal */
  command: string;
  do: "retry" | "resume" | "restart" | "hurry" | "open the answer" | "notify" | "unpause key" | "unpause queue" | "advance";
  does: string;
  method: string;
  path: string;
  /** the event, key or queue, or the duration of a move of the clock */
  subject?: string;
}

export interface Requests {
  /** older entries that were dropped */
  dropped: number;
  entries: Exchange[];
  /** maximum number of entries that are kept */
  limit: number;
  /** older entries that match and are kept but are not in this answer; a larger limit adds them */
  older: number;
}

export type Rewrites = Record<string, string>;

/** A workflow run without its steps. */
export interface RunRow {
  /** of the message that it waits for, or that it failed with */
  attempts?: number;
  dlqId?: string;
  flowControlKey?: string;
  invokerWorkflowRunId?: string;
  labels?: string[];
  /** that this message may have */
  maxAttempts?: number;
  predecessor?: Relation;
  /** the step that its latest attempt was for, such as the step that failed; missing if unknown */
  stepName?: string;
  successor?: Relation;
  why?: Reason;
  /** Unix ms */
  workflowRunCompletedAt?: number;
  /** Unix ms */
  workflowRunCreatedAt: number;
  workflowRunId: string;
  workflowState: string;
  workflowUrl: string;
}

export interface Runs {
  /** entries on all pages by state, if they were asked for */
  counts?: Record<string, number>;
  /** of the next page; missing on the last */
  cursor?: string;
  runs: RunRow[];
}

export interface ScheduleRow {
  cron: string;
  destination: string;
  isPaused: boolean;
  /** states by message id */
  lastScheduleStates?: Record<string, string>;
  /** Unix ms */
  lastScheduleTime?: number;
  /** Unix ms */
  nextTimes: number[];
  scheduleId: string;
  /** IANA name */
  timeZone: string;
  /** when it is due, without the zone: at 09:30, Monday through Friday */
  words: string;
}

export interface Schedules {
  schedules: ScheduleRow[];
}

export interface Search {
  /** the only cursor, if one kind was searched */
  cursor?: string;
  /** by kind, for kinds that may have more hits: after count hits, after 256 MiB of texts, or after 4 MiB of decompressed bodies; each cursor continues its kind */
  cursors: Record<string, string>;
  hits: SearchHit[];
  query: string;
  tookMs: number;
}

/** Something that a search has found, without its body and headers. */
export interface SearchHit {
  dlqId?: string;
  error?: string;
  excerpt?: Excerpt;
  /** of the message, the run or the DLQ entry; an event has none */
  id?: string;
  kind: "message" | "run" | "dlq" | "log";
  labels?: string[];
  messageId?: string;
  method?: string;
  /** where the first word was found, such as body or header X-Order */
  place?: string;
  /** of the latest answer */
  responseStatus?: number;
  /** of the event */
  sequence?: number;
  state: string;
  stepName?: string;
  /** Unix ms: of the creation, the failure or the event */
  time: number;
  url?: string;
  workflowRunId?: string;
}

/** how the attempt was signed, after a 401 or 403 */
export interface SignatureCheck {
  /** what to compare, in words */
  checks: string[];
  header: string;
  /** which signing key made the signature. unknown: one that the account no longer has; dropped: the server does not have the delivery, as after a restart */
  key: "current" | "next" | "unknown" | "dropped";
  /** environment variable that must have the key */
  variable?: string;
}

/** the stack trace in the answer */
export interface Stack {
  /** the innermost call in the code of the endpoint */
  own?: string;
  text: string;
}

export interface Stub {
  /** used one after the other; the last one repeats */
  answers?: Answer[];
  /** headers that the delivery must have, by name */
  header?: Record<string, string>;
  /** method of the delivery; any by default */
  method?: string;
  /** each message starts with the first answer */
  perMessage?: boolean;
  /** a URL in which * matches any characters, or a regular expression between slashes */
  url: string;
}

export type Stubs = Stub[];

export interface UndoPoint {
  /** that it takes */
  bytes: number;
  id: string;
  /** what followed it */
  label: string;
  /** events of the log since then that going back discards, without cancellations; 100 also for more, and 0 for a part of the account */
  later: number;
  /** what goes back; a queue that has messages is kept with the account */
  scope: "account" | "group" | "queue" | "rules" | "schedule";
  /** Unix ms on the clock of the account */
  time: number;
}

export interface UndoPoints {
  /** maximum bytes of all points */
  limit: number;
  points: UndoPoint[];
}

export interface Waiters {
  waiters: WaitingRun[];
}

export interface WaitingRun {
  deadline: number;
  eventId: string;
  workflowRunId: string;
}

/** The operations of the control API that answer in JSON, by operationId. */
export interface Operations {
  /** The credentials of an account and the environment for its clients */
  controlAccount: {
    method: "GET";
    path: "/_understudy/accounts/{id}";
    query: Record<string, never>;
    response: Account;
  };
  /** The ids of all accounts */
  controlAccounts: {
    method: "GET";
    path: "/_understudy/accounts";
    query: Record<string, never>;
    response: AccountList;
  };
  /** Add a stub before all others; returns all stubs */
  controlAddStub: {
    method: "POST";
    path: "/_understudy/stubs";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    body: Stub;
    response: Stubs;
  };
  /** Advance a manual clock, and wait until everything that became due has happened */
  controlAdvance: {
    method: "POST";
    path: "/_understudy/clock/advance";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    body: {
      /** a duration, such as 24h or 1d12h */
      by?: string;
      /** real time to wait, such as 30s; 60s by default */
      timeout?: string;
      /** the time to reach in Unix ms, within the years 1970 to 9999 */
      to?: number;
      /** next: until the next timer; idle: until only schedules are left */
      until?: "next" | "idle";
    };
    response: Progress;
  };
  /** Wait until a number of deliveries, requests or log events match */
  controlAwait: {
    method: "POST";
    path: "/_understudy/await";
    query: {
      /** an account id */
      account?: string;
    };
    body: {
      /** how far a manual clock may be moved meanwhile, such as 24h */
      advance?: string;
      /** minimum number of matching entries; 1 by default */
      count?: number;
      /** id of the message of a delivery or an event */
      messageId?: string;
      /** kind of entry */
      on: "deliveries" | "requests" | "events";
      /** operationId of a request, such as publishMessage */
      operation?: string;
      /** state of an event, such as DELIVERED, FAILED or RUN_SUCCESS */
      state?: string;
      /** status of the response to a delivery or a request */
      status?: number;
      /** real time to wait, such as 30s; 5s by default */
      timeout?: string;
      /** start of the URL of a delivery, of an event, or of the workflow of a run */
      url?: string;
      /** id of the run of an event */
      workflowRunId?: string;
    };
    response: Awaited;
  };
  /** A part of a body */
  controlBody: {
    method: "GET";
    path: "/_understudy/bodies/{kind}/{id}";
    query: {
      /** an account id */
      account?: string;
      /** maximum number of bytes of each body; longer bodies are cut */
      maxBody?: number;
      /** which body. Of a message: request-1, response-1 and so on, by attempt; of a run: output, step-0 and so on; of a DLQ entry: response; of a request: request or response. Default: the body of the entry itself */
      place?: string;
      /** position of the first byte to read */
      start?: number;
    };
    response: BodyPart;
  };
  /** Cancel a message with all messages that follow from it */
  controlCancelFamily: {
    method: "POST";
    path: "/_understudy/messages/{messageId}/cancel-family";
    query: {
      /** an account id */
      account?: string;
    };
    response: Canceled;
  };
  /** Clear the list of deliveries */
  controlClearDeliveries: {
    method: "DELETE";
    path: "/_understudy/deliveries";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    response: Empty;
  };
  /** Remove all faults */
  controlClearFaults: {
    method: "DELETE";
    path: "/_understudy/faults";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    response: Empty;
  };
  /** Reset the counters of rate limiters */
  controlClearLimits: {
    method: "DELETE";
    path: "/_understudy/limits";
    query: {
      /** an account id, * for all */
      account?: string;
      /** this key only */
      key?: string;
    };
    response: Empty;
  };
  /** Clear the list of requests */
  controlClearRequests: {
    method: "DELETE";
    path: "/_understudy/requests";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    response: Empty;
  };
  /** Remove all rewrites */
  controlClearRewrites: {
    method: "DELETE";
    path: "/_understudy/rewrites";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    response: Empty;
  };
  /** Remove all stubs */
  controlClearStubs: {
    method: "DELETE";
    path: "/_understudy/stubs";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    response: Empty;
  };
  /** The time and the mode of the clock */
  controlClock: {
    method: "GET";
    path: "/_understudy/clock";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    response: Clock;
  };
  /** DLQ entries without bodies and headers, newest first unless sorted */
  controlDLQ: {
    method: "GET";
    path: "/_understudy/dlq";
    query: {
      /** an account id */
      account?: string;
      count?: number;
      cursor?: string;
      /** id of a DLQ entry */
      dlqId?: string;
      /** name of a flow-control key */
      flowControlKey?: string;
      /** earliest time in Unix ms */
      fromDate?: number;
      /** one of the labels, in full */
      label?: string;
      /** id of a message */
      messageId?: string;
      /** name of a queue */
      queueName?: string;
      /** id of a schedule */
      scheduleId?: string;
      /** member by which the whole list is sorted; a leading minus reverses the order; entries without a value come last */
      sort?: "attempts" | "cause" | "dlqId" | "failedAt" | "label" | "responseStatus" | "url" | "-attempts" | "-cause" | "-dlqId" | "-failedAt" | "-label" | "-responseStatus" | "-url";
      /** message: only entries of messages; workflow: only those of workflow runs */
      source?: "message" | "workflow";
      /** latest time in Unix ms */
      toDate?: number;
      /** URL group */
      topicName?: string;
      /** start of the URL */
      url?: string;
      /** id of a workflow run */
      workflowRunId?: string;
    };
    response: DLQ;
  };
  /** Attempts of deliveries with request and response, oldest first */
  controlDeliveries: {
    method: "GET";
    path: "/_understudy/deliveries";
    query: {
      /** an account id */
      account?: string;
      /** stream new entries as server-sent events */
      follow?: boolean;
      /** number of entries, the newest ones; 1000 by default */
      limit?: number;
      /** maximum number of bytes of each body; longer bodies are cut */
      maxBody?: number;
      /** id of a message */
      messageId?: string;
      /** status of the response */
      status?: number;
      /** start of the URL */
      url?: string;
    };
    response: Deliveries;
  };
  /** Why a message, a run or a flow-control key is as it is */
  controlExplain: {
    method: "GET";
    path: "/_understudy/explain/{id}";
    query: {
      /** an account id */
      account?: string;
    };
    response: Explanation;
  };
  /** The faults that still apply */
  controlFaults: {
    method: "GET";
    path: "/_understudy/faults";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    response: Faults;
  };
  /** Load a fixture file (YAML or JSON); an invalid file changes nothing */
  controlFixtures: {
    method: "POST";
    path: "/_understudy/fixtures";
    query: {
      /** an account id, * for all */
      account?: string;
      /** the name of the file, for errors */
      name?: string;
    };
    body: unknown;
    response: Loaded;
  };
  /** The servers of a fleet (--data nats://), and which server has each account; 404 for a single server */
  controlFleet: {
    method: "GET";
    path: "/_understudy/fleet";
    query: Record<string, never>;
    response: Fleet;
  };
  /** Flow-control keys; those with waiting messages come first */
  controlFlowKeys: {
    method: "GET";
    path: "/_understudy/flow";
    query: {
      /** an account id */
      account?: string;
      count?: number;
      /** text within the key */
      key?: string;
    };
    response: unknown;
  };
  /** Whether the server is running, with its version and clock; 503 while it stops */
  controlHealth: {
    method: "GET";
    path: "/_understudy/health";
    query: Record<string, never>;
    response: Health;
  };
  /** Make the next attempt of a waiting message due now */
  controlHurry: {
    method: "POST";
    path: "/_understudy/messages/{messageId}/hurry";
    query: {
      /** an account id */
      account?: string;
    };
    response: Empty;
  };
  /** The state of an account after a record of its journal, for a server with --data, and the ends of the journal; without lsn and time, after the last record */
  controlJournal: {
    method: "GET";
    path: "/_understudy/journal";
    query: {
      /** an account id */
      account?: string;
      /** number of the record */
      lsn?: number;
      /** after the last record up to this time of the account's clock: Unix ms, or a time such as 2026-01-31T14:03:00Z */
      time?: string;
    };
    response: JournalStep;
  };
  /** Create an undo point: keep the current state of an account in memory. The oldest points are dropped first. Journals and the key-value store are not included */
  controlKeepUndo: {
    method: "POST";
    path: "/_understudy/undo";
    query: {
      /** an account id */
      account?: string;
    };
    body: {
      /** of the group, queue or schedule */
      id?: string;
      /** what comes next, such as a reset */
      label: string;
      /** account: everything, which is the default; rules: stubs, faults and rewrites only; group, queue, schedule: the one that id names */
      scope?: "account" | "group" | "queue" | "rules" | "schedule";
    };
    response: UndoPoint;
  };
  /** Keys of rate limiters with their remaining tokens */
  controlLimits: {
    method: "GET";
    path: "/_understudy/limits";
    query: {
      /** an account id */
      account?: string;
    };
    response: unknown;
  };
  /** 200 while the process runs */
  controlLivez: {
    method: "GET";
    path: "/_understudy/livez";
    query: Record<string, never>;
    response: Done;
  };
  /** Events of messages and runs without bodies and headers, newest first */
  controlLog: {
    method: "GET";
    path: "/_understudy/log";
    query: {
      /** an account id */
      account?: string;
      count?: number;
      cursor?: string;
      /** name of a flow-control key */
      flowControlKey?: string;
      /** earliest time in Unix ms */
      fromDate?: number;
      /** one of the labels, in full */
      label?: string;
      /** id of a message */
      messageId?: string;
      /** name of a queue */
      queueName?: string;
      /** id of a schedule */
      scheduleId?: string;
      /** message: only entries of messages; workflow: only those of workflow runs */
      source?: "message" | "workflow";
      /** states, separated by commas */
      state?: string;
      /** latest time in Unix ms */
      toDate?: number;
      /** URL group */
      topicName?: string;
      /** start of the URL */
      url?: string;
      /** id of a workflow run */
      workflowRunId?: string;
    };
    response: Log;
  };
  /** Everything that is known about a message: events, attempts, callbacks, and the reason for its state */
  controlMessage: {
    method: "GET";
    path: "/_understudy/messages/{messageId}";
    query: {
      /** an account id */
      account?: string;
      /** maximum number of bytes of each body; longer bodies are cut */
      maxBody?: number;
    };
    response: unknown;
  };
  /** Messages in their current state, including those that have ended; newest first unless sorted */
  controlMessages: {
    method: "GET";
    path: "/_understudy/messages";
    query: {
      /** an account id */
      account?: string;
      count?: number;
      /** true: also count the entries of all pages, by their states */
      counts?: boolean;
      cursor?: string;
      /** name of a flow-control key */
      flowControlKey?: string;
      /** earliest time in Unix ms */
      fromDate?: number;
      /** one of the labels, in full */
      label?: string;
      /** id of a message */
      messageId?: string;
      /** name of a queue */
      queueName?: string;
      /** id of a schedule */
      scheduleId?: string;
      /** member by which the whole list is sorted; a leading minus reverses the order; entries without a value come last, for next what waits for no time */
      sort?: "attempts" | "bytes" | "cause" | "createdAt" | "label" | "messageId" | "next" | "state" | "url" | "-attempts" | "-bytes" | "-cause" | "-createdAt" | "-label" | "-messageId" | "-next" | "-state" | "-url";
      /** message: only entries of messages; workflow: only those of workflow runs */
      source?: "message" | "workflow";
      /** states, separated by commas */
      state?: string;
      /** latest time in Unix ms */
      toDate?: number;
      /** URL group */
      topicName?: string;
      /** start of the URL */
      url?: string;
      /** id of a workflow run */
      workflowRunId?: string;
    };
    response: Messages;
  };
  /** A summary of an account; with follow, sent again whenever it changes, at most once a second */
  controlOverview: {
    method: "GET";
    path: "/_understudy/overview";
    query: {
      /** an account id, * for all */
      account?: string;
      /** stream new entries as server-sent events */
      follow?: boolean;
    };
    response: Overview;
  };
  /** Find or create an account, and return its credentials */
  controlPutAccount: {
    method: "PUT";
    path: "/_understudy/accounts/{id}";
    query: Record<string, never>;
    body: {
      /** of the management API; generated if empty */
      password?: string;
    };
    response: Credentials;
  };
  /** Whether the server is ready: 200, or 503 with the reason, such as a snapshot that could not be saved */
  controlReadyz: {
    method: "GET";
    path: "/_understudy/readyz";
    query: Record<string, never>;
    response: Done;
  };
  /** Requests that the server received, oldest first */
  controlRequests: {
    method: "GET";
    path: "/_understudy/requests";
    query: {
      /** an account id */
      account?: string;
      /** stream new entries as server-sent events */
      follow?: boolean;
      /** number of entries, the newest ones; 1000 by default */
      limit?: number;
      /** maximum number of bytes of each body; longer bodies are cut */
      maxBody?: number;
      /** operationId of an API request, such as publishMessage */
      operationId?: string;
      /** start of the path */
      path?: string;
      /** only the request at this position */
      position?: number;
      /** only requests that were refused or answered with an error, or only the others */
      refused?: boolean;
      /** status of the response */
      status?: number;
    };
    response: Requests;
  };
  /** Remove everything except the configuration; the clock returns to its configured mode and start */
  controlReset: {
    method: "POST";
    path: "/_understudy/reset";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    response: Done;
  };
  /** Replace the state with that of a snapshot, clocks included; journals are cleared */
  controlRestore: {
    method: "PUT";
    path: "/_understudy/snapshot";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    body: unknown;
    response: unknown;
  };
  /** The rewrites of URLs */
  controlRewrites: {
    method: "GET";
    path: "/_understudy/rewrites";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    response: Rewrites;
  };
  /** Everything that is known about a run: its steps on a time axis, events, waits, and the reason for its state */
  controlRun: {
    method: "GET";
    path: "/_understudy/runs/{workflowRunId}";
    query: {
      /** an account id */
      account?: string;
    };
    response: unknown;
  };
  /** Publish the message of a schedule now, even if it is paused; its next time does not change */
  controlRunSchedule: {
    method: "POST";
    path: "/_understudy/schedules/{scheduleId}/run";
    query: {
      /** an account id */
      account?: string;
    };
    response: {
      messageIds: string[];
    };
  };
  /** Workflow runs without their steps, newest first unless sorted */
  controlRuns: {
    method: "GET";
    path: "/_understudy/runs";
    query: {
      /** an account id */
      account?: string;
      count?: number;
      /** true: also count the entries of all pages, by their states */
      counts?: boolean;
      cursor?: string;
      /** name of a flow-control key */
      flowControlKey?: string;
      /** earliest time in Unix ms */
      fromDate?: number;
      /** one of the labels, in full */
      label?: string;
      /** member by which the whole list is sorted; a leading minus reverses the order; entries without a value come last, for next what waits for no time */
      sort?: "attempts" | "cause" | "createdAt" | "duration" | "label" | "next" | "state" | "url" | "workflowRunId" | "-attempts" | "-cause" | "-createdAt" | "-duration" | "-label" | "-next" | "-state" | "-url" | "-workflowRunId";
      /** states, separated by commas */
      state?: string;
      /** latest time in Unix ms */
      toDate?: number;
      /** start of the URL */
      url?: string;
      /** id of a workflow run */
      workflowRunId?: string;
    };
    response: Runs;
  };
  /** Schedules with their next run times */
  controlSchedules: {
    method: "GET";
    path: "/_understudy/schedules";
    query: {
      /** an account id */
      account?: string;
    };
    response: Schedules;
  };
  /** Search messages, runs, DLQ entries and events of the log by words and filters in one line, kind by kind and newest first, such as: "blue shoes" state:failed path:/orders label:shop since:1h */
  controlSearch: {
    method: "GET";
    path: "/_understudy/search";
    query: {
      /** an account id */
      account?: string;
      /** number of hits of each kind; 20 by default */
      count?: number;
      cursor?: string;
      /** words, which are searched in ids, URLs, labels, names, header values, bodies, answers and errors without regard to case, and filters as KEY:VALUE; all of them must match. Keys: body, error, flow, group, header, host, id, kind (message, run, dlq, log), label, method, path, queue, run, schedule, since, state, status, step, until, url. Commas separate alternatives; quotation marks keep blanks together */
      q?: string;
    };
    response: Search;
  };
  /** Set the mode of the clock, or set a real clock that is ahead to the time of the machine */
  controlSetClock: {
    method: "PUT";
    path: "/_understudy/clock";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    body: {
      /** true: set a real clock that is ahead to the time of the machine, and move all times of the state back by the same amount. Of several accounts, only those with a real clock change */
      correct?: boolean;
      /** real: follows the clock of the machine; manual: advance moves it; auto: skips to the next timer. A real clock that is ahead stays ahead until it is corrected or reset */
      mode?: "real" | "manual" | "auto";
      /** the new time in Unix ms, within the years 1970 to 9999; a manual clock only moves forward */
      now?: number;
    };
    response: Clock;
  };
  /** Replace the faults */
  controlSetFaults: {
    method: "PUT";
    path: "/_understudy/faults";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    body: Fault[];
    response: Faults;
  };
  /** Replace all rewrites */
  controlSetRewrites: {
    method: "PUT";
    path: "/_understudy/rewrites";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    body: Record<string, string>;
    response: Rewrites;
  };
  /** Replace all stubs */
  controlSetStubs: {
    method: "PUT";
    path: "/_understudy/stubs";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    body: Stub[];
    response: Stubs;
  };
  /** Wait until no attempt is ready or in flight */
  controlSettle: {
    method: "POST";
    path: "/_understudy/settle";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    body: {
      /** real time to wait, such as 30s */
      timeout?: string;
    };
    response: Clock;
  };
  /** The whole state as one document; of the named account, else of all */
  controlSnapshot: {
    method: "GET";
    path: "/_understudy/snapshot";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    response: Record<string, unknown>;
  };
  /** The stubs in their order */
  controlStubs: {
    method: "GET";
    path: "/_understudy/stubs";
    query: {
      /** an account id, * for all */
      account?: string;
    };
    response: Stubs;
  };
  /** Go back to an undo point: restore the account, or the part of it that the point contains. Later changes to it are discarded, and the point is removed */
  controlUndo: {
    method: "POST";
    path: "/_understudy/undo/{id}";
    query: {
      /** an account id */
      account?: string;
    };
    response: UndoPoint;
  };
  /** Undo points of an account, newest first */
  controlUndos: {
    method: "GET";
    path: "/_understudy/undo";
    query: {
      /** an account id */
      account?: string;
    };
    response: UndoPoints;
  };
  /** Runs that wait for an event */
  controlWaiters: {
    method: "GET";
    path: "/_understudy/waiters";
    query: {
      /** an account id */
      account?: string;
    };
    response: Waiters;
  };
}
