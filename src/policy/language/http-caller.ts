/** Interface between actions and the sender of their requests (`http-request`). */
import type { CallAnswer, CallHeaders, CallMethod, CallOrigin, CallRequest } from "../../traffic/http-calls.ts";

export interface HttpCaller {
  /** Returns at least one attempt. The last one counts. Never rejects. */
  call(call: HttpCall): Promise<readonly CallAttempt[]>;
}

export interface HttpCall {
  readonly method: CallMethod;
  readonly url: string;
  /** Fields that frame a message are dropped. */
  readonly headers: CallHeaders;
  readonly body?: string | undefined;
  /** Total time for attempts, redirects and pauses. */
  readonly timeoutMs: number;
  readonly maxRedirects: number;
  /** Called after each attempt except the last possible one. Returns whether to retry. */
  readonly retry?: ((attempts: readonly CallAttempt[]) => boolean) | undefined;
  readonly origin: CallOrigin;
}

export interface CallAttempt {
  /** The last request sent, after redirects. */
  readonly request: CallRequest | undefined;
  readonly answer: CallAnswer | undefined;
  readonly fault: CallFault | undefined;
  readonly timeMs: number;
}

/** `refused`: the URL must not be reached from here. */
export interface CallFault {
  readonly kind: "too_long" | "timeout" | "loop" | "refused" | "failed";
  /** One clause. */
  readonly message: string;
}
