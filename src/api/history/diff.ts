/** Changes by a write, field by field. Changed secrets are listed without their values. */
import { isDeepStrictEqual } from "node:util";
import { documentKeyField } from "../../resources/document-key.ts";
import type { Field, Fields } from "../../schema/fields.ts";
import { emptyValue, inputName } from "../../schema/doc.ts";
import type { Doc } from "../../schema/doc.ts";
import { concealValue } from "../../schema/concealment.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { isJsonObject } from "../../lib/json.ts";

export type Action = "create" | "update" | "delete" | "unchanged";

/** One field. `null` if it is unset or the object does not exist. */
export interface FieldChange {
  /** As in input, such as `backend.backend_id`. */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** Options that depend on the reader. */
export interface Telling {
  /**
   * Whether the reader may read secrets, and therefore values that may contain them. Secrets themselves are always
   * masked.
   */
  readonly seesSecrets: boolean;
  /** Paths that always count as changed. Otherwise the reader could test whether a value equals the present one. */
  readonly given?: ReadonlySet<string>;
}

/**
 * Returns the fields that differ between two documents of a kind. For a created or deleted object, returns the fields
 * that are set.
 */
export function fieldChanges(
  fields: Fields,
  before: Doc | undefined,
  after: Doc | undefined,
  telling: Telling,
): FieldChange[] {
  const changes: FieldChange[] = [];
  compareFields(fields, before, after, "", telling, changes);
  return changes;
}

function compareFields(
  fields: Fields,
  before: Doc | undefined,
  after: Doc | undefined,
  at: string,
  telling: Telling,
  changes: FieldChange[],
): void {
  for (const name in fields) {
    const field = fields[name] as Field;
    if (field.live || (field.internal && name !== documentKeyField)) continue;
    const key = inputName(name, field);
    const path = at + key;
    const was = (before ? before[key] : emptyValue(field)) ?? null;
    const is = (after ? after[key] : emptyValue(field)) ?? null;
    if (!isGiven(telling, path) && (was === is || isDeepStrictEqual(was, is))) continue;
    if (field.type === "object" && isJsonObject(was) && isJsonObject(is)) {
      compareFields(field.fields, before && was, after && is, `${path}.`, telling, changes);
    } else {
      changes.push({
        path,
        before: before ? redactValue(field, was, telling) : null,
        after: after ? redactValue(field, is, telling) : null,
      });
    }
  }
}

function isGiven({ given }: Telling, path: string): boolean {
  if (!given) return false;
  return given.has(path) || [...given].some((one) => one.startsWith(`${path}.`));
}

function redactValue(field: Field, value: unknown, telling: Telling): unknown {
  if (value === null || value === undefined) return null;
  if (field.secret || (field.sensitive && !telling.seesSecrets)) return concealValue(field, value);
  switch (field.type) {
    case "object":
      return Object.fromEntries(
        Object.entries(field.fields)
          .filter(([, inner]) => !inner.live && !inner.internal)
          .map(([name, inner]) => {
            const key = inputName(name, inner);
            return [key, redactValue(inner, (value as Doc)[key], telling)];
          }),
      );
    case "list":
      return (value as readonly unknown[]).map((item) => redactValue(field.of, item, telling));
    case "map":
      return Object.fromEntries(
        Object.entries(value as Doc).map(([key, item]) => [key, redactValue(field.of, item, telling)]),
      );
    default:
      return value;
  }
}

const anyValue = { description: "Format as in requests; `***` replaces a secret, null means unset." };

/** Schema of `Action` and an object's changes, shared by all replies with changes. */
export const changeProperties: JsonSchema = {
  action: { type: "string", enum: ["create", "update", "delete", "unchanged"] },
  kind: { type: "string", description: "Kind of the object, e.g. `ip_policy`." },
  fields: {
    type: "array",
    description: "The changed fields.",
    items: {
      type: "object",
      properties: { path: { type: "string" }, before: anyValue, after: anyValue },
      required: ["path", "before", "after"],
      additionalProperties: false,
    },
  },
};
