/** What actions ask of whoever sends requests for them (`http-request`). */
import type { CallAnswer, CallHeaders, CallMethod, CallOrigin, CallRequest } from "../../traffic/calls.ts";

export interface HttpCaller {
  /** At least one attempt, the last one counts. Never rejects. */
  call(call: HttpCall): Promise<readonly CallAttempt[]>;
}

export interface HttpCall {
  readonly method: CallMethod;
  readonly url: string;
  /** Those that frame a message are left out. */
  readonly headers: CallHeaders;
  readonly body?: string | undefined;
  /** For everything: attempts, redirects and pauses. */
  readonly timeoutMs: number;
  readonly maxRedirects: number;
  /** Asked after each attempt, but the last that there may be. */
  readonly retry?: ((attempts: readonly CallAttempt[]) => boolean) | undefined;
  readonly origin: CallOrigin;
}

export interface CallAttempt {
  /** As it was sent last, after redirects. */
  readonly request: CallRequest | undefined;
  readonly answer: CallAnswer | undefined;
  readonly fault: CallFault | undefined;
  readonly timeMs: number;
}

/** `refused`: the URL may not be reached from here. */
export interface CallFault {
  readonly kind: "too_long" | "timeout" | "loop" | "refused" | "failed";
  /** One clause. */
  readonly message: string;
}
