/** Requests to one ACME server, within the general bounds of outbound requests (security I7). */
import { parseJsonObject } from "../lib/json.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Clock } from "../lib/clock.ts";
import { openOutbound } from "../outbound/outbound.ts";
import type { OutboundAnswer } from "../outbound/outbound.ts";
import { AcmeProblem } from "./problem.ts";

export interface AcmeAnswer {
  readonly status: number;
  readonly headers: OutboundAnswer["headers"];
  readonly body: Buffer;
  /** Parses the body as an object. Throws `AcmeProblem` if it is not one. */
  json(): JsonObject;
  /** `Retry-After` in milliseconds from now. */
  readonly retryAfterMs: number | undefined;
}

export interface AcmeConnection {
  /** `body` is a JWS. Resolves with an answer of any status. Rejects with `AcmeProblem` without an answer. */
  send(method: "GET" | "HEAD" | "POST", url: string, body?: string): Promise<AcmeAnswer>;
  /** Resolves after `delayMs`. Rejects if the connection was closed. */
  pause(delayMs: number): Promise<void>;
}

export interface ConnectionOptions {
  /** Must be https. */
  readonly directoryUrl: string;
  /** Authorities that must have issued the server's certificate, PEM. Default: the system's. */
  readonly ca: string | undefined;
  readonly clock: Clock;
  /** Aborts open requests. */
  readonly signal: AbortSignal;
}

/** Certificates are requested in the background, and authorities are known to be slow. */
const timeoutMs = 15_000;
const maxAnswerBytes = 1024 * 1024;

/**
 * Each request uses a new connection, because there are few. URLs in the server's documents must have its origin, so
 * that they cannot reach other hosts of this network. Redirects are not followed.
 */
export function connectAcme(options: ConnectionOptions): AcmeConnection {
  const { clock, signal } = options;
  const { origin, protocol } = new URL(options.directoryUrl);
  if (protocol !== "https:") throw new Error(`connect to ACME server: "${options.directoryUrl}" is not https`);

  const outbound = openOutbound({
    purpose: "acme",
    clock,
    reach: "any_https",
    ca: options.ca,
    timeoutMs,
    maxAnswerBytes,
    keepsConnections: false,
    signal,
  });
  return {
    async send(method, url, body) {
      const target = URL.parse(url);
      if (target?.origin !== origin) {
        throw new AcmeProblem("malformedAnswer", `the authority at ${origin} names an address elsewhere`);
      }
      try {
        const headers = {
          "accept-language": "en",
          ...(body !== undefined && { "content-type": "application/jose+json" }),
        };
        const { status, headers: fields, body: bytes } = await outbound.send({ method, url: target, headers, body });
        return toAcmeAnswer(status, fields, bytes, clock);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new AcmeProblem("unreachable", `the authority at ${origin} does not answer: ${reason}`, { cause: error });
      }
    },
    pause(delayMs) {
      return new Promise((resolve, reject) => {
        const stop = (): void => {
          timer.cancel();
          reject(new AcmeProblem("unreachable", "the server is stopping"));
        };
        const timer = clock.after(delayMs, () => {
          signal.removeEventListener("abort", stop);
          resolve();
        });
        if (signal.aborted) stop();
        else signal.addEventListener("abort", stop, { once: true });
      });
    },
  };
}

function toAcmeAnswer(status: number, headers: OutboundAnswer["headers"], body: Buffer, clock: Clock): AcmeAnswer {
  return {
    status,
    headers,
    body,
    retryAfterMs: retryAfter(headers["retry-after"], clock.now()),
    json() {
      try {
        return parseJsonObject(body);
      } catch (error) {
        throw new AcmeProblem("malformedAnswer", `the authority's answer ${(error as Error).message}`, {
          cause: error,
        });
      }
    },
  };
}

/** Seconds or a date (RFC 9110 §10.2.3). */
function retryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
