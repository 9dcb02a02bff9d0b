/** `Postern-Warning`: values that are accepted but probably a mistake. */
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Doc } from "../../schema/doc.ts";
import { doubtsOf } from "../../schema/doubts.ts";
import type { Reply } from "../operation/call.ts";
import { renderQuotedField } from "./quoted-field.ts";

/** Maximum number of warnings in a response. */
const maxLines = 10;

/** Returns header fields for the response to a write, one per warning. */
export function warningHeaders(
  resource: ResourceDeclaration,
  doc: Doc,
  before: Doc | undefined,
): Pick<Reply, "headers"> {
  const doubts = doubtsOf(resource, doc, before).slice(0, maxLines);
  if (doubts.length === 0) return {};
  return {
    headers: doubts.flatMap(({ path, message }) => ["postern-warning", renderQuotedField(`${path}: ${message}`)]),
  };
}
