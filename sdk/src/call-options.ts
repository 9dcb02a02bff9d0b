import type { Answer } from "./answers.ts";

/** Options of all calls. */
export interface ReadOptions {
  /** Aborts the call. */
  readonly signal?: AbortSignal | undefined;
}

export interface CallOptions extends ReadOptions {
  /** An ETag, or an object that the client returned. The change is rejected (412) if the object has changed since. */
  readonly ifMatch?: string | object | undefined;
  /** Key of this request. A repetition within 24 h returns the same response and is not executed again. */
  readonly idempotencyKey?: string | undefined;
  /** Maximum seconds to wait until every edge serves the change. */
  readonly waitSeconds?: number | undefined;
  /** Reason for the change, stored in the history: at most 255 bytes of UTF-8. Longer reasons are rejected (400). */
  readonly reason?: string | undefined;
  /** Receives the header values of a successful response, also if it has no body. */
  readonly onAnswer?: ((answer: Answer) => void) | undefined;
}
