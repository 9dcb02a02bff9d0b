/**
 * Converts cloud endpoints to edges with only a policy. Compiling, matching and failing closed then work as for edges.
 */
import { internalKey, isInternalName } from "../../lib/internal-names.ts";
import { parseEndpointUrl, splitHostport } from "../../schema/endpoint-url.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { RoutingChange } from "../planes/messages.ts";
import { docOf } from "../../schema/doc.ts";
import { cloudEndpoint } from "../../resources/cloud-endpoint.ts";
import { isEndpointId } from "../../lib/ids.ts";

/** All kinds that an endpoint may have been converted to, with any URL. */
const kinds = ["https_edge_route", "https_edge", "tls_edge", "tcp_edge"] as const;

/** Yields the objects, with edges instead of cloud endpoints. */
export function* objectsAsEdges(objects: Iterable<ResourceObject>): Iterable<ResourceObject> {
  for (const object of objects) {
    if (object.kind === cloudEndpoint.name) yield* edgesOf(object);
    else yield object;
  }
}

/**
 * Yields the changes, with changes of edges instead of cloud endpoints. Deletes edges of the previous URL and sets
 * those of the current one.
 */
export function* changesAsEdges(changes: readonly RoutingChange[]): Iterable<RoutingChange> {
  for (const change of changes) {
    if (change.kind !== cloudEndpoint.name) {
      yield change;
      continue;
    }
    const { id, account_id, object } = change;
    const edges = object ? edgesOf(object) : [];
    for (const kind of kinds) {
      if (!edges.some((edge) => edge.kind === kind)) yield { kind, id, account_id, object: null };
    }
    for (const edge of edges) yield { kind: edge.kind, id, account_id, object: edge };
  }
}

function edgesOf(object: ResourceObject): readonly ResourceObject[] {
  const { url, traffic_policy: value, pooling_enabled, capture } = docOf(object, cloudEndpoint);
  const { scheme, hostport } = parseEndpointUrl(url);
  const traffic_policy = { enabled: true, value };
  const { host, port } = splitHostport(hostport);
  const hostports = isInternalName(host)
    ? [`${internalKey({ scheme, host, port }, object.account_id)}:${port}`]
    : [hostport];
  // TLS passes through unless a rule terminates it.
  const tls_termination = scheme === "tls" ? { enabled: true, terminate_at: "upstream", min_version: null } : null;
  if (scheme !== "https") {
    return [
      { ...object, kind: `${scheme}_edge`, doc: { hostports, traffic_policy, tls_termination, pooling_enabled } },
    ];
  }
  const match = { match_type: "path_prefix", match: "/" };
  return [
    { ...object, kind: "https_edge", doc: { hostports, pooling_enabled } },
    { ...object, kind: "https_edge_route", doc: { edge_id: object.id, ...match, traffic_policy, capture } },
  ];
}

/**
 * Returns the site that serves a cloud endpoint's host, named as for agents' endpoints. Endpoints with the same URL
 * share a site. Undefined unless the object is the route of a cloud endpoint.
 * @param edge the route's edge
 */
export function endpointSite(
  { kind, account_id }: ResourceObject,
  edge: ResourceObject | undefined,
): string | undefined {
  if (kind !== "https_edge_route" || !edge) return undefined;
  const [hostport = ""] = edge.doc["hostports"] as readonly string[];
  return `${account_id} ${splitHostport(hostport).host}`;
}

/** Whether two objects with the same URL may serve it together. */
export function arePooled(one: ResourceObject, other: ResourceObject): boolean {
  return isPooled(one) && isPooled(other) && one.kind === other.kind && one.account_id === other.account_id;
}

export function isPooled({ doc }: ResourceObject): boolean {
  return doc["pooling_enabled"] === true;
}

/** Returns the configured kind of an object that may represent a cloud endpoint. */
export function configuredKind({ kind, id }: Pick<ResourceObject, "kind" | "id">): string {
  return isEndpointId(id) ? cloudEndpoint.name : kind;
}
