/** Edges with an online backend, as endpoints of type `edge`: one per hostport. */
import { createHash } from "node:crypto";
import { endpoint } from "../../resources/endpoint.ts";
import { httpsEdgeRoute } from "../../resources/https-edge-route.ts";
import { httpsEdge } from "../../resources/https-edge.ts";
import { tcpEdge } from "../../resources/tcp-edge.ts";
import { tlsEdge } from "../../resources/tls-edge.ts";
import { docOf } from "../../schema/doc.ts";
import type { DocOf } from "../../schema/doc.ts";
import type { Reader, StoredObject } from "../../storage/store.ts";

/** Maximum depth of nested backends. Writes with deeper nesting are rejected. */
const maxDepth = 10;

interface EdgeKind {
  readonly scheme: "https" | "tls" | "tcp";
  docOf(edge: StoredObject): Pick<DocOf<typeof httpsEdge>, "hostports" | "description" | "metadata">;
}

const edgeKinds: Readonly<Record<string, EdgeKind>> = {
  [httpsEdge.name]: { scheme: "https", docOf: (edge) => docOf(edge, httpsEdge) },
  [tlsEdge.name]: { scheme: "tls", docOf: (edge) => docOf(edge, tlsEdge) },
  [tcpEdge.name]: { scheme: "tcp", docOf: (edge) => docOf(edge, tcpEdge) },
};

/**
 * Walks up from the online backends of an account to the edges that refer to them. The cost depends on online backends,
 * not on all stored objects.
 */
export function edgeEndpoints(reader: Reader, onlineBackends: readonly StoredObject[]): StoredObject[] {
  const edges = new Map<string, StoredObject>();
  const seen = new Set<string>();
  const climb = (object: StoredObject, depth: number): void => {
    if (seen.has(object.id) || depth > maxDepth) return;
    seen.add(object.id);
    for (const referrer of reader.referrers(object.id)) {
      const edge = edgeOf(reader, referrer);
      if (edge) edges.set(edge.id, edge);
      else climb(referrer, depth + 1);
    }
  };
  for (const backend of onlineBackends) climb(backend, 0);
  return [...edges.values()].flatMap((edge) =>
    (edgeKinds[edge.kind]?.docOf(edge).hostports ?? []).map((hostport) => endpointOf(reader, edge, hostport)),
  );
}

/** Returns the edge of an object that refers to a backend. Undefined if the object is itself a backend. */
function edgeOf(reader: Reader, referrer: StoredObject): StoredObject | undefined {
  if (referrer.kind in edgeKinds) return referrer;
  if (referrer.kind !== httpsEdgeRoute.name) return undefined;
  return reader.get(referrer.account_id, httpsEdge.name, docOf(referrer, httpsEdgeRoute).edge_id ?? "");
}

function endpointOf(reader: Reader, edge: StoredObject, hostport: string): StoredObject {
  const kind = edgeKinds[edge.kind] as EdgeKind;
  const { scheme } = kind;
  const { description, metadata } = kind.docOf(edge);
  const address = addressOf(reader, edge.account_id, scheme, hostport);
  const url = scheme === "tcp" || address.port !== 443 ? `${scheme}://${hostport}` : `${scheme}://${address.host}`;
  return {
    kind: endpoint.name,
    id: idOf(edge.id, hostport),
    account_id: edge.account_id,
    revision: edge.revision,
    created_at: edge.created_at,
    doc: {
      created_at: edge.created_at,
      updated_at: edge.created_at,
      public_url: url,
      url,
      ...address,
      type: "edge",
      description,
      metadata,
      edge: edge.id,
      bindings: ["public"],
    },
  };
}

/** Returns the address of a configured endpoint, with its reservation. */
export function addressOf(reader: Pick<Reader, "holder">, accountId: string, scheme: string, hostport: string) {
  const colon = hostport.lastIndexOf(":");
  const [host, port] = [hostport.slice(0, colon), hostport.slice(colon + 1)];
  const reserved = (space: string, name: string): string | null => {
    const holder = reader.holder(accountId, space, name);
    return holder?.account_id === accountId ? holder.id : null;
  };
  return {
    proto: scheme,
    scheme,
    hostport,
    host,
    port: Number(port),
    domain: scheme === "tcp" ? null : reserved("domain", host),
    tcp_addr: scheme === "tcp" ? reserved("address", port) : null,
  };
}

/** Returns a stable id that sorts next to the edge: the edge's time part and a hash of the hostport. */
function idOf(edgeId: string, hostport: string): string {
  const start = edgeId.indexOf("_") + 1;
  const hash = createHash("sha256").update(`${edgeId} ${hostport}`).digest();
  const digits = (hash.readBigUInt64BE(0) * 1_000_000_007n + BigInt(hash.readUInt32BE(8))).toString(36);
  return `ep_${edgeId.slice(start, start + 11)}${digits.padStart(16, "0").slice(-16)}`;
}
