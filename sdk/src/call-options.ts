import type { Answer } from "./answers.ts";

/** What any call may be given beside its arguments. */
export interface ReadOptions {
  /** Aborts the call. */
  readonly signal?: AbortSignal | undefined;
}

export interface CallOptions extends ReadOptions {
  /** An ETag, or an object that the client returned: the change is refused (412) if it has changed since. */
  readonly ifMatch?: string | object | undefined;
  /** A key for this request: sent again within 24 h, it is answered again and not carried out twice. */
  readonly idempotencyKey?: string | undefined;
  /** Maximum seconds to wait until every edge serves the change. */
  readonly waitSeconds?: number | undefined;
  /** Why the change is made, for the history: at most 255 bytes of UTF-8, refused (400) beyond. */
  readonly reason?: string | undefined;
  /** Told what came in the header of a success, which is all that there is of one without a body. */
  readonly onAnswer?: ((answer: Answer) => void) | undefined;
}
