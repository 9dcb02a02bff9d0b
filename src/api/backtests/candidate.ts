/** The candidate of a backtest: the changes of a document or of one draft, without making them. */
import type { JsonObject } from "../../lib/json.ts";
import { connectPhaseIssue, policyIssue } from "../../policy/policy-document.ts";
import { isHeldDomain, reservedDomain } from "../../resources/reserved-domain.ts";
import type { RoutingChange } from "../../routing/planes/messages.ts";
import { docOf } from "../../schema/doc.ts";
import type { Issue } from "../../schema/fields.ts";
import type { ResourceObject } from "../../schema/object.ts";
import { parseFields } from "../../schema/parse-fields.ts";
import type { Change, Store, StoredObject } from "../../storage/store.ts";
import { documentChanges } from "../documents/document-operations.ts";
import type { Call } from "../operation/call.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { namesOf } from "./changed-names.ts";
import type { ChangedNames } from "./changed-names.ts";
import { resources } from "../operation/resource-declarations.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { draftField } from "../traffic/explain-operations.ts";

const kinds: ReadonlySet<string> = new Set(
  resources.filter(({ traffic, packed }) => traffic && !packed).map(({ name }) => name),
);

export interface Candidate {
  readonly revision: number;
  readonly objects: readonly ResourceObject[];
  readonly changes: readonly RoutingChange[];
  readonly names: ChangedNames;
}

/** Returns the account's configuration and the candidate's changes of it. */
export async function candidateOf(call: Call, context: ObjectContext): Promise<Candidate> {
  const { document, draft } = call.body;
  const isGiven = (value: unknown): boolean => value !== undefined && value !== null;
  if (isGiven(document) === isGiven(draft)) {
    const message = "exactly one of document and draft is required";
    throw inputRefusal(call.operation.id, [{ path: "document", message }]);
  }
  const { store } = context;
  const { accountId } = call.principal;
  const made = isGiven(document) ? await documentChanges({ ...call, body: document as JsonObject }, context) : [];
  const changes = isGiven(document) ? made.flatMap(inEffect) : [draftChange(call, store, draft)];
  const { revision } = store;
  return { revision, objects: objectsOf(store, accountId), changes, names: namesOf(made) };
}

function objectsOf(store: Pick<Store, "objects">, accountId: string): readonly ResourceObject[] {
  const objects: ResourceObject[] = [];
  for (const object of store.objects(kinds)) {
    if (object.account_id === accountId && isInEffect(object)) objects.push(toResourceObject(object));
  }
  return objects;
}

function inEffect({ kind, id, before, after }: Change): RoutingChange[] {
  const accountId = (after ?? before)?.account_id;
  if (!kinds.has(kind) || accountId === undefined) return [];
  return [{ kind, id, account_id: accountId, object: after && isInEffect(after) ? toResourceObject(after) : null }];
}

function isInEffect(object: StoredObject): boolean {
  return object.kind !== reservedDomain.name || isHeldDomain(docOf(object, reservedDomain));
}

function toResourceObject({ kind, id, account_id, revision, doc }: StoredObject): ResourceObject {
  return { kind, id, account_id, revision, doc };
}

function draftChange(call: Call, store: Store, change: unknown): RoutingChange {
  const { doc, issues } = parseFields({ draft: draftField }, { draft: change } as JsonObject, "create");
  const draft = doc["draft"] as { readonly route_id: string; readonly traffic_policy: string } | null;
  if (issues.length > 0 || !draft) throw inputRefusal(call.operation.id, issues);
  const { route_id: id, traffic_policy: value } = draft;
  const route = store.get(call.principal.accountId, "https_edge_route", id);
  const issue =
    route === undefined ? { path: "draft.route_id", message: "must be a route of this account" } : issueOf(value);
  if (route === undefined || issue) throw inputRefusal(call.operation.id, issue ? [issue] : []);
  const traffic_policy = value.trim() === "" ? null : { enabled: true, value };
  const object = { ...toResourceObject(route), doc: { ...route.doc, traffic_policy } };
  return { kind: route.kind, id, account_id: route.account_id, object };
}

function issueOf(value: string): Issue | undefined {
  if (value.trim() === "") return undefined;
  const field = "draft.traffic_policy";
  return policyIssue(value, "http", field) ?? connectPhaseIssue(value, field, "policy_connect_phase_refused");
}
