/** Changes by a write of many objects, as its reply shows them. */
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Change } from "../../storage/store.ts";
import type { Call } from "../operation/call.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import { seesSecrets } from "../operation/scope.ts";
import type { Views } from "../objects/views.ts";
import { changeProperties, fieldChanges } from "./diff.ts";
import type { Action, FieldChange } from "./diff.ts";

export interface ObjectChange {
  readonly action: Action;
  readonly kind: string;
  readonly id: string;
  /** "" if the object no longer exists. */
  readonly uri: string;
  readonly fields: readonly FieldChange[];
}

export function objectChange(
  { kind, id, before, after }: Change,
  views: Views,
  { principal, baseUrl }: Pick<Call, "principal" | "baseUrl">,
  sees = seesSecrets(principal.scope) && principal.isConcealed !== true,
): ObjectChange {
  const { fields } = resourceNamed(kind);
  return {
    // For objects without history, the state before a deletion is not recorded.
    action: after ? (before ? "update" : "create") : "delete",
    kind,
    id,
    uri: after ? views.uri(after, baseUrl) : "",
    fields: fieldChanges(fields, before?.doc, after?.doc, { seesSecrets: sees }),
  };
}

/** Returns the numbers of objects that are created, updated, deleted and unchanged. */
export function summaryOf(changes: readonly { readonly action: Action }[]): Readonly<Record<Action, number>> {
  const summary = { create: 0, update: 0, delete: 0, unchanged: 0 };
  for (const { action } of changes) summary[action] += 1;
  return summary;
}

export const objectChangeSchema: JsonSchema = {
  type: "object",
  description: "A write's changes to one object.",
  properties: {
    action: changeProperties["action"],
    kind: changeProperties["kind"],
    id: { type: "string" },
    uri: { type: "string", description: "URI of the object; empty if it no longer exists." },
    fields: changeProperties["fields"],
  },
  required: ["action", "kind", "id", "uri", "fields"],
  additionalProperties: false,
};

export const summarySchema: JsonSchema = {
  type: "object",
  description: "Number of objects.",
  properties: Object.fromEntries(
    ["create", "update", "delete", "unchanged"].map((name) => [name, { type: "integer" }]),
  ),
  required: ["create", "update", "delete", "unchanged"],
  additionalProperties: false,
};
