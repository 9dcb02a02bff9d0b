/** Objects that exist while an agent is connected: sessions, tunnels and endpoints, in the form of stored objects. */
import { makeLabelIndex } from "../../directory/labels.ts";
import type { LabelIndex, Labels } from "../../directory/labels.ts";
import type { Agents } from "../../directory/replica.ts";
import { findHolder, hasForeignHost } from "../../directory/served-names.ts";
import type { HostportHolder } from "../../directory/served-names.ts";
import { Lru } from "../../lib/collections/lru.ts";
import { cloudEndpoint } from "../../resources/cloud-endpoint.ts";
import { endpoint } from "../../resources/endpoint.ts";
import { httpResponseBackend } from "../../resources/http-response-backend.ts";
import { node } from "../../resources/node.ts";
import { staticBackend } from "../../resources/static-backend.ts";
import { tunnelGroupBackend } from "../../resources/tunnel-group-backend.ts";
import { tunnelSession } from "../../resources/tunnel-session.ts";
import { tunnel } from "../../resources/tunnel.ts";
import { docOf } from "../../schema/doc.ts";
import type { Doc } from "../../schema/doc.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import { makeAgentObjects } from "./agent-objects.ts";
import type { ObjectsById } from "./agent-objects.ts";
import { asEndpoint, deriveFields } from "./served-endpoints.ts";
import { edgeEndpoints } from "./edge-endpoints.ts";

export interface LiveObjects {
  get(accountId: string, kind: string, id: string): StoredObject | undefined;
  /** Objects that sort before `beforeId`, newest first. */
  page(
    accountId: string,
    kind: string,
    request: { readonly limit: number; readonly beforeId: string | undefined },
  ): { readonly objects: readonly StoredObject[]; readonly more: boolean };
  /** Returns the fields that a stored cloud endpoint shows beyond its document. */
  cloudEndpoint(object: StoredObject): Doc;
  /** Returns the ids of the account's online tunnels that have all of `labels`. */
  matchingTunnels(accountId: string, labels: Readonly<Record<string, string>>): readonly string[];
  /** Returns the ids of the account's tunnel group backends that a tunnel with `labels` serves. */
  matchingBackends(accountId: string, labels: Readonly<Record<string, string>>): readonly string[];
  /** Returns the account's endpoints that agents serve, unordered. */
  agentEndpoints(accountId: string): readonly StoredObject[];
  /** Returns the agent that currently serves a host and port. */
  holderOfHostport(hostport: string, accountId: string): HostportHolder | undefined;
  /** See the function of the same name. */
  hasForeignHost(name: string, accountId: string): boolean;
}

interface SortedObjects {
  /** Identifies the state in which the objects were sorted. */
  readonly key: string;
  readonly objects: ObjectsById;
  readonly ids: readonly string[];
}

/** Maximum number of sorted lists to keep. */
const maxKept = 16;

/** Kinds of backends that need no agent. */
const alwaysOnline: readonly string[] = [staticBackend.name, httpResponseBackend.name];

/**
 * @param agents the agents of this node's edges first, and then those of other nodes
 * @param nodes every node
 */
export function openLiveObjects(
  store: Store,
  agents: () => readonly Agents[],
  nodes: () => readonly StoredObject[],
): LiveObjects {
  const objects = makeAgentObjects(store, agents);
  const backends = indexGroupBackends(store);
  const matchingTunnels: LiveObjects["matchingTunnels"] = (accountId, labels) => [
    ...new Set(agents().flatMap((one) => one.findLabelled(accountId, labels))),
  ];
  const kept = new Lru<string, SortedObjects>(maxKept);
  const objectsOf: Readonly<Record<string, (accountId: string) => ObjectsById>> = {
    [tunnelSession.name]: (accountId) => objects.sessions(accountId),
    [tunnel.name]: (accountId) => objects.tunnels(accountId),
    // Nodes belong to no account, and only operators may list them.
    [node.name]: () => new Map(nodes().map((one) => [one.id, one])),
    [endpoint.name](accountId) {
      const groups = backends
        .values(accountId)
        .filter((backend) => matchingTunnels(accountId, labelsOf(backend)).length > 0);
      const always = alwaysOnline.flatMap((kind) => store.page(accountId, kind, { limit: Infinity }).objects);
      const ofEdges = new Map(edgeEndpoints(store, [...groups, ...always]).map((one) => [one.id, one]));
      const ofAgents = objects.endpoints(accountId);
      return {
        get: (id) => ofEdges.get(id) ?? ofAgents.get(id),
        keys: () => new Set([...ofAgents.keys(), ...ofEdges.keys()]),
      };
    },
  };
  /**
   * Returns the objects newest first. Sorts them and finds endpoints only after a change, because clients read page by
   * page.
   */
  const sorted = (accountId: string, kind: string): SortedObjects => {
    const list = `${accountId} ${kind}`;
    const key = `${store.commits} ${agents()
      .map((one) => one.changes)
      .join(" ")}`;
    const known = kept.get(list);
    if (known?.key === key && kind === endpoint.name) return known;
    const found = objectsOf[kind]?.(accountId) ?? new Map<string, StoredObject>();
    if (known?.key === key) return { ...known, objects: found };
    const ids = [...found.keys()].sort((left, right) => (left < right ? 1 : -1));
    const result = { key, objects: found, ids };
    if (kind !== node.name) kept.set(list, result);
    return result;
  };
  return {
    get(accountId, kind, id) {
      const cloud = kind === endpoint.name ? store.get(accountId, cloudEndpoint.name, id) : undefined;
      if (cloud) return asEndpoint(store, cloud);
      return kind === endpoint.name ? sorted(accountId, kind).objects.get(id) : objectsOf[kind]?.(accountId).get(id);
    },
    page(accountId, kind, { limit, beforeId }) {
      const { objects: found, ids } = sorted(accountId, kind);
      const from = beforeId === undefined ? 0 : firstBelow(ids, beforeId);
      const all = ids.slice(from, from + limit + 1).flatMap((id) => found.get(id) ?? []);
      if (kind === endpoint.name) {
        const request = { limit: limit + 1, ...(beforeId !== undefined && { beforeId }) };
        const cloud = store.page(accountId, cloudEndpoint.name, request).objects;
        all.push(...cloud.map((one) => asEndpoint(store, one)));
      }
      all.sort((left, right) => (left.id < right.id ? 1 : -1));
      return { objects: all.slice(0, limit), more: all.length > limit };
    },
    cloudEndpoint: (object) => deriveFields(store, object),
    matchingTunnels,
    matchingBackends: (accountId, labels) => backends.findWithin(accountId, labels),
    holderOfHostport: (hostport, accountId) => findHolder(agents(), hostport, accountId),
    hasForeignHost: (name, accountId) => hasForeignHost(agents(), name, accountId),
    agentEndpoints(accountId) {
      const own = objects.endpoints(accountId);
      return [...own.keys()].flatMap((id) => own.get(id) ?? []);
    },
  };
}

/**
 * Returns the index of the first id that sorts before `id`.
 * @param ids from last to first
 */
function firstBelow(ids: readonly string[], id: string): number {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] as string) < id) high = middle;
    else low = middle + 1;
  }
  return low;
}

function labelsOf(backend: StoredObject): Labels {
  return docOf(backend, tunnelGroupBackend).labels;
}

/** Indexes the stored tunnel group backends by the labels that they match. */
function indexGroupBackends(store: Store): LabelIndex<StoredObject> {
  const index = makeLabelIndex<StoredObject>();
  const add = (backend: StoredObject): void => index.add(backend.account_id, backend.id, labelsOf(backend), backend);
  for (const backend of store.objects(new Set([tunnelGroupBackend.name]))) add(backend);
  store.subscribe(({ changes }) => {
    for (const { kind, before, after } of changes) {
      if (kind !== tunnelGroupBackend.name) continue;
      if (before) index.remove(before.account_id, before.id, labelsOf(before));
      if (after) add(after);
    }
  });
  return index;
}
