/** Makes a tunnel from an agent's request: checks the request, finds the name, and compiles the endpoint. */
import { agentInboxLabel } from "../../../lib/agent-inbox-label.ts";
import type { Clock } from "../../../lib/clock.ts";
import { Refusal } from "../../../lib/errors.ts";
import type { SharedTunnel } from "../../../directory/news.ts";
import type { ModuleDeclaration } from "../../../traffic/module.ts";
import type { RoutingTable } from "../../../routing/sites/compiled-site.ts";
import type {
  AgentSession,
  BindProgress,
  BindRequest,
  LabelRequest,
  TunnelChange,
} from "../../../tunnel/server-hooks.ts";
import type { Grant } from "./agent-credentials.ts";
import { endpointAt, placesOf } from "./compile-endpoint.ts";
import type { OpenedEndpoint } from "../names/shared-names.ts";
import { makeEndpointPlaces } from "./endpoint-places.ts";
import type { EndpointPlacesOptions, EndpointRequest, PublicPlace, Unasked } from "./endpoint-places.ts";
import type { AgentLimits } from "../tunnels/agent-limits.ts";
import { prepareOptions } from "./option-translations.ts";
import { claimedName } from "../tunnels/tunnel.ts";
import type { Endpoint, Tunnel } from "../tunnels/tunnel.ts";

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
  /** Returns a copy of a tunnel in another session, which has just opened. */
  copy(tunnel: Tunnel, session: AgentSession): Tunnel;
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
      prepareOptions(asked, { accountId, places: placesOf[proto] }, options.modules),
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
    copy(tunnel, session) {
      const copy = { ...tunnel, session, startedAt: clock.now(), online: true };
      const asking = askedFor.get(tunnel);
      if (asking) askedFor.set(copy, { ...asking, session });
      return copy;
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
