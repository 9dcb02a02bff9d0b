/** Applies a document in a draft, completely or not at all. */
import { isDeepStrictEqual } from "node:util";
import { formatTimestamp } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { newId } from "../../lib/ids.ts";
import { documentKeyField, documentKeySpace } from "../../resources/document-key.ts";
import { inputName } from "../../schema/doc.ts";
import { parseFields } from "../../schema/parse-fields.ts";
import type { Doc } from "../../schema/doc.ts";
import type { Issue } from "../../schema/fields.ts";
import type { Change, Draft, Reader, StoredObject } from "../../storage/store.ts";
import type { Call } from "../operation/call.ts";
import { ownerOf } from "../objects/object-context.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { listGivenValues } from "../objects/given-values.ts";
import { settlePuts } from "../history/settle.ts";
import type { Put } from "../history/settle.ts";
import { addIdentities } from "../objects/module-identities.ts";
import type { ModuleIdentities } from "../objects/module-identities.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { seesSecrets } from "../operation/scope.ts";
import { withServerSet } from "../objects/server-set.ts";
import { documentKinds, isId, keyOf, keyOfStored } from "./document.ts";
import type { Document, DocumentEntry } from "./document.ts";
import { resolveFields } from "./document-fields.ts";

/** Result of applying a document in a draft. */
export interface AppliedDocument {
  /** The present object of each entry, by key. */
  readonly objects: ReadonlyMap<string, StoredObject>;
  /** All changes, including implicit changes of other objects. */
  readonly changes: readonly Change[];
}

/** An entry with its object. */
interface Aim {
  readonly entry: DocumentEntry;
  readonly id: string;
  readonly present: StoredObject | undefined;
}

/** Maximum number of reported issues. */
export const maxIssues = 100;

/** @throws Refusal for the whole document, with one detail per invalid field of an entry */
export function carryOut(
  document: Document,
  call: Call,
  context: ObjectContext,
  draft: Draft,
  identities: ReadonlyMap<string, ModuleIdentities>,
): AppliedDocument {
  const { accountId } = call.principal;
  const issues: Issue[] = [];
  const aims = aimsOf(document, accountId, draft, context, issues);
  const byId = new Map([...aims.values()].map((aim) => [aim.id, aim]));
  const wanted = [...aims.values()].map((aim) => {
    const doc = makeWantedDoc(aim, document, aims, context, call.principal, draft, issues);
    const owner = ownerOf(aim.id, context);
    const made = identities.get(aim.entry.key) ?? new Map();
    return {
      aim,
      doc: issues.length > 0 ? doc : addIdentities(aim.entry.resource, doc, aim.present?.doc, made, owner),
    };
  });
  if (issues.length > 0) throw inputRefusal(call.operation.id, issues.slice(0, maxIssues));
  for (const { id, entry } of aims.values()) call.given?.set(id, listGivenValues(entry.resource.fields, entry.fields));
  const at = formatTimestamp(context.clock.now());
  try {
    draft.together(() => {
      if (document.prune) pruneObjects(document, accountId, context, draft);
      const puts: Put[] = [];
      for (const { aim, doc } of wanted) {
        const { id, present, entry } = aim;
        if (!present) {
          const object = { kind: entry.resource.name, id, account_id: accountId, revision: 0, created_at: at, doc };
          puts.push({ object: draft.revive(object), before: undefined });
        } else if (!isDeepStrictEqual(doc, present.doc)) {
          const object = draft.replace(present, doc);
          if (!isDeepStrictEqual({ ...doc, [documentKeyField]: null }, { ...present.doc, [documentKeyField]: null })) {
            puts.push({ object, before: present });
          }
        }
      }
      settlePuts(call, context, draft, puts);
    });
  } catch (error) {
    throw error instanceof Refusal ? inDocument(error, byId) : error;
  }
  const objects = new Map<string, StoredObject>();
  for (const { entry, id } of aims.values()) {
    const object = draft.get(accountId, entry.resource.name, id);
    // Its owner is pruned, which would delete this object too.
    if (!object) throw inputRefusal(call.operation.id, [{ path: entry.path, message: "must not lose its owner" }]);
    objects.set(entry.key, object);
  }
  return { objects, changes: draft.changes() };
}

/** Returns the object of an entry, if it exists. */
export function findPresent(
  entry: DocumentEntry,
  accountId: string,
  reader: Reader,
  issues: Issue[],
): StoredObject | undefined {
  const kind = entry.resource.name;
  const holder = reader.holder(accountId, documentKeySpace, entry.key);
  if (holder && holder.kind !== kind) {
    const message = `must have another name: ${holder.kind} "${holder.id}" has this name`;
    issues.push({ path: entry.path, message });
    return undefined;
  }
  if (entry.id === undefined) return holder;
  const named = reader.get(accountId, kind, entry.id);
  const path = `${entry.path}.id`;
  if (!named)
    issues.push({ path, message: `must be the id of a ${kind}, but "${entry.id.slice(0, 64)}" does not exist` });
  else if (holder && holder.id !== named.id)
    issues.push({ path, message: `must be "${holder.id}", which has this name` });
  else {
    const key = keyOfStored(named);
    if (key === undefined || key === entry.key) return named;
    issues.push({ path, message: `must be the id of an object without an entry, but belongs to "${key}"` });
  }
  return undefined;
}

function aimsOf(
  { entries }: Document,
  accountId: string,
  draft: Draft,
  context: ObjectContext,
  issues: Issue[],
): ReadonlyMap<string, Aim> {
  const aims = new Map<string, Aim>();
  const taken = new Map<string, DocumentEntry>();
  for (const entry of entries.values()) {
    const present = findPresent(entry, accountId, draft, issues);
    const id = present?.id ?? newId(entry.resource.idPrefix, context.clock.now());
    const other = taken.get(id);
    if (other) issues.push({ path: `${entry.path}.id`, message: `must not be the id of ${other.path}` });
    taken.set(id, entry);
    aims.set(entry.key, { entry, id, present });
  }
  return aims;
}

function makeWantedDoc(
  { entry, present }: Aim,
  document: Document,
  aims: ReadonlyMap<string, Aim>,
  context: ObjectContext,
  { accountId, scope }: Call["principal"],
  draft: Draft,
  issues: Issue[],
): Doc {
  const own: Issue[] = [];
  const { fields } = entry.resource;
  const resolved = resolveFields(fields, entry.fields, present?.doc, "", {
    issues: own,
    seesSecrets: seesSecrets(scope),
    idOf(name) {
      if (isId(name)) return name;
      const key = keyOf(document.name, name);
      return aims.get(key)?.id ?? draft.holder(accountId, documentKeySpace, key)?.id ?? name;
    },
  });
  const parsed = parseFields(fields, resolved, "create", present?.doc);
  own.push(...parsed.issues);
  if (own.length === 0 && present) {
    for (const [name, field] of Object.entries(fields)) {
      const key = inputName(name, field);
      if (!field.immutable || isDeepStrictEqual(parsed.doc[key], present.doc[key])) continue;
      const message = "can be set only when the object is created: rename the object to replace it";
      own.push({ path: key, message });
    }
  }
  for (const issue of own) issues.push({ ...issue, path: `${entry.path}.${issue.path}` });
  const doc = withServerSet(context.behaviours[entry.resource.name], parsed.doc, present?.doc);
  return { ...doc, [documentKeyField]: entry.key };
}

/** Deletes objects that entries of the document created earlier and that are no longer in it. */
function pruneObjects(document: Document, accountId: string, context: ObjectContext, draft: Draft): void {
  for (const { name: kind } of documentKinds) {
    for (const object of draft.page(accountId, kind, { limit: Infinity }).objects) {
      const key = keyOfStored(object);
      if (!key?.startsWith(`${document.name}/`) || document.entries.has(key)) continue;
      // It may have been deleted with its owner.
      if (!draft.get(accountId, kind, object.id)) continue;
      context.behaviours[kind]?.deleting?.(object, draft);
      draft.delete(object);
    }
  }
}

/** Converts the refusal of one object to a refusal of the document. */
function inDocument(error: Refusal, byId: ReadonlyMap<string, Aim>): Refusal {
  const { object_id, object_kind: _, ...details } = error.details;
  const aim = object_id === undefined ? undefined : byId.get(object_id);
  if (!aim) return error;
  const { path } = aim.entry;
  const placed = Object.entries(details).map(([name, text]) => {
    if (/^(?:holder|referrer)_/.test(name)) return [name, text];
    return [`${path}.${name}`, text];
  });
  const named = [...byId].reduce(
    (text, [id, other]) => text.replaceAll(`"${id}"`, `"${other.entry.name}"`),
    error.message,
  );
  return new Refusal(error.reason, `${path}: ${named}`, Object.fromEntries(placed));
}
