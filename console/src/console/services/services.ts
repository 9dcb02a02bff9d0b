/** Collects services: public addresses with their edges, routes, backends, tunnels and endpoints. */
import type { Endpoint, HTTPSEdge, TCPEdge, TLSEdge } from "../../../../sdk/src/index.ts";
import { callOperation, postern } from "../api.ts";
import type { ApiObject, JsonObject } from "../api.ts";
import { kindOfId, titleOf } from "../description.ts";
import type { Description } from "../description.ts";
import type { Tone } from "../../ui/format.ts";
import { labelOf } from "../label.ts";
import { filterOf } from "../lists.ts";
import { linkTo } from "../router.ts";
import { inOrder } from "../route-order.ts";
import { accessOf, accessOfRoutes } from "./access.ts";

export interface Service {
  readonly id: string;
  /** Kind of the object that owns the address. */
  readonly kind: "https_edge" | "tls_edge" | "tcp_edge" | "endpoint";
  readonly protocol: string;
  /** Public addresses; the first one is the name of the service. */
  readonly addresses: readonly string[];
  readonly note: string;
  /** Who may reach it. */
  readonly access: string;
  /** The same for each route. */
  readonly rules?: readonly { readonly path: string; readonly access: string }[];
  /** Ids of its backends. */
  readonly backends: readonly string[];
  /** Destination of an endpoint that an agent serves. */
  readonly leadsTo?: string;
  /** Whether it is an endpoint that a policy serves, not an agent. */
  readonly isCloud?: boolean;
  readonly createdAt: string;
}

/** Where the requests of a service go, and whether it works. */
export interface Destination {
  readonly text: string;
  readonly href?: string;
  readonly tone: Tone;
  readonly state: string;
  /** Labels for the agent of a backend that no agent serves. */
  readonly wants?: Readonly<Record<string, string>>;
}

export interface ServicePage {
  readonly services: readonly Service[];
  readonly hasMore: boolean;
}

/** Returns the newest services of each kind that contain the text. */
export async function loadNewestServices(text: string, limit: number, description: Description): Promise<ServicePage> {
  const pageOf = async <T>(name: string, list: (options: object) => { page(): Promise<Page<T>> }, where = "") => {
    const kind = description.kinds.get(name);
    const has = kind && filterOf(text, kind, description);
    const filter = [where, has === undefined ? "" : `(${has})`].filter((one) => one !== "").join(" && ");
    return await list({ limit, ...(filter !== "" && { filter }) }).page();
  };
  const [https, tls, tcp, endpoints] = await Promise.all([
    pageOf<HTTPSEdge>("https_edge", (options) => postern.edges.https.list(options)),
    pageOf<TLSEdge>("tls_edge", (options) => postern.edges.tls.list(options)),
    pageOf<TCPEdge>("tcp_edge", (options) => postern.edges.tcp.list(options)),
    // Endpoints of edges are the edges' own addresses.
    pageOf<Endpoint>("endpoint", (options) => postern.endpoints.list(options), "obj.edge == null"),
  ]);
  const services = [
    ...https.items.map(ofHttpsEdge),
    ...tls.items.map((edge) => ofConnectionEdge("tls_edge", edge)),
    ...tcp.items.map((edge) => ofConnectionEdge("tcp_edge", edge)),
    ...endpoints.items.map(ofEndpoint),
  ];
  return {
    services: services.toSorted((one, other) => (one.createdAt < other.createdAt ? 1 : -1)),
    hasMore: [https, tls, tcp, endpoints].some(({ nextBeforeId }) => nextBeforeId !== undefined),
  };
}

interface Page<T> {
  readonly items: readonly T[];
  readonly nextBeforeId: string | undefined;
}

export function ofHttpsEdge(edge: HTTPSEdge): Service {
  return {
    id: edge.id,
    kind: "https_edge",
    protocol: "https",
    addresses: (edge.hostports ?? []).map((one) => `https://${one.replace(/:443$/, "")}`),
    note: edge.description,
    access: accessOfRoutes(edge.routes as unknown as readonly JsonObject[]),
    rules: inOrder(edge.routes).map((route) => ({
      path: route.match,
      access: accessOf(route as unknown as JsonObject),
    })),
    backends: [...new Set(edge.routes.flatMap(({ backend }) => (backend ? [backend.backend.id] : [])))],
    createdAt: edge.created_at,
  };
}

export function ofConnectionEdge(kind: "tls_edge" | "tcp_edge", edge: TLSEdge | TCPEdge): Service {
  const protocol = kind === "tls_edge" ? "tls" : "tcp";
  return {
    id: edge.id,
    kind,
    protocol,
    addresses: (edge.hostports ?? []).map((one) => `${protocol}://${one}`),
    note: edge.description,
    access: accessOf(edge as unknown as JsonObject),
    backends: edge.backend ? [edge.backend.backend.id] : [],
    createdAt: edge.created_at,
  };
}

export function ofEndpoint(endpoint: Endpoint): Service {
  return {
    id: endpoint.id,
    kind: "endpoint",
    protocol: endpoint.proto ?? "https",
    addresses: [endpoint.public_url],
    note: (endpoint.description || endpoint.metadata) ?? "",
    access: accessOf(endpoint as unknown as JsonObject),
    backends: [],
    leadsTo: endpoint.upstream_url || (endpoint.type === "cloud" ? "its traffic policy" : "an agent"),
    isCloud: endpoint.type === "cloud",
    createdAt: endpoint.created_at ?? "",
  };
}

export function nameOf({ addresses }: Pick<Service, "addresses">): string {
  return addresses[0] ?? "no name yet";
}

/** Returns the host of an address without scheme and port. */
export function hostOf(address: string): string {
  return address.replace(/^\w+:\/\//, "").replace(/:\d+$/, "");
}

export function linkToService({ kind, id }: Pick<Service, "kind" | "id">): string {
  return kind === "https_edge" ? linkTo("edges", id) : linkTo("services", kind, id);
}

/** Returns the destination of each backend, by its id. One call for each kind of backend. */
export async function destinationsOf(
  ids: readonly string[],
  description: Description,
): Promise<ReadonlyMap<string, Destination>> {
  const groups = ids.filter((id) => kindOfId(id, description) === "tunnel_group_backend");
  const tunnelIds = ids.filter((id) => !groups.includes(id));
  const filter = `obj.id in ${JSON.stringify(groups)}`;
  const [found, rest] = await Promise.all([
    groups.length === 0
      ? []
      : postern.backends.tunnelGroup
          .list({ limit: 100, filter })
          .page()
          .then(({ items }) => items),
    Promise.all(tunnelIds.map(async (id) => [id, await loadOtherDestination(id, description)] as const)),
  ]);
  return new Map([
    ...found.map(({ id, labels, tunnels, description: note }) => {
      const text =
        note ||
        Object.entries(labels)
          .map((pair) => pair.join("="))
          .join(", ");
      const count = tunnels.length;
      const state = count === 0 ? "no agent is online" : count === 1 ? "1 agent" : `${count} agents`;
      const href = linkTo("objects", "tunnel_group_backend", id);
      return [
        id,
        { text, href, state, tone: count === 0 ? "warn" : "good", ...(count === 0 && { wants: labels }) },
      ] as const;
    }),
    ...rest,
  ]);
}

async function loadOtherDestination(id: string, description: Description): Promise<Destination> {
  const kind = kindOfId(id, description) ?? "";
  const object = (await callOperation(description.kinds.get(kind)?.get ?? "", id)) as ApiObject;
  const address = object["address"];
  const text = typeof address === "string" ? address : labelOf(object);
  return { text, href: linkTo("objects", kind, id), state: titleOf(kind), tone: "good" };
}

/** Returns where a service leads, if everything about its backends is known. */
export function destinationOf(service: Service, known: ReadonlyMap<string, Destination>): Destination | undefined {
  if (service.leadsTo !== undefined) return { text: service.leadsTo, tone: "good", state: "online" };
  const [first] = service.backends;
  if (first === undefined) return { text: "nowhere yet", tone: "warn", state: "no backend" };
  const found = service.backends.flatMap((id) => known.get(id) ?? []);
  const worst = found.find(({ tone }) => tone !== "good") ?? found[0];
  if (!worst) return undefined;
  return found.length === 1 ? worst : { ...worst, text: `${worst.text} and ${found.length - 1} more` };
}
