/** Backends that consist of backends. */
import { Refusal } from "../../lib/errors.ts";
import type { Doc } from "../../schema/doc.ts";
import type { Reader, StoredObject } from "../../storage/store.ts";
import { failoverBackend } from "../../resources/failover-backend.ts";
import { httpResponseBackend } from "../../resources/http-response-backend.ts";
import { tcpEdge } from "../../resources/tcp-edge.ts";
import { tlsEdge } from "../../resources/tls-edge.ts";
import { weightedBackend } from "../../resources/weighted-backend.ts";
import { docOf } from "../../schema/doc.ts";
import { behaviourOf } from "../objects/behaviour.ts";
import type { Preparation } from "../objects/behaviour.ts";

const maxDepth = 5;
const nestedKinds: readonly string[] = [failoverBackend.name, weightedBackend.name];

/** Rejects cycles of members, and nesting that is too deep. */
export const failoverBackendBehaviour = behaviourOf(failoverBackend, {
  prepare(input) {
    checkMembers(input, ({ backends }) => backends);
    return { doc: input.doc };
  },
});

export const weightedBackendBehaviour = behaviourOf(weightedBackend, {
  prepare(input) {
    checkMembers(input, ({ backends }) => Object.keys(backends));
    return { doc: input.doc };
  },
});

function checkMembers<D>(input: Preparation<D>, idsOf: (doc: D) => readonly string[]): void {
  const { draft, accountId, doc, previous } = input;
  const ids = idsOf(doc);
  for (const id of ids) checkBelow(draft, accountId, id, previous?.id, 1);
  if (!previous) return;
  const before = new Set(idsOf(previous.doc));
  checkAbove(
    draft,
    previous,
    ids.filter((id) => !before.has(id)),
  );
}

/** Rejects a backend for a TLS or TCP edge if it, or a member, responds in HTTP. */
export function checkCarriesConnections(
  reader: Reader,
  { accountId, doc, previous }: Pick<Preparation, "accountId" | "doc" | "previous">,
): void {
  const id = backendOf(doc);
  if (id === undefined || id === (previous && backendOf(previous.doc))) return;
  const fixed = httpResponseBelow(reader, accountId, id, 0);
  if (fixed !== undefined) throw refuseWithoutHttp("backend.backend_id", `it resolves to "${fixed}"`);
}

/** Rejects new members that respond in HTTP if a TLS or TCP edge uses this backend. */
function checkAbove(
  reader: Reader,
  { account_id, id: backendId }: Pick<StoredObject, "account_id" | "id">,
  added: readonly string[],
): void {
  for (const id of added) {
    const fixed = httpResponseBelow(reader, account_id, id, 1);
    const edge = fixed === undefined ? undefined : connectionEdgeAbove(reader, backendId, 0);
    if (edge) throw refuseWithoutHttp("backends", `"${fixed}" would come under ${edge.kind} "${edge.id}"`);
  }
}

function httpResponseBelow(reader: Reader, accountId: string, id: string, depth: number): string | undefined {
  if (depth > maxDepth) return undefined;
  if (reader.get(accountId, httpResponseBackend.name, id)) return id;
  const nested = nestedKinds.map((kind) => reader.get(accountId, kind, id)).find((found) => found !== undefined);
  for (const member of nested ? memberIds(nested) : []) {
    const found = httpResponseBelow(reader, accountId, member, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function connectionEdgeAbove(reader: Reader, id: string, depth: number): StoredObject | undefined {
  if (depth > maxDepth) return undefined;
  for (const referrer of reader.referrers(id)) {
    if (referrer.kind === tlsEdge.name || referrer.kind === tcpEdge.name) return referrer;
    const found = nestedKinds.includes(referrer.kind) ? connectionEdgeAbove(reader, referrer.id, depth + 1) : undefined;
    if (found) return found;
  }
  return undefined;
}

function backendOf(doc: Doc): string | undefined {
  return (doc["backend"] as { readonly backend_id?: string } | null | undefined)?.backend_id;
}

function refuseWithoutHttp(path: string, why: string): Refusal {
  return new Refusal("backend_needs_http", `the backend cannot carry connections: ${why}`, { [path]: why });
}

function checkBelow(reader: Reader, accountId: string, id: string, root: string | undefined, depth: number): void {
  if (id === root) throw refuseNesting(`"${id}" leads back to itself`);
  if (depth > maxDepth) throw refuseNesting(`they are nested deeper than ${maxDepth}`);
  for (const kind of nestedKinds) {
    const found = reader.get(accountId, kind, id);
    for (const member of found ? memberIds(found) : []) checkBelow(reader, accountId, member, root, depth + 1);
  }
}

function memberIds(backend: StoredObject): readonly string[] {
  if (backend.kind === failoverBackend.name) return docOf(backend, failoverBackend).backends;
  return Object.keys(docOf(backend, weightedBackend).backends);
}

function refuseNesting(why: string): Refusal {
  return new Refusal("backend_nesting", `the members cannot be used: ${why}`, { backends: why });
}
