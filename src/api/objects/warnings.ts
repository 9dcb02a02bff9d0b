/** `Postern-Warning`: what is taken as it is given, and was probably not meant so. */
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Doc } from "../../schema/doc.ts";
import { doubtsOf } from "../../schema/doubts.ts";
import type { Reply } from "../operation/call.ts";

/** Of one field line, and in one answer. */
const maxBytes = 1000;
const maxLines = 10;

/** Header fields of the answer to a write, one for each doubt. */
export function warningHeaders(
  resource: ResourceDeclaration,
  doc: Doc,
  before: Doc | undefined,
): Pick<Reply, "headers"> {
  const doubts = doubtsOf(resource, doc, before).slice(0, maxLines);
  if (doubts.length === 0) return {};
  return { headers: doubts.flatMap(({ path, message }) => ["postern-warning", fieldValue(`${path}: ${message}`)]) };
}

/** A string of RFC 8941 §3.3.3, so that lines can be joined and parted again; what is no visible ASCII is percent-encoded. */
function fieldValue(text: string): string {
  let encoded = "";
  for (const sign of text.toWellFormed().replaceAll("…", "...")) {
    const one = /[\x20-\x24\x26-\x7e]/.test(sign) ? sign.replace(/["\\]/, "\\$&") : encodeURIComponent(sign);
    if (encoded.length + one.length > maxBytes) return `"${encoded}..."`;
    encoded += one;
  }
  return `"${encoded}"`;
}
