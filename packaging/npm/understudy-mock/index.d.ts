/// <reference lib="esnext.disposable" />
import type { Answer, Clock, DLQRow, Delivery, Event, Exchange, Explanation, MessageRow, Operations, Progress, Stub } from "./control";
import type { ServeFlags } from "./flags";

export type {
  Answer,
  Clock,
  Content,
  DLQRow,
  Delivery,
  Event,
  Exchange,
  Explanation,
  MessageRow,
  Operations,
  Progress,
  Reason,
  Stub,
} from "./control";
export type { ServeFlags } from "./flags";

/** The flags of `understudy serve`, and these. */
export interface Options extends Omit<ServeFlags, "clock" | "readyFile" | "untilEof" | "untilEofOf"> {
  /** manual (default; `advance` moves it), real, or auto (skips to the next timer). */
  clock?: Clock["mode"];
  /** A file of settings, as for --config. */
  config?: string;
  /** The port; a free one by default. `addr` sets host and port. */
  port?: number;
  /** "inherit" writes the log of the server to standard error as well. */
  log?: "inherit";
  /** How long the start may take, in ms; 30000 by default. */
  startTimeout?: number;
  /** The path of another binary. */
  binary?: string;
}

type Body<Id extends keyof Operations> = Operations[Id] extends { body: infer Given } ? Given : never;
type Filter<Id extends keyof Operations> = Omit<Operations[Id]["query"], "follow">;

/** A condition of `await`: the kind of entry, and what the entries must have. */
export type Condition<Kind extends Body<"controlAwait">["on"] = Body<"controlAwait">["on"]> = Omit<Body<"controlAwait">, "on"> & { on: Kind };

export interface Understudy {
  readonly url: string;
  readonly token: string;
  /** The environment for clients: addresses, tokens and signing keys. */
  readonly env: Readonly<Record<string, string>>;
  readonly pid: number;

  /** Moves the clock, and waits until all that this causes has settled: "24h", or { to } or { until }. */
  advance(by: string | Body<"controlAdvance">): Promise<Progress>;

  /** Answers deliveries to a URL, in which * stands for anything, without network: in turn, the last answer repeats. */
  stub(url: string, ...answers: (number | Answer)[]): Promise<void>;
  stub(stub: Stub): Promise<void>;

  /** The attempts to deliver, oldest first. */
  deliveries(filter?: Filter<"controlDeliveries">): Promise<Delivery[]>;
  /** The requests to the interface, oldest first. */
  requests(filter?: Filter<"controlRequests">): Promise<Exchange[]>;
  /** The messages in their current state, newest first. */
  messages(filter?: Filter<"controlMessages">): Promise<MessageRow[]>;
  /** The DLQ, newest first. */
  dlq(filter?: Filter<"controlDLQ">): Promise<DLQRow[]>;

  /** Waits until entries match; rejects when they do not within the timeout. */
  await(condition: Condition<"deliveries">): Promise<Delivery[]>;
  await(condition: Condition<"requests">): Promise<Exchange[]>;
  await(condition: Condition<"events">): Promise<Event[]>;

  /** Why a message, a run, a DLQ entry or a flow-control key is as it is. */
  explain(id: string): Promise<Explanation>;

  clock(): Promise<Clock>;
  /** The last lines of the server's log. */
  readonly log: string;

  /** Waits until nothing is ready or in flight. */
  settle(): Promise<void>;
  /** Forgets everything but the configuration; the clock starts again. */
  reset(): Promise<void>;

  /** Calls any operation of the control API: control("GET", "health"). */
  control(method: "GET" | "POST" | "PUT" | "DELETE", path: string, body?: unknown): Promise<unknown>;

  /** Ends the server. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a server on a free port, with a manual clock unless the options say otherwise. */
export function startUnderstudy(options?: Options): Promise<Understudy>;

/** The server did not start, or refused a call. */
export class UnderstudyError extends Error {
  /** The status of the answer; undefined when none came. */
  readonly status: number | undefined;
}

/** A fault of `understudy explore`; `default` are those that a service may show. */
export type Fault = "default" | "lost-answer" | "repeat" | "repeat-late" | "lost-request" | "late" | "overlap" | "down" | "lost-receipt" | "refuse-call" | "outside-down" | "outside-lost" | "outage" | "lost-request-503" | "refuse-call-429" | "refuse-call-500" | "refuse-call-reset";

export interface ExploreOptions {
  /** The outside services of the application, and what they answer; 200 and {} by default. */
  outside?: Record<string, { answer?: { status?: number; headers?: Record<string, string>; body?: string } }>;
  /** JSON pointers of the members of bodies that say what they are about, such as /order. */
  keys?: string[];
  faults?: Fault[];
  /** Lawful differences, with the reason. */
  allow?: ({ effect: string; duplicated?: number; lost?: boolean; because: string } | { state: string; because: string } | { dlq: string; because: string })[];
  /** Rules on the order of effects: what matches `then` needs an earlier one that matches `first`; * matches any text. */
  order?: { first: string; then: string }[];
  /** The most faults in a case; 2 by default. */
  depth?: 1 | 2 | 3;
  /** Real time for the search, such as "30s"; a minute by default. */
  budget?: string;
  /** The most cases. */
  cases?: number;
  /** Only this case, such as 3fa2c1=repeat. */
  case?: string;
  /** Real time after which a case that does not end is a finding; "10s" by default. */
  caseTimeout?: string;
  /** Reports to write: { html: "explore.html" }. */
  report?: Partial<Record<"html" | "json" | "junit" | "markdown", string>>;
  /** The folder of the replay files of findings; none by default. */
  out?: string;
  /** The path of another binary. */
  binary?: string;
}

/** One run of the scenario. */
export interface ExploreCase {
  readonly url: string;
  readonly token: string;
  /** The environment for clients: addresses, tokens and signing keys. */
  readonly env: Readonly<Record<string, string>>;
  /** The address of an outside service. */
  outside(name: string): string;
  /** Does a step, such as a request to the application; one that fails is done again, as its caller would. */
  do(step: () => unknown): Promise<void>;
  /** Moves the clock, such as "1d"; what becomes due is delivered. */
  advance(by: string): Promise<void>;
  /** Reads the final state of the application, which is compared as JSON. */
  state(read: () => unknown): void;
  /** Throws if not all is well. */
  check(holds: () => unknown): void;
  /** Ends the application after the case. */
  cleanup(stop: () => unknown): void;
}

export interface ExploreFinding {
  /** For `case`. */
  readonly case: string;
  readonly text: string;
  /** The file for `understudy replay`, with the option `out`. */
  readonly replay: string;
}

export interface ExploreResult {
  readonly findings: readonly ExploreFinding[];
  readonly summary: string;
}

/** Runs a scenario again and again, each time with one or two faults; rejects with an ExploreError if the application then does something else. */
export function explore(options: ExploreOptions, scenario: (c: ExploreCase) => Promise<unknown>): Promise<ExploreResult>;

export class ExploreError extends Error implements ExploreResult {
  readonly findings: readonly ExploreFinding[];
  readonly summary: string;
}
