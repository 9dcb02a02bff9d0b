/** `Postern-Warning`: what is taken as it is given, and was probably not meant so. */
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Doc } from "../../schema/doc.ts";
import { doubtsOf } from "../../schema/doubts.ts";
import type { Reply } from "../operation/call.ts";
import { quotedField } from "./quoted-field.ts";

/** In one answer. */
const maxLines = 10;

/** Header fields of the answer to a write, one for each doubt. */
export function warningHeaders(
  resource: ResourceDeclaration,
  doc: Doc,
  before: Doc | undefined,
): Pick<Reply, "headers"> {
  const doubts = doubtsOf(resource, doc, before).slice(0, maxLines);
  if (doubts.length === 0) return {};
  return { headers: doubts.flatMap(({ path, message }) => ["postern-warning", quotedField(`${path}: ${message}`)]) };
}
