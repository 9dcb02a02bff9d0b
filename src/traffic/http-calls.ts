/** Requests that traffic policy rules send (`http-request`), and how the edge carries them to internal endpoints. */
import type { ConnectionFacts } from "./connection-facts.ts";

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
  /** By lower-case name, in an object without prototype. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Buffer;
  /** IP address of the server; "" for internal endpoints. */
  readonly address: string;
}

/** The account and the request whose rule sends the call. */
export interface CallOrigin {
  readonly accountId: string;
  /** Connection of the request that the rule handles. The called endpoint sees its client. */
  readonly connection: ConnectionFacts;
  readonly chain: CallChain;
}

/** Everything that started with one client's request, because a call may run rules that call again. */
export interface CallChain {
  /** Depth of nested calls. */
  readonly hops: number;
  /** Number of calls that the client's request may still cause in total. */
  readonly left: { count: number };
}

export interface CallBounds {
  readonly timeoutMs: number;
  /** Maximum size of the response body as sent. */
  readonly maxAnswerBytes: number;
}

/** The internal endpoints of each account, reachable only by the account's own requests. */
export interface InternalCalls {
  /**
   * Rejects with the reason if there is no response, and with `AnswerTooLong` if it exceeds its limit. The endpoint's
   * own rules continue the same chain.
   */
  send(request: CallRequest, origin: CallOrigin, bounds: CallBounds): Promise<CallAnswer>;
}

/** Maximum number of calls per client request. */
const maxCalls = 32;

export function newChain(): CallChain {
  return { hops: 0, left: { count: maxCalls } };
}
