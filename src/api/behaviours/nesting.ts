/** Backends that are made of backends. */
import { Refusal } from "../../lib/errors.ts";
import type { Doc } from "../../schema/doc.ts";
import type { Reader, StoredObject } from "../../storage/store.ts";
import type { Preparation, Behaviour } from "../objects/behaviour.ts";

const maxDepth = 5;
const nestedKinds: readonly string[] = ["failover_backend", "weighted_backend"];

/** Refuses members that lead back to the backend itself, and nesting that is too deep. */
export const nestedBackendBehaviour: Behaviour = {
  prepare({ draft, accountId, doc, previous }) {
    for (const id of memberIds(doc)) checkBelow(draft, accountId, id, previous?.id, 1);
    if (previous) checkAbove(draft, accountId, doc, previous);
    return { doc };
  },
};

/** Refuses a backend of a TLS or TCP edge that would answer in HTTP, by itself or by a member. */
export function checkCarriesConnections(
  reader: Reader,
  { accountId, doc, previous }: Pick<Preparation, "accountId" | "doc" | "previous">,
): void {
  const id = backendOf(doc);
  if (id === undefined || id === (previous && backendOf(previous.doc))) return;
  const fixed = httpResponseBelow(reader, accountId, id, 0);
  if (fixed !== undefined) throw needsHttp("backend.backend_id", `it leads to "${fixed}"`);
}

/** Refuses members that answer in HTTP where an edge above carries whole connections. */
function checkAbove(reader: Reader, accountId: string, doc: Doc, previous: StoredObject): void {
  const before = new Set(memberIds(previous.doc));
  for (const id of memberIds(doc)) {
    const fixed = before.has(id) ? undefined : httpResponseBelow(reader, accountId, id, 1);
    const edge = fixed === undefined ? undefined : connectionEdgeAbove(reader, previous.id, 0);
    if (edge) throw needsHttp("backends", `"${fixed}" would come under ${edge.kind} "${edge.id}"`);
  }
}

function httpResponseBelow(reader: Reader, accountId: string, id: string, depth: number): string | undefined {
  if (depth > maxDepth) return undefined;
  if (reader.get(accountId, "http_response_backend", id)) return id;
  const nested = nestedKinds.map((kind) => reader.get(accountId, kind, id)).find((found) => found !== undefined);
  for (const member of nested ? memberIds(nested.doc) : []) {
    const found = httpResponseBelow(reader, accountId, member, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function connectionEdgeAbove(reader: Reader, id: string, depth: number): StoredObject | undefined {
  if (depth > maxDepth) return undefined;
  for (const referrer of reader.referrers(id)) {
    if (referrer.kind === "tls_edge" || referrer.kind === "tcp_edge") return referrer;
    const found = nestedKinds.includes(referrer.kind) ? connectionEdgeAbove(reader, referrer.id, depth + 1) : undefined;
    if (found) return found;
  }
  return undefined;
}

function backendOf(doc: Doc): string | undefined {
  return (doc["backend"] as { readonly backend_id?: string } | null | undefined)?.backend_id;
}

function needsHttp(path: string, why: string): Refusal {
  return new Refusal("backend_needs_http", `the backend cannot carry connections: ${why}`, { [path]: why });
}

function checkBelow(reader: Reader, accountId: string, id: string, root: string | undefined, depth: number): void {
  if (id === root) throw refusal(`"${id}" leads back to itself`);
  if (depth > maxDepth) throw refusal(`they are nested deeper than ${maxDepth}`);
  for (const kind of nestedKinds) {
    const found = reader.get(accountId, kind, id);
    for (const member of found ? memberIds(found.doc) : []) checkBelow(reader, accountId, member, root, depth + 1);
  }
}

function memberIds(doc: Readonly<Record<string, unknown>>): readonly string[] {
  const members = doc["backends"] as readonly string[] | Readonly<Record<string, number>>;
  return Array.isArray(members) ? members : Object.keys(members);
}

function refusal(why: string): Refusal {
  return new Refusal("backend_nesting", `the members cannot be used: ${why}`, { backends: why });
}
