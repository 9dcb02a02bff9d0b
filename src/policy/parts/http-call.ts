/**
 * Requests that policies send (traffic policy, http-request): to internal endpoints of the account, and externally only
 * to hosts that the server allows. Every address is checked again after each redirect (security I7).
 */
import { captureWork } from "../../lib/heartbeat.ts";
import { isInternalName } from "../../lib/internal-names.ts";
import type { Clock } from "../../lib/clock.ts";
import { AnswerTooLong } from "../../outbound/outbound.ts";
import type { Outbound } from "../../outbound/outbound.ts";
import type { CallAnswer, CallRequest, InternalCalls } from "../../traffic/http-calls.ts";
import { internalNameIn } from "../language/internal-url.ts";
import type { CallAttempt, CallFault, HttpCall, HttpCaller } from "../language/http-caller.ts";
import { decodeContent } from "./content-decoding.ts";
import { followRedirect, prepareHeaders } from "./http-redirect.ts";

export interface HttpCallerOptions {
  readonly clock: Clock;
  /** Absent if there are no internal endpoints. */
  readonly inside: InternalCalls | undefined;
  /** Must limit responses to `maxAnswerBytes`. */
  readonly outside: Outbound;
  /** Whether the server allows requests to an external host, lower-case. Default: no hosts. */
  readonly allows: (host: string) => boolean;
}

/** Maximum size of a body as received, and again after decoding, bytes. */
export const maxAnswerBytes = 256 * 1024;
const maxAttempts = 3;
/** Maximum depth of calls that cause other calls. */
const maxHops = 3;
/** Maximum concurrent calls. */
const maxCalls = 256;
const maxCallsOfAccount = 64;
const pauseMs = 50;
/** Timers may fire early by this much. */
const timerSlackMs = 5;

export function makeHttpCaller({ clock, inside, outside, allows }: HttpCallerOptions): HttpCaller {
  const underWay = new CallsUnderWay();

  const send = async (request: CallRequest, call: HttpCall, deadline: number): Promise<CallAnswer> => {
    const inSameWork = captureWork();
    const { url } = request;
    const host = url.hostname.toLowerCase().replace(/\.$/, "");
    const timeoutMs = deadline - clock.monotonic();
    if (timeoutMs <= 0) throw new Fault("timeout", "no answer in time");
    if (url.username !== "" || url.password !== "") throw new Fault("refused", "the URL contains a user name");
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw new Fault("refused", "the URL must begin with https:// or http://");
    }
    if (isInternalName(host)) {
      if (internalNameIn(url.href) === undefined)
        throw new Fault("refused", "the URL is not the URL of an internal endpoint");
      if (!inside) throw new Fault("failed", "internal endpoints are not available here");
      const { chain } = call.origin;
      const origin = { ...call.origin, chain: { ...chain, hops: chain.hops + 1 } };
      return inside.send(request, origin, { timeoutMs, maxAnswerBytes });
    }
    if (!allows(host)) throw new Fault("refused", "this server does not allow policies to reach this host");
    const { status, headers, body, address } = inSameWork(
      await outside.send({
        ...request,
        timeoutMs,
        asker: call.origin.accountId,
      }),
    );
    return { status, headers: listHeaders(headers), body, address };
  };
  const follow = async (call: HttpCall, deadline: number, sent: { request?: CallRequest }): Promise<CallAnswer> => {
    const inSameWork = captureWork();
    if (!URL.canParse(call.url)) throw new Fault("refused", "the URL is invalid");
    let request: CallRequest = {
      method: call.method,
      url: new URL(call.url),
      headers: prepareHeaders(call.headers),
      body: call.body,
    };
    for (let redirects = 0; ; redirects += 1) {
      sent.request = request;
      const answer = inSameWork(await send(request, call, deadline));
      const next = redirects < call.maxRedirects ? followRedirect(request, answer) : undefined;
      if (next === undefined) {
        const body = inSameWork(await decodeContent(answer.body, answer.headers["content-encoding"], maxAnswerBytes));
        if (!body)
          throw new Fault("too_long", `the answer is longer than ${maxAnswerBytes} bytes, or its encoding is invalid`);
        return { ...answer, body };
      }
      // An external server must not choose among internal endpoints.
      if (isInternalName(next.url.hostname) && !isInternalName(request.url.hostname)) {
        throw new Fault("refused", "the answer of an external host redirects to an internal endpoint");
      }
      request = next;
    }
  };
  const attempt = async (call: HttpCall, deadline: number): Promise<CallAttempt> => {
    const inSameWork = captureWork();
    const started = clock.monotonic();
    const sent: { request?: CallRequest } = {};
    let answer: CallAnswer | undefined;
    let fault: CallFault | undefined;
    try {
      answer = inSameWork(await follow(call, deadline, sent));
    } catch (error) {
      fault = faultOf(error, clock.monotonic() >= deadline - timerSlackMs);
    }
    return { request: sent.request, answer, fault, timeMs: clock.monotonic() - started };
  };
  const run = async (call: HttpCall): Promise<readonly CallAttempt[]> => {
    const inSameWork = captureWork();
    const deadline = clock.monotonic() + call.timeoutMs;
    const attempts: CallAttempt[] = [];
    for (;;) {
      const last = inSameWork(await attempt(call, deadline));
      attempts.push(last);
      // A rejected attempt would be rejected again.
      if (attempts.length === maxAttempts || last.fault?.kind === "refused" || !call.retry?.(attempts)) return attempts;
      if (clock.monotonic() + pauseMs >= deadline) return attempts;
      inSameWork(await new Promise<void>((resolve) => void clock.after(pauseMs, resolve)));
    }
  };
  return {
    async call(call) {
      const refused = underWay.refusal(call.origin);
      if (refused) return [failAttempt(refused)];
      underWay.begin(call.origin);
      try {
        return await run(call);
      } catch (error) {
        return [failAttempt({ kind: "failed", message: error instanceof Error ? error.message : String(error) })];
      } finally {
        underWay.end(call.origin);
      }
    },
  };
}

type Origin = HttpCall["origin"];

class CallsUnderWay {
  #count = 0;
  readonly #ofAccount = new Map<string, number>();

  /** Returns the reason why a call is not tried. */
  refusal({ accountId, chain }: Origin): CallFault | undefined {
    if (chain.hops >= maxHops) {
      return { kind: "loop", message: `more than ${maxHops} requests of policies called each other` };
    }
    if (chain.left.count <= 0) return { kind: "loop", message: "too many requests of policies for one request" };
    if (this.#count < maxCalls && (this.#ofAccount.get(accountId) ?? 0) < maxCallsOfAccount) return undefined;
    return { kind: "failed", message: "too many requests of policies at the same time" };
  }

  begin({ accountId, chain }: Origin): void {
    chain.left.count -= 1;
    this.#count += 1;
    this.#ofAccount.set(accountId, (this.#ofAccount.get(accountId) ?? 0) + 1);
  }

  end({ accountId }: Origin): void {
    this.#count -= 1;
    const rest = (this.#ofAccount.get(accountId) ?? 1) - 1;
    if (rest > 0) this.#ofAccount.set(accountId, rest);
    else this.#ofAccount.delete(accountId);
  }
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

function failAttempt(fault: CallFault): CallAttempt {
  return { request: undefined, answer: undefined, fault, timeMs: 0 };
}

function listHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): CallAnswer["headers"] {
  const lists: Record<string, readonly string[]> = Object.create(null) as Record<string, readonly string[]>;
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) lists[name] = Array.isArray(value) ? value : [value];
  }
  return lists;
}
