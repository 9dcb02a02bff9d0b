/** The reply to a document: the changes of its objects, and implicit changes of other objects. */
import { fieldChanges } from "../history/diff.ts";
import type { Action, Telling } from "../history/diff.ts";
import { summaryOf } from "../history/change-set.ts";
import { planHash } from "../history/plan-hash.ts";
import type { ObjectChange } from "../history/change-set.ts";
import { doubtsOf } from "../../schema/doubts.ts";
import { documentKeyField } from "../../resources/document-key.ts";
import type { Change, StoredObject } from "../../storage/store.ts";
import type { Call } from "../operation/call.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import { seesSecrets } from "../operation/scope.ts";
import type { AppliedDocument } from "./carry-out.ts";
import { keyOfStored } from "./document.ts";
import type { Document } from "./document.ts";
import { findGivenSecrets } from "./document-fields.ts";

interface PlannedChange extends ObjectChange {
  readonly name: string | null;
  readonly adopted: boolean;
}

export interface Plan {
  readonly document: string;
  readonly applied: boolean;
  readonly revision: number;
  /** Names the changes; see `planHash`. */
  readonly hash: string;
  readonly summary: Readonly<Record<Action, number>>;
  readonly changes: readonly PlannedChange[];
  /** Values that are accepted but probably a mistake. */
  readonly warnings: readonly PlanWarning[];
}

interface PlanWarning {
  readonly kind: string;
  /** Name in the document. Null for implicit changes. */
  readonly name: string | null;
  readonly path: string;
  readonly message: string;
}

/** @param done without `hash`, the hash is computed */
export function planOf(
  document: Document,
  outcome: AppliedDocument,
  context: ObjectContext,
  call: Pick<Call, "principal" | "baseUrl" | "body">,
  done: { readonly revision: number; readonly applied: boolean; readonly hash?: string },
): Plan {
  const hash = done.hash ?? documentHash(document, outcome, context, call);
  const sees = seesSecrets(call.principal.scope) && call.principal.isConcealed !== true;
  return { hash, ...planSeen(document, outcome, context, call.baseUrl, { ...done, sees }) };
}

/** Returns the hash of the document and the changes that it makes. */
export function documentHash(
  document: Document,
  outcome: AppliedDocument,
  context: ObjectContext,
  call: Pick<Call, "principal" | "body">,
): string {
  const done = { revision: 0, applied: false, sees: false };
  return planHash(call, call.body, planSeen(document, outcome, context, "", done).changes);
}

function planSeen(
  document: Document,
  { objects, changes }: AppliedDocument,
  context: ObjectContext,
  baseUrl: string,
  done: { readonly revision: number; readonly applied: boolean; readonly sees: boolean },
): Omit<Plan, "hash"> {
  const { sees } = done;
  const byId = new Map(changes.map((change) => [change.id, change]));
  const names = new Map<string, string>();
  const shown: PlannedChange[] = [];
  const warnings: PlanWarning[] = [];
  for (const [key, object] of objects) {
    const entry = document.entries.get(key);
    const name = entry?.name ?? null;
    const given = sees || !entry ? [] : findGivenSecrets(entry.resource.fields, entry.fields);
    const change = byId.get(object.id) ?? { kind: object.kind, id: object.id, before: object, after: object };
    byId.delete(object.id);
    if (!change.before && name !== null) names.set(object.id, name);
    shown.push(planChange(change, name, { seesSecrets: sees, given: new Set(given) }, context, baseUrl));
    warnings.push(...warningsOf(change, name));
  }
  const prefix = `${document.name}/`;
  for (const change of byId.values()) {
    const key = keyOfStored((change.before ?? change.after) as StoredObject);
    const name = key?.startsWith(prefix) ? key.slice(prefix.length) : null;
    shown.push(planChange(change, name, { seesSecrets: sees }, context, baseUrl));
  }
  const summary = summaryOf(shown);
  const { revision, applied } = done;
  const said = warnings.slice(0, maxWarnings);
  if (applied) return { document: document.name, applied, revision, summary, changes: shown, warnings: said };
  // Ids of new objects would differ next time, so they are omitted.
  const named = shown.map((change) => ({
    ...change,
    ...(change.action === "create" && { id: "", uri: "" }),
    fields: change.fields.map((field) => ({ ...field, after: withNames(field.after, names) })),
  }));
  return { document: document.name, applied, revision, summary, changes: named, warnings: said };
}

/** Maximum number of warnings. */
const maxWarnings = 100;

function warningsOf({ kind, before, after }: Change, name: string | null): PlanWarning[] {
  if (!after) return [];
  const doubts = doubtsOf(resourceNamed(kind), after.doc, before?.doc);
  return doubts.map(({ path, message }) => ({ kind, name, path, message }));
}

function planChange(
  change: Change,
  name: string | null,
  telling: Telling,
  { views }: ObjectContext,
  baseUrl: string,
): PlannedChange {
  const { kind, id, before, after } = change;
  const fields = fieldChanges(resourceNamed(kind).fields, before?.doc, after?.doc, telling).filter(({ path }) =>
    isGiven(kind, path),
  );
  const action = !before ? "create" : !after ? "delete" : fields.length > 0 ? "update" : "unchanged";
  const adopted = before !== undefined && after !== undefined && keyOfStored(before) !== keyOfStored(after);
  return { action, kind, name, id, uri: after ? views.uri(after, baseUrl) : "", adopted, fields };
}

/** Whether the client sets the field. Fields that the server sets follow from the others, or are random. */
function isGiven(kind: string, path: string): boolean {
  if (path === documentKeyField) return false;
  return resourceNamed(kind).fields[path]?.readOnly !== true;
}

/** Replaces ids in values by the names of `names`. */
function withNames(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value === "string") return names.get(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => withNames(item, names));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [names.get(key) ?? key, withNames(item, names)]),
  );
}
