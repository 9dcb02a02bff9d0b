/** When the authority wants a certificate to be renewed (RFC 9773). */
import { X509Certificate } from "node:crypto";
import { encodeOid, readDer } from "../lib/certificates/der.ts";
import type { AcmeConnection } from "./acme-connection.ts";
import { AcmeProblem, readProblem } from "./problem.ts";
import { parseTime } from "../lib/rfc3339.ts";

export interface RenewalWindow {
  /** Milliseconds since 1970; `end` is after `start`. */
  readonly start: number;
  readonly end: number;
  /** Time until the next request. */
  readonly retryAfterMs: number;
}

/** RFC 9773 §4.3: the server's value is limited to this range. The default is 6 hours. */
const leastRetryMs = 60_000;
const longestRetryMs = 24 * 60 * 60 * 1000;
export const usualRetryMs = 6 * 60 * 60 * 1000;

/**
 * RFC 9773 §4.1: the authority's key id and the serial number. Returns undefined for a certificate that does not name
 * the key.
 */
export function renewalId(certificatePem: string): string | undefined {
  const [certificate] = readDer(new X509Certificate(certificatePem).raw);
  const fields = readDer(readDer(certificate?.body ?? Buffer.alloc(0))[0]?.body ?? Buffer.alloc(0));
  const serial = fields[1];
  const list = readDer(fields.find((field) => field.tag === 0xa3)?.body ?? Buffer.alloc(0))[0];
  const wanted = encodeOid("2.5.29.35");
  for (const extension of list ? readDer(list.body) : []) {
    const parts = readDer(extension.body);
    const value = parts.at(-1);
    if (!parts[0]?.whole.equals(wanted) || !value || !serial) continue;
    const keyId = readDer(readDer(value.body)[0]?.body ?? Buffer.alloc(0)).find((part) => part.tag === 0x80);
    return keyId && `${keyId.body.toString("base64url")}.${serial.body.toString("base64url")}`;
  }
  return undefined;
}

/** Rejects with `AcmeProblem`. */
export async function readRenewalWindow(
  connection: AcmeConnection,
  renewalInfoUrl: string,
  id: string,
): Promise<RenewalWindow> {
  const answer = await connection.send("GET", `${renewalInfoUrl.replace(/\/$/, "")}/${id}`);
  if (answer.status !== 200) {
    throw readProblem({ detail: `status ${answer.status}` }, "read renewal information", answer.retryAfterMs);
  }
  const { suggestedWindow } = answer.json() as { readonly suggestedWindow?: { start?: unknown; end?: unknown } };
  const start = parseTime(String(suggestedWindow?.start));
  const end = parseTime(String(suggestedWindow?.end));
  if (start === undefined || end === undefined || end <= start)
    throw new AcmeProblem("malformedAnswer", "the authority sent a renewal window that cannot be read");
  const retryAfterMs = Math.min(Math.max(answer.retryAfterMs ?? usualRetryMs, leastRetryMs), longestRetryMs);
  return { start, end, retryAfterMs };
}
