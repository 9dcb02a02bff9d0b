import type { OutboundAnswer } from "../../../outbound/outbound.ts";
import { NotDelivered } from "./opened-target.ts";

/** Maximum `Retry-After` that is respected. */
const longestWaitMs = 60 * 60_000;

/** Returns the error for a failed response. `what` is the only part of its content that is reported. */
export function toNotDelivered({ status, headers }: OutboundAnswer, what = "", nowMs = 0): NotDelivered {
  const wait = retryAfter(headers["retry-after"], nowMs);
  return new NotDelivered(`the receiver answered ${status}${what === "" ? "" : ` ${what}`}`, wait);
}

/** Parses seconds or a date (RFC 9110 §10.2.3). */
function retryAfter(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  const waitMs = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return waitMs > 0 ? Math.min(waitMs, longestWaitMs) : undefined;
}

/** Parses a JSON object. Returns {} for anything else. */
export function readObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
