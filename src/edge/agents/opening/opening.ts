/** Makes a tunnel from an agent's request: checks the request, finds the name, and compiles the endpoint. */
import { agentInboxLabel } from "../../../lib/agent-inbox-label.ts";
import { internalNameOf, isInternalKey } from "../../../lib/internal-names.ts";
import type { Clock } from "../../../lib/clock.ts";
import { nameOf } from "../../../lib/plain-names.ts";
import { markOf } from "../../../lib/work-mark.ts";
import { Refusal } from "../../../lib/errors.ts";
import { endpointIdOf } from "../../../lib/ids.ts";
import type { SharedTunnel } from "../../../directory/news.ts";
import type { ModuleDeclaration } from "../../../traffic/module.ts";
import type { RoutingTable } from "../../../routing/sites/compiled.ts";
import type { Place } from "../../../schema/object.ts";
import type {
  AgentSession,
  BindProgress,
  BindRequest,
  LabelRequest,
  TunnelChange,
} from "../../../tunnel/server-hooks.ts";
import type { Grant } from "./credentials.ts";
import { AccountObjects } from "./account-objects.ts";
import { companyOf } from "./company.ts";
import { connectionEndpoint, endpointSite } from "./endpoint.ts";
import type { EndpointSiteOptions } from "./endpoint.ts";
import type { OpenedEndpoint } from "../names/shared-names.ts";
import { makeEndpointPlaces } from "./endpoint-places.ts";
import type { EndpointPlacesOptions, EndpointRequest, PublicPlace, Unasked } from "./endpoint-places.ts";
import type { AgentLimits } from "../tunnels/limits.ts";
import { readCapture } from "./capture.ts";
import { compileOptions, likenessOf, prepareOptions } from "./options.ts";
import { readTermination } from "./termination.ts";
import { markOfTunnel } from "../tunnels/tunnel-mark.ts";
import { claimedName } from "../tunnels/tunnel.ts";
import type { Endpoint, EndpointProto, Tunnel } from "../tunnels/tunnel.ts";

export interface OpeningOptions extends EndpointPlacesOptions {
  /** In the order in which this edge runs them. */
  readonly modules: readonly ModuleDeclaration[];
  readonly table: RoutingTable;
  readonly clock: Clock;
  readonly limits: AgentLimits;
}

export interface Opening {
  /** See `prepareOptions`. */
  prepare(
    session: Pick<AgentSession, "accountId">,
    request: Pick<BindRequest, "proto" | "options">,
  ): Promise<readonly unknown[]> | undefined;
  /** Returns `ask` if a session must first be asked whether it still answers. Throws `Refusal`. */
  endpoint(asking: EndpointRequest, progress: BindProgress): OpenedEndpoint | Unasked;
  /** Returns the endpoint of a tunnel after a change. Throws `Refusal`. */
  changed(tunnel: Tunnel, change: TunnelChange): Endpoint;
  /** Returns the request from which the tunnel's endpoint was made. */
  requestOf(tunnel: Tunnel): BindRequest | undefined;
  /** Compiles the endpoint of another edge's tunnel. Throws if it does not compile here. */
  elsewhere(shared: SharedTunnel, session: AgentSession): Endpoint | undefined;
  /** Makes a tunnel with labels. Throws `Refusal`. */
  labelled(grant: Grant, session: AgentSession, id: string, request: LabelRequest): Tunnel;
}

export function makeOpening(options: OpeningOptions): Opening {
  const { clock, limits } = options;
  const endpointPlaces = makeEndpointPlaces(options);
  /** Requests from which the endpoints were made. */
  const askedFor = new WeakMap<Tunnel, EndpointRequest>();
  /** The tunnel of a repeated bind, which is reused while its place and the configuration stay the same. */
  const madeFor = new WeakMap<BindProgress, { readonly tunnel: Tunnel; readonly revision: number }>();
  const made = (place: PublicPlace, asking: EndpointRequest, progress: BindProgress): Tunnel => {
    const before = madeFor.get(progress);
    const { host, port } = before?.tunnel.endpoint ?? {};
    const { revision } = options.table;
    const { session, id, request } = asking;
    const isSame = before?.revision === revision && before.tunnel.id === id;
    if (isSame && host === place.host && port === place.port) return before.tunnel;
    const endpoint = endpointAt(place, asking, options);
    const tunnel = tunnelOf(id, session, request, clock.now(), { endpoint, labels: undefined });
    madeFor.set(progress, { tunnel, revision });
    return tunnel;
  };
  return {
    prepare: ({ accountId }, { proto, options: asked }) =>
      prepareOptions(asked, { accountId, places: places[proto] }, options.modules),
    endpoint(asking, progress) {
      checkTexts(asking.request, limits);
      const place = endpointPlaces.claim(asking);
      if ("ask" in place) return place;
      const tunnel = made(place, asking, progress);
      askedFor.set(tunnel, asking);
      return { tunnel, replaces: place.replaces, isFresh: place.isFresh };
    },
    changed(tunnel, { trafficPolicy, ...said }) {
      const asking = askedFor.get(tunnel);
      const { endpoint } = tunnel;
      if (!asking || !endpoint) {
        throw new Refusal("agent_option_unsupported", "change a tunnel with labels: configure its edges instead");
      }
      const { request } = asking;
      const { pools = request.pools === true } = said;
      if (pools !== (request.pools === true)) endpointPlaces.demandPool(endpoint, asking, pools);
      const after = {
        ...asking,
        request: {
          ...request,
          ...said,
          ...(trafficPolicy !== undefined && { options: { ...withoutPolicy(request), TrafficPolicy: trafficPolicy } }),
        },
      };
      checkTexts(after.request, limits);
      const made = endpointAt(endpoint, after, options);
      askedFor.set(tunnel, after);
      return made;
    },
    requestOf: (tunnel) => askedFor.get(tunnel)?.request,
    elsewhere: ({ id, endpoint }, session) => endpoint && endpointOf(endpoint, id, session, options),
    labelled(grant, session, id, request) {
      checkTexts(request, limits);
      checkLabels(request.labels, limits);
      for (const [name, value] of Object.entries(request.labels)) {
        if (grant.acl.allowsLabel(name, value)) continue;
        // The tunnel behind an agent's inbox serves this host, whose edge exists only by the server's consent.
        if (name === agentInboxLabel && grant.acl.allowsHost(value, options.advertisedHttpsPort())) continue;
        throw new Refusal("agent_denied", `carry the label "${name}=${value}": the token's ACL does not list it`);
      }
      const labels = Object.freeze(Object.assign(Object.create(null), request.labels) as Record<string, string>);
      return tunnelOf(id, session, request, clock.now(), { endpoint: undefined, labels });
    },
  };
}

/** Returns the options without a traffic policy. */
function withoutPolicy({ options }: BindRequest): BindRequest["options"] {
  return Object.fromEntries(Object.entries(options).filter(([name]) => !/^(?:traffic)?policy$/i.test(name)));
}

/** Compiles the endpoint of another edge's tunnel for visitors that arrive here. */
function endpointOf(
  { host, port, request }: NonNullable<SharedTunnel["endpoint"]>,
  id: string,
  session: AgentSession,
  options: OpeningOptions,
): Endpoint {
  return endpointAt({ host, port }, { session, id, request: JSON.parse(request) as BindRequest }, options);
}

/** Returns the endpoint at a place. Throws `Refusal` for options that it cannot have. */
function endpointAt(
  { host, port }: PublicPlace,
  { session, id, request }: Pick<EndpointRequest, "session" | "id" | "request">,
  options: OpeningOptions,
): Endpoint {
  const { clock, modules, table } = options;
  const { accountId } = session;
  const { proto } = request;
  const endpointId = endpointIdOf(id);
  const termination = proto === "tls" ? readTermination(request.options) : undefined;
  const named = new AccountObjects(table, accountId);
  const compiled = compileOptions(
    request.options,
    { accountId, endpointId, host, clock, named, places: places[proto] },
    modules,
  );
  if (proto === "tls" && !termination && compiled.some(({ handshake }) => handshake !== undefined)) {
    throw new Refusal(
      "agent_request_invalid",
      "request client certificates: this endpoint passes TLS through to the service; terminate TLS here (TLSTermination)",
    );
  }
  if (termination && compiled.some(({ endsTls }) => endsTls === true)) {
    const message = "terminate TLS with a rule of the traffic policy: the option TLSTermination already terminates it";
    throw new Refusal("agent_policy_invalid", message);
  }
  if (isInternalKey(host) && compiled.some(({ logins }) => logins !== undefined)) {
    const message = `publish "${proto}://${internalNameOf(host)}" with a login: configure the login at the public endpoint`;
    throw new Refusal("agent_option_unsupported", message);
  }
  if (proto === "http" && compiled.some(({ logins }) => logins !== undefined)) {
    throw new Refusal("agent_option_unsupported", `publish "http://${host}" with a login: logins need HTTPS`);
  }
  const company = companyOf(session, request);
  const mark = markOf(accountId, proto, host, likenessOf(proto, request.options));
  if (table.refuses(mark)) {
    const why = `publish "${host}": these options blocked a thread of the server, which was stopped; change the traffic policy`;
    throw new Refusal("agent_policy_invalid", why);
  }
  const beside = company && { name: nameOf(proto, host), likeness: likenessOf(proto, request.options) };
  const site: EndpointSiteOptions = {
    endpointId,
    tunnelId: id,
    accountId,
    host,
    revision: table.revision,
    mark,
    modules: compiled,
    beside,
    agentMark: markOfTunnel({ session }),
    restriction: () => table.restriction(accountId, "endpoints"),
    capture: proto === "https" || proto === "http" ? readCapture(request.options) : undefined,
  };
  return {
    id: endpointId,
    proto,
    host,
    port,
    name: request.name ?? "",
    description: request.description ?? "",
    url: `${proto}://${internalNameOf(host)}${port === usualPort[proto] ? "" : `:${port}`}`,
    site:
      proto === "tls" || proto === "tcp"
        ? connectionEndpoint(site, proto, port, termination)
        : endpointSite(site, port),
    beside,
    company,
    renewed: () => (named.isCurrent() ? undefined : endpointAt({ host, port }, { session, id, request }, options)),
  };
}

function tunnelOf(
  id: string,
  session: AgentSession,
  request: Pick<LabelRequest, "forwardsTo" | "forwardsProto" | "metadata" | "proxyProtocol" | "wantsTimes">,
  startedAt: number,
  published: Pick<Tunnel, "endpoint" | "labels">,
): Tunnel {
  const { forwardsTo, forwardsProto, metadata, proxyProtocol = 0, wantsTimes = false } = request;
  const http2 = forwardsProto === "http2";
  const known = { id, session, forwardsTo, metadata, http2, proxyProtocol, wantsTimes, startedAt };
  const name = published.endpoint ? claimedName(published.endpoint) : "";
  return {
    ...known,
    name,
    online: true,
    isOpened: true,
    isElsewhere: false,
    ...published,
    get company() {
      return this.endpoint?.company;
    },
  };
}

/** Places whose modules an endpoint may have: an endpoint is an edge and its route in one. */
const places = {
  https: ["https_route", "https_edge"],
  // The other modules of an edge are about TLS.
  http: ["https_route"],
  tls: ["tls_edge"],
  tcp: ["tcp_edge"],
} as const satisfies Record<EndpointProto, readonly Place[]>;

/** Ports that a URL omits. */
const usualPort: Readonly<Record<EndpointProto, number | undefined>> = {
  https: 443,
  http: 80,
  tls: 443,
  tcp: undefined,
};

function checkTexts({ metadata, forwardsTo }: Pick<BindRequest, "metadata" | "forwardsTo">, limits: AgentLimits): void {
  for (const [name, text] of Object.entries({ metadata, forwardsTo })) {
    if (Buffer.byteLength(text) <= limits.textBytes) continue;
    throw new Refusal("agent_request_invalid", `open a tunnel: "${name}" is longer than ${limits.textBytes} bytes`);
  }
}

function checkLabels(labels: Readonly<Record<string, string>>, limits: AgentLimits): void {
  const pairs = Object.entries(labels);
  const bad = (why: string): Refusal => new Refusal("labels_invalid", `open a tunnel with labels: ${why}`);
  if (pairs.length === 0) throw bad("the request has none");
  if (pairs.length > limits.labelsPerTunnel) throw bad(`there are more than ${limits.labelsPerTunnel}`);
  for (const part of pairs.flat()) {
    if (part === "") throw bad("a name or value is empty");
    if (part.includes("=")) throw bad(`"${part}" has a "="`);
    if (Buffer.byteLength(part) > limits.labelBytes) throw bad(`one is longer than ${limits.labelBytes} bytes`);
  }
}
