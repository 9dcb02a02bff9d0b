import type { OutboundAnswer } from "../../../outbound/client.ts";
import { NotDelivered } from "./target.ts";

/** Longer is not believed. */
const longestWaitMs = 60 * 60_000;

/** What a response other than success means; `what` is all that is told of its content. */
export function refusedBy({ status, headers }: OutboundAnswer, what = "", nowMs = 0): NotDelivered {
  const wait = retryAfter(headers["retry-after"], nowMs);
  return new NotDelivered(`the receiver answered ${status}${what === "" ? "" : ` ${what}`}`, wait);
}

/** Seconds or a date (RFC 9110 §10.2.3). */
function retryAfter(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  const waitMs = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return waitMs > 0 ? Math.min(waitMs, longestWaitMs) : undefined;
}

/** JSON as an object; {} for anything else. */
export function readObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
