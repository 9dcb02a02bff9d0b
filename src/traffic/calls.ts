/** Requests that rules of traffic policies send (`http-request`), and how the edge carries them to internal endpoints. */
import type { ConnectionFacts } from "./exchange.ts";

export type CallMethod = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";
export type CallHeaders = Readonly<Record<string, string | readonly string[]>>;

export interface CallRequest {
  readonly method: CallMethod;
  readonly url: URL;
  /** By lower-case name. */
  readonly headers: CallHeaders;
  readonly body: string | undefined;
}

export interface CallAnswer {
  readonly status: number;
  /** By lower-case name; without a prototype. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Buffer;
  /** IP address that answered; "" for internal endpoints. */
  readonly address: string;
}

/** Whose rule sends it, and on which request. */
export interface CallOrigin {
  readonly accountId: string;
  /** Of the request that the rule acts on: whoever is called sees its client. */
  readonly connection: ConnectionFacts;
  readonly chain: CallChain;
}

/** What began with one client's request: a call may lead to rules that call again. */
export interface CallChain {
  /** Calls that led here, one from the other. */
  readonly hops: number;
  /** Calls that may still be made for the client's request, whoever makes them. */
  readonly left: { count: number };
}

export interface CallBounds {
  readonly timeoutMs: number;
  /** Of the body, as it is sent. */
  readonly maxAnswerBytes: number;
}

/** The internal endpoints of accounts, each reached by requests of its own account alone. */
export interface InternalCalls {
  /**
   * Rejects with why there is no answer, with `AnswerTooLong` where it has more bytes than it may. The chain is the one
   * that the endpoint's own rules go on with.
   */
  send(request: CallRequest, origin: CallOrigin, bounds: CallBounds): Promise<CallAnswer>;
}

/** Calls for one client's request. */
const maxCalls = 32;

export function newChain(): CallChain {
  return { hops: 0, left: { count: maxCalls } };
}
