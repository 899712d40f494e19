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
