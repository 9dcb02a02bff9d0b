import { Refusal } from "../../lib/errors.ts";
import { readHeader } from "../operation/call.ts";
import type { Call } from "../operation/call.ts";

/**
 * `If-Match` (RFC 9110 §13.1.1): rejects the write unless the field lists the present tag. Weak tags never match. Only
 * the stored part is compared, so an agent that connects or disconnects does not block a write.
 */
export function checkIfMatch(call: Call, etag: string): void {
  const wanted = readHeader(call.request, "if-match");
  if (wanted === undefined || wanted.trim() === "*") return;
  if (wanted.split(",").some((tag) => storedPart(tag.trim()) === storedPart(etag))) return;
  throw new Refusal("precondition_failed", undefined, { etag });
}

/** Returns the tag without the part after its dot, see `Views.etag`. */
function storedPart(etag: string): string {
  return etag.replace(/\.[^"]*"$/, '"');
}

/** Returns the idempotency key of a POST. Throws `Refusal` if it is invalid. */
export function idempotencyKey(call: Call): string | undefined {
  const key = readHeader(call.request, "idempotency-key");
  if (key === undefined || /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new Refusal("idempotency_key_invalid", "the Idempotency-Key must be 1 to 255 visible ASCII characters");
}
