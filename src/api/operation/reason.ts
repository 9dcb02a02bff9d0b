/** `Postern-Reason`: why a change is made, as free text in a header field. */
import { isUtf8 } from "node:buffer";
import { Refusal } from "../../lib/errors.ts";

/** Maximum length of a reason, bytes of UTF-8. */
export const maxReasonBytes = 255;

/**
 * Decodes the reason: UTF-8, with percent-encoding of everything but visible ASCII. As in URLs, a `%` without two
 * digits stands for itself. Older clients send raw bytes: UTF-8 if valid, otherwise Latin-1. Throws `Refusal` if the
 * reason is too long or ambiguous.
 */
export function readReason(field: string | undefined): string | undefined {
  const given = field?.trim();
  if (given === undefined || given === "") return undefined;
  const bytes = Buffer.from(
    given.replaceAll(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    "latin1",
  );
  const isRaw = bytes.length === given.length;
  if (!isRaw && !isUtf8(bytes)) throw refuseReason("must be percent-encoded UTF-8, but decodes to other bytes");
  const reason = bytes.toString(isUtf8(bytes) ? "utf8" : "latin1");
  if (/\p{Cc}/u.test(reason)) throw refuseReason("must have no control characters");
  const length = Buffer.byteLength(reason);
  if (length > maxReasonBytes)
    throw refuseReason(`must be at most ${maxReasonBytes} bytes of UTF-8, is ${length} bytes`);
  return reason;
}

function refuseReason(must: string): Refusal {
  return new Refusal("reason_invalid", `the header Postern-Reason ${must}`);
}
