/** What the edges report of agents, and what is online because of it, as objects like the stored ones. */
import { cloudEndpoint } from "../../resources/cloud-endpoint.ts";
import { endpoint } from "../../resources/endpoint.ts";
import { httpResponseBackend } from "../../resources/http-response-backend.ts";
import { node } from "../../resources/node.ts";
import { staticBackend } from "../../resources/static-backend.ts";
import { tunnelSession } from "../../resources/tunnel-session.ts";
import { tunnel } from "../../resources/tunnel.ts";
import type { Upward } from "../../routing/planes/messages.ts";
import type { Doc } from "../../schema/doc.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import { makeAgentObjects } from "./agent-objects.ts";
import { asEndpoint, servedBy } from "./cloud-endpoints.ts";
import { edgeEndpoints } from "./edge-endpoints.ts";
import type { EdgeObserver } from "./edges.ts";
import { indexGroupBackends, labelsOf } from "./group-backends.ts";
import type { AgentNames } from "./agent-names.ts";
import type { ObjectsById } from "./objects-by-account.ts";
import type { OtherAgents } from "./other-agents.ts";

export interface LiveObjects extends EdgeObserver, Pick<AgentNames, "holderOfHostport" | "hasForeignHost"> {
  get(accountId: string, kind: string, id: string): StoredObject | undefined;
  /** Newest first, of those that sort before `beforeId`. */
  page(
    accountId: string,
    kind: string,
    request: { readonly limit: number; readonly beforeId: string | undefined },
  ): { readonly objects: readonly StoredObject[]; readonly more: boolean };
  /** What a stored cloud endpoint shows beyond its document. */
  cloudEndpoint(object: StoredObject): Doc;
  /** Ids of the account's online tunnels that have all of `labels`. */
  matchingTunnels(accountId: string, labels: Readonly<Record<string, string>>): readonly string[];
  /** Ids of the account's tunnel group backends that a tunnel with `labels` serves. */
  matchingBackends(accountId: string, labels: Readonly<Record<string, string>>): readonly string[];
  /** The account's endpoints that agents serve, in no particular order. */
  agentEndpoints(accountId: string): readonly StoredObject[];
  /** How many there are on all edges. */
  count(of: "sessions" | "tunnels"): number;
}

/** Kinds of backends that need no agent. */
const alwaysOnline: readonly string[] = [staticBackend.name, httpResponseBackend.name];

/**
 * @param nodes every node, asked when somebody wants them
 * @param others their agents; undefined where there are none
 */
export function openLiveObjects(
  store: Store,
  nodes: () => readonly StoredObject[] = () => [],
  others: () => OtherAgents | undefined = () => undefined,
): LiveObjects {
  const agents = makeAgentObjects(store, others);
  const backends = indexGroupBackends(store);
  const { names } = agents;
  const matchingTunnels: LiveObjects["matchingTunnels"] = agents.having;
  /** Bumped with what may change which endpoints there are, besides what is stored. */
  let changes = 0;
  let kept: { readonly key: string; readonly objects: ObjectsById; readonly ids: readonly string[] } | undefined;
  const objectsOf: Readonly<Record<string, (accountId: string) => ObjectsById>> = {
    [tunnelSession.name]: (accountId) => agents.sessions.of(accountId),
    [tunnel.name]: (accountId) => agents.tunnels.of(accountId),
    // They are of no account, and only operators ask.
    [node.name]: () => new Map(nodes().map((one) => [one.id, one])),
    [endpoint.name](accountId) {
      const groups = backends
        .values(accountId)
        .filter((backend) => matchingTunnels(accountId, labelsOf(backend)).length > 0);
      const always = alwaysOnline.flatMap((kind) => store.page(accountId, kind, { limit: Infinity }).objects);
      const ofEdges = new Map(edgeEndpoints(store, [...groups, ...always]).map((one) => [one.id, one]));
      const ofAgents = agents.endpoints.of(accountId);
      return {
        get: (id) => ofEdges.get(id) ?? ofAgents.get(id),
        keys: () => new Set([...ofAgents.keys(), ...ofEdges.keys()]),
      };
    },
  };
  /** Newest first. Endpoints, of which there may be very many, are found anew only once something has changed. */
  const sorted = (
    accountId: string,
    kind: string,
  ): { readonly objects: ObjectsById; readonly ids: readonly string[] } => {
    const key = `${accountId} ${store.commits} ${changes} ${others()?.changes ?? 0}`;
    if (kind === endpoint.name && kept?.key === key) return kept;
    const objects = objectsOf[kind]?.(accountId) ?? new Map<string, StoredObject>();
    const ids = [...objects.keys()].sort((left, right) => (left < right ? 1 : -1));
    if (kind === endpoint.name) kept = { key, objects, ids };
    return { objects, ids };
  };
  return {
    get(accountId, kind, id) {
      const cloud = kind === endpoint.name ? store.get(accountId, cloudEndpoint.name, id) : undefined;
      if (cloud) return asEndpoint(store, cloud);
      return kind === endpoint.name ? sorted(accountId, kind).objects.get(id) : objectsOf[kind]?.(accountId).get(id);
    },
    page(accountId, kind, { limit, beforeId }) {
      const { objects, ids } = sorted(accountId, kind);
      const from = beforeId === undefined ? 0 : firstBelow(ids, beforeId);
      const all = ids.slice(from, from + limit + 1).flatMap((id) => objects.get(id) ?? []);
      if (kind === endpoint.name) {
        const request = { limit: limit + 1, ...(beforeId !== undefined && { beforeId }) };
        const cloud = store.page(accountId, cloudEndpoint.name, request).objects;
        all.push(...cloud.map((one) => asEndpoint(store, one)));
      }
      all.sort((left, right) => (left.id < right.id ? 1 : -1));
      return { objects: all.slice(0, limit), more: all.length > limit };
    },
    cloudEndpoint: (object) => servedBy(store, object),
    matchingTunnels,
    matchingBackends: (accountId, labels) => backends.within(accountId, labels),
    holderOfHostport: names.holderOfHostport,
    hasForeignHost: (name, accountId) => names.hasForeignHost(name, accountId),
    agentEndpoints(accountId) {
      const own = agents.endpoints.of(accountId);
      return [...own.keys()].flatMap((id) => own.get(id) ?? []);
    },
    count: (of) => agents[of].size,
    receive(message, line) {
      if (changing.has(message.type)) changes += 1;
      agents.receive(message, line);
    },
  };
}

const changing: ReadonlySet<string> = new Set([
  "hello",
  "gone",
  "session_opened",
  "session_closed",
  "tunnel_opened",
  "tunnel_closed",
] satisfies Upward["type"][]);

/** Where those begin that sort before `id`. @param ids from the last to the first */
function firstBelow(ids: readonly string[], id: string): number {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] as string) < id) high = middle;
    else low = middle + 1;
  }
  return low;
}
