/**
 * Requests that policies send (traffic policy, http-request): to internal endpoints of the account, and outside only to
 * hosts that the server allows. Every address is checked again after each redirect (security I7).
 */
import type { Clock } from "../../lib/clock.ts";
import { AnswerTooLong } from "../../outbound/client.ts";
import type { Outbound, OutboundRequest } from "../../outbound/client.ts";
import { decodeContent } from "./content-decoding.ts";
import { redirected, sentHeaders } from "./http-redirect.ts";

export type CallMethod = OutboundRequest["method"];
export type CallHeaders = Readonly<Record<string, string | readonly string[]>>;

export interface CallRequest {
  readonly method: CallMethod;
  readonly url: URL;
  readonly headers: CallHeaders;
  readonly body: string | undefined;
}

export interface CallAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Buffer;
  /** IP address that answered; "" for internal endpoints. */
  readonly address: string;
}

/** How internal endpoints are reached: by whoever runs the policy. */
export interface InternalCalls {
  /** Whether a host, lower-case, is internal: then nothing else answers for it. */
  covers(host: string): boolean;
  /**
   * Rejects with why there is no answer.
   * @param hops requests of policies that led here, this one included
   */
  send(
    request: CallRequest,
    bounds: { readonly timeoutMs: number; readonly maxAnswerBytes: number; readonly hops: number },
  ): Promise<CallAnswer>;
}

export interface HttpCallerOptions {
  readonly clock: Clock;
  readonly inside: InternalCalls;
  /** Answers are to be bounded to `maxAnswerBytes`. */
  readonly outside: Outbound;
  /** Whether the server allows requests to a host outside, lower-case; none unless the operator says so. */
  readonly allows: (host: string) => boolean;
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
  /** Requests of policies that led to this one. */
  readonly hops: number;
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

export interface HttpCaller {
  /** At least one attempt, the last one counts. Never rejects. */
  call(call: HttpCall): Promise<readonly CallAttempt[]>;
}

export const maxAnswerBytes = 256 * 1024;
const maxAttempts = 3;
const maxHops = 3;
const maxCalls = 256;
const pauseMs = 50;

export function makeHttpCaller({ clock, inside, outside, allows }: HttpCallerOptions): HttpCaller {
  let calls = 0;

  const send = async (request: CallRequest, deadline: number, hops: number): Promise<CallAnswer> => {
    const { url } = request;
    const host = url.hostname.toLowerCase();
    const timeoutMs = deadline - clock.monotonic();
    if (timeoutMs <= 0) throw new Fault("timeout", "no answer in time");
    if (url.username !== "" || url.password !== "") throw new Fault("refused", "the URL has a user name in it");
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw new Fault("refused", "the URL must begin with https:// or http://");
    }
    if (inside.covers(host)) return inside.send(request, { timeoutMs, maxAnswerBytes, hops: hops + 1 });
    if (!allows(host)) throw new Fault("refused", "this server does not allow policies to reach this host");
    const { status, headers, body, address } = await outside.send({ ...request, timeoutMs });
    return { status, headers: listed(headers), body, address };
  };
  const follow = async (call: HttpCall, deadline: number, sent: { request?: CallRequest }): Promise<CallAnswer> => {
    if (!URL.canParse(call.url)) throw new Fault("refused", "the URL cannot be read");
    let request: CallRequest = {
      method: call.method,
      url: new URL(call.url),
      headers: sentHeaders(call.headers),
      body: call.body,
    };
    for (let redirects = 0; ; redirects += 1) {
      sent.request = request;
      const answer = await send(request, deadline, call.hops);
      const next = redirects < call.maxRedirects ? redirected(request, answer) : undefined;
      if (next === undefined) {
        const body = await decodeContent(answer.body, answer.headers["content-encoding"], maxAnswerBytes);
        if (!body)
          throw new Fault("too_long", `the answer is longer than ${maxAnswerBytes} bytes, or not what it says`);
        return { ...answer, body };
      }
      request = next;
    }
  };
  const attempt = async (call: HttpCall, deadline: number): Promise<CallAttempt> => {
    const started = clock.monotonic();
    const sent: { request?: CallRequest } = {};
    let answer: CallAnswer | undefined;
    let fault: CallFault | undefined;
    try {
      answer = await follow(call, deadline, sent);
    } catch (error) {
      fault = faultOf(error, clock.monotonic() >= deadline);
    }
    return { request: sent.request, answer, fault, timeMs: clock.monotonic() - started };
  };
  const run = async (call: HttpCall): Promise<readonly CallAttempt[]> => {
    const deadline = clock.monotonic() + call.timeoutMs;
    const attempts: CallAttempt[] = [];
    for (;;) {
      const last = await attempt(call, deadline);
      attempts.push(last);
      // What is refused now is refused again.
      if (attempts.length === maxAttempts || last.fault?.kind === "refused" || !call.retry?.(attempts)) return attempts;
      if (clock.monotonic() + pauseMs >= deadline) return attempts;
      await new Promise<void>((resolve) => void clock.after(pauseMs, resolve));
    }
  };
  return {
    async call(call) {
      if (call.hops >= maxHops) return [failed("loop", `more than ${maxHops} requests of policies led to each other`)];
      if (calls >= maxCalls) return [failed("failed", "too many requests of policies are under way")];
      calls += 1;
      try {
        return await run(call);
      } catch (error) {
        return [failed("failed", error instanceof Error ? error.message : String(error))];
      } finally {
        calls -= 1;
      }
    },
  };
}

class Fault extends Error {
  readonly kind: CallFault["kind"];

  constructor(kind: CallFault["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}

function faultOf(error: unknown, isLate: boolean): CallFault {
  if (error instanceof AnswerTooLong) {
    return { kind: "too_long", message: `the answer is longer than ${maxAnswerBytes} bytes` };
  }
  if (error instanceof Fault) return { kind: error.kind, message: error.message };
  if (isLate) return { kind: "timeout", message: "no answer in time" };
  return { kind: "failed", message: error instanceof Error ? error.message : String(error) };
}

function failed(kind: CallFault["kind"], message: string): CallAttempt {
  return { request: undefined, answer: undefined, fault: { kind, message }, timeMs: 0 };
}

function listed(headers: Readonly<Record<string, string | string[] | undefined>>): CallAnswer["headers"] {
  const lists: Record<string, readonly string[]> = Object.create(null) as Record<string, readonly string[]>;
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) lists[name] = Array.isArray(value) ? value : [value];
  }
  return lists;
}
