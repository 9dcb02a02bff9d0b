import { Refusal } from "../../lib/errors.ts";
import { header } from "../operation/call.ts";
import type { Call } from "../operation/call.ts";

/**
 * `If-Match` (RFC 9110 §13.1.1): refused unless it lists the present tag; weak tags never match. Only what is
 * stored is compared: an agent that comes or goes between a read and a write takes nothing from the writer.
 */
export function checkIfMatch(call: Call, etag: string): void {
  const wanted = header(call.request, "if-match");
  if (wanted === undefined || wanted.trim() === "*") return;
  if (wanted.split(",").some((tag) => storedPart(tag.trim()) === storedPart(etag))) return;
  throw new Refusal("precondition_failed", undefined, { etag });
}

/** The tag without what follows its dot, see `Views.etag`. */
function storedPart(etag: string): string {
  return etag.replace(/\.[^"]*"$/, '"');
}

/** The key under which a POST happens once; throws `Refusal` for one that cannot be used. */
export function idempotencyKey(call: Call): string | undefined {
  const key = header(call.request, "idempotency-key");
  if (key === undefined || /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new Refusal("idempotency_key_invalid", "the Idempotency-Key must be 1 to 255 visible ASCII characters");
}
