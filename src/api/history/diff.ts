/** What a write changed, field by field; secrets are shown as changed, never as what they are. */
import { isDeepStrictEqual } from "node:util";
import { documentKeyField } from "../../resources/document-key.ts";
import type { Field, Fields } from "../../schema/fields.ts";
import { emptyValue, inputName } from "../../schema/doc.ts";
import type { Doc } from "../../schema/doc.ts";
import { concealed } from "../../schema/concealment.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";

export type Action = "create" | "update" | "delete" | "unchanged";

/** One field: `null` where it is unset, or the object does not exist. */
export interface FieldChange {
  /** As in input, e.g. `backend.backend_id`. */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** How differences are told to whom. */
export interface Telling {
  /** May read secrets, and so what may hold one. Secrets themselves are masked for everybody. */
  readonly seesSecrets: boolean;
  /**
   * Paths that count as changed, whatever they were: to be told that a value that was given is no other than the one
   * that is there would be to be told what that is.
   */
  readonly given?: ReadonlySet<string>;
}

/** The fields that differ between two documents of a kind; of one that came or went, those that are set. */
export function fieldChanges(
  fields: Fields,
  before: Doc | undefined,
  after: Doc | undefined,
  telling: Telling,
): FieldChange[] {
  const changes: FieldChange[] = [];
  compare(fields, before, after, "", telling, changes);
  return changes;
}

function compare(
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
    if (field.type === "object" && isObject(was) && isObject(is)) {
      compare(field.fields, before && was, after && is, `${path}.`, telling, changes);
    } else {
      changes.push({
        path,
        before: before ? redacted(field, was, telling) : null,
        after: after ? redacted(field, is, telling) : null,
      });
    }
  }
}

function isGiven({ given }: Telling, path: string): boolean {
  if (!given) return false;
  return given.has(path) || [...given].some((one) => one.startsWith(`${path}.`));
}

function redacted(field: Field, value: unknown, telling: Telling): unknown {
  if (value === null || value === undefined) return null;
  if (field.secret || (field.sensitive && !telling.seesSecrets)) return concealed(field, value);
  switch (field.type) {
    case "object":
      return Object.fromEntries(
        Object.entries(field.fields)
          .filter(([, inner]) => !inner.live && !inner.internal)
          .map(([name, inner]) => {
            const key = inputName(name, inner);
            return [key, redacted(inner, (value as Doc)[key], telling)];
          }),
      );
    case "list":
      return (value as readonly unknown[]).map((item) => redacted(field.of, item, telling));
    case "map":
      return Object.fromEntries(
        Object.entries(value as Doc).map(([key, item]) => [key, redacted(field.of, item, telling)]),
      );
    default:
      return value;
  }
}

function isObject(value: unknown): value is Doc {
  return typeof value === "object" && value !== null;
}

const anyValue = { description: "Format as in requests; `***` replaces a secret, null means unset." };

/** What `Action` and the object's changes look like in every answer that shows them. */
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
