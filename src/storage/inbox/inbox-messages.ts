/** Messages of inboxes as storage keeps them. They live only in the database, never in the state in memory. */

/** `blocked`: an earlier message of its line is not delivered yet. The last four have ended. */
export type InboxState = "waiting" | "blocked" | "sending" | "dead" | "delivered" | "refused" | "discarded";

export interface NewMessage {
  readonly id: string;
  readonly accountId: string;
  readonly routeId: string;
  /** "" without verification, or if unknown. The same applies to `eventType`. */
  readonly provider: string;
  readonly eventType: string;
  readonly method: string;
  readonly path: string;
  readonly source: string;
  readonly requestId: string;
  /** Messages with the same key are duplicates for `keyMs`; "" for none. */
  readonly key: string;
  readonly keyMs: number;
  /** Messages of one line are delivered one after the other. Undefined: in any order. */
  readonly line: string | undefined;
  /** The request (`src/lib/inbox-payload.ts`). */
  readonly payload: Buffer;
}

export interface SealedMessage extends Omit<NewMessage, "payload"> {
  /** Length of the payload. */
  readonly bytes: number;
  readonly sealed: Buffer;
}

/** A message that this node delivers now. */
export interface ClaimedMessage {
  readonly seq: number;
  readonly id: string;
  readonly accountId: string;
  readonly routeId: string;
  /** Number of this attempt, from 1. */
  readonly attempt: number;
  /** Number of attempts that are counted towards the maximum, with this one. */
  readonly counted: number;
  readonly line: string | undefined;
  readonly bytes: number;
}

export interface AttemptResult {
  readonly status: number | undefined;
  readonly error: string | undefined;
  readonly durationMs: number;
}

/** How a message continues after an attempt. `return`: the service was not reached, so the attempt does not count. */
export type DeliveryVerdict =
  | { readonly is: "delivered" | "refused" | "dead"; readonly retainMs: number }
  | { readonly is: "retry"; readonly afterMs: number }
  | { readonly is: "return" };
