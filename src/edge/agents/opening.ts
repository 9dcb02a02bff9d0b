/** What an agent's request for a tunnel comes to: checked, named and ready to be put on the register. */
import { internalKey, internalNameOf, isInternalName } from "../../lib/internal-names.ts";
import { isServerName } from "../../lib/server-names.ts";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { ModuleDeclaration } from "../../traffic/module.ts";
import type { RoutingTable } from "../../routing/sites/compiled.ts";
import type { Place } from "../../schema/object.ts";
import type { AgentSession, Asked, BindRequest, LabelRequest } from "../../tunnel/server-hooks.ts";
import type { Grant } from "./credentials.ts";
import type { EndpointAddresses } from "./addresses.ts";
import { describeHolder } from "./claims.ts";
import { connectionEndpoint, endpointSite } from "./endpoint.ts";
import type { EndpointSiteOptions } from "./endpoint.ts";
import type { EndpointHosts } from "./hosts.ts";
import type { AgentLimits } from "./limits.ts";
import { generatedName, hostName } from "./names.ts";
import { compileOptions } from "./options.ts";
import { readTermination } from "./termination.ts";
import type { Endpoint, EndpointProto, Tunnel } from "./tunnel.ts";

export interface OpeningOptions {
  /** As this edge runs them. */
  readonly modules: readonly ModuleDeclaration[];
  readonly table: RoutingTable;
  readonly hosts: EndpointHosts;
  /** Undefined: tcp tunnels are refused. */
  readonly addresses: EndpointAddresses | undefined;
  readonly domain: string;
  readonly advertisedHttpsPort: () => number;
  readonly advertisedHttpPort?: () => number | undefined;
  readonly clock: Clock;
  readonly limits: AgentLimits;
}

export interface Opening {
  /**
   * Throws `Refusal`. `replaces` is the tunnel of the same credential that must be taken away first: its agent was
   * `asked` and is silent. `ask` is the session that must be asked before anything can be said.
   */
  endpoint(
    grant: Grant,
    session: AgentSession,
    id: string,
    request: BindRequest,
    asked: Asked,
  ): { readonly tunnel: Tunnel; readonly replaces: Tunnel | undefined } | Unasked;
  /** Throws `Refusal`. */
  labelled(grant: Grant, session: AgentSession, id: string, request: LabelRequest): Tunnel;
}

/** Whether the agent behind a name is there has to be known first. */
interface Unasked {
  readonly ask: AgentSession;
}

interface PublicPlace {
  readonly host: string;
  readonly port: number;
}

/** Generated names that are tried before giving up: as many as a session may hold tunnels is plenty. */
const maxGenerated = 5000;

export function makeOpening(options: OpeningOptions): Opening {
  const { table, hosts, domain, clock, limits, modules } = options;

  const checkTexts = (texts: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(texts)) {
      if (Buffer.byteLength(text) <= limits.textBytes) continue;
      throw new Refusal("agent_request_invalid", `open a tunnel: "${name}" is longer than ${limits.textBytes} bytes`);
    }
  };
  const demandHost = (grant: Grant, host: string, port: number): void => {
    if (grant.acl.allowsHost(host, port)) return;
    throw new Refusal("agent_denied", `publish "${host}:${port}": the token's ACL does not list it`);
  };
  const requestedHost = (request: BindRequest): string | undefined => {
    const asked = request.hostname !== "" ? request.hostname : request.subdomain && `${request.subdomain}.${domain}`;
    if (asked === "") return undefined;
    if (asked.includes("*")) {
      throw new Refusal("agent_option_unsupported", `publish "${asked}": wildcards are served by edges`);
    }
    const host = hostName(asked);
    if (host === undefined) throw new Refusal("agent_request_invalid", `publish "${asked}": it is not a host name`);
    if (isServerName(host, domain)) throw new Refusal("agent_name_taken", `publish "${host}": it is the server's own`);
    return host;
  };
  /** The first of the credential's names for this target that is free, or whose holder has been started again. */
  const generatedHost = (
    grant: Grant,
    session: AgentSession,
    id: string,
    { forwardsTo }: BindRequest,
    asked: Asked,
  ): string | Unasked => {
    const target = forwardsTo.replace(/\?pid=\d+$/, "");
    for (let ordinal = 0; ordinal < maxGenerated; ordinal += 1) {
      const name = generatedName([grant.tokenHash.toString("hex"), target, String(ordinal)]);
      const host = `${name}.${domain}`;
      const holder = hosts.tunnel(host);
      if (holder && holder.id !== id) {
        if (!startedAgain(holder, session, target)) continue;
        const isThere = asked.get(holder.session);
        if (isThere === undefined) return { ask: holder.session };
        if (isThere) continue;
      }
      if (hosts.isFree(host, session)) return host;
    }
    throw new Refusal("agent_limit", `open a tunnel: ${maxGenerated} tunnels forward to "${target}" already`);
  };

  /** The address that is asked for, or the first of the credential's ports for this target that is free. */
  const addressOf = (
    addresses: EndpointAddresses,
    grant: Grant,
    session: AgentSession,
    id: string,
    request: BindRequest,
    asked: Asked,
  ): PublicPlace | Unasked => {
    if (request.address !== "") return addresses.requested(request.address, session);
    const target = request.forwardsTo.replace(/\?pid=\d+$/, "");
    let ask: AgentSession | undefined;
    const passes = (port: number): boolean => {
      const holder = addresses.tunnel(port);
      if (!holder || holder.id === id) return true;
      if (!startedAgain(holder, session, target)) return false;
      const isThere = asked.get(holder.session);
      if (isThere === undefined) ask = holder.session;
      return isThere !== true;
    };
    const port = addresses.generated([grant.tokenHash.toString("hex"), target], session, passes);
    return ask ? { ask } : { host: domain, port };
  };
  /** Reached by policies of the account alone, and at no port of this server. */
  const internalPlace = (grant: Grant, session: AgentSession, host: string, { proto }: BindRequest) => {
    if (proto !== "https" && proto !== "http") {
      throw new Refusal(
        "agent_option_unsupported",
        `publish "${proto}://${host}": internal endpoints are of http here`,
      );
    }
    const port = usualPort[proto] as number;
    demandHost(grant, host, port);
    const key = internalKey(host, session.accountId);
    return { host: key, port, replaces: hosts.claim(key, session) };
  };
  const placeOf = (
    grant: Grant,
    session: AgentSession,
    id: string,
    request: BindRequest,
    asked: Asked,
  ): (PublicPlace & { readonly replaces: Tunnel | undefined }) | Unasked => {
    const { addresses } = options;
    if (request.proto === "tcp") {
      if (!addresses) throw new Refusal("agent_option_unsupported", "open a tcp tunnel: this server publishes none");
      const place = addressOf(addresses, grant, session, id, request, asked);
      if ("ask" in place) return place;
      demandHost(grant, place.host, place.port);
      return { ...place, replaces: addresses.claim(place.port, session) };
    }
    const requested = requestedHost(request);
    if (requested !== undefined && isInternalName(requested)) return internalPlace(grant, session, requested, request);
    if (request.isInternal === true) {
      throw new Refusal("agent_request_invalid", 'publish an internal endpoint: its host must end in ".internal"');
    }
    const host = requested ?? generatedHost(grant, session, id, request, asked);
    if (typeof host !== "string") return host;
    const port = request.proto === "http" ? options.advertisedHttpPort?.() : options.advertisedHttpsPort();
    if (port === undefined) {
      throw new Refusal("agent_option_unsupported", `publish "http://${host}": this server publishes over HTTPS only`);
    }
    // One that comes back brings the port of its URL, which the server may have changed since.
    if (request.port !== undefined && request.port !== port && request.id === "") {
      throw new Refusal(
        "agent_option_unsupported",
        `publish "${host}:${request.port}": names are served at port ${port}`,
      );
    }
    demandHost(grant, host, port);
    return { host, port, replaces: hosts.claim(host, session) };
  };

  return {
    endpoint(grant, session, id, request, asked) {
      checkTexts({ metadata: request.metadata, forwardsTo: request.forwardsTo });
      const { proto } = request;
      const place = placeOf(grant, session, id, request, asked);
      if ("ask" in place) return place;
      const { host, port, replaces } = place;
      // Whoever brings the tunnel's own id, proven, is the one that holds it.
      if (replaces && replaces.id !== id) {
        const shown = proto === "tcp" ? `${host}:${port}` : internalNameOf(host);
        if (replaces.session === session) {
          throw new Refusal(
            "agent_name_taken",
            `publish "${shown}": this session serves it with tunnel "${replaces.id}"`,
          );
        }
        const isThere = asked.get(replaces.session);
        if (isThere === undefined) return { ask: replaces.session };
        if (isThere) {
          throw new Refusal("agent_name_taken", `publish "${shown}": ${describeHolder(replaces.session)} serves it`);
        }
      }
      const endpointId = `ep_${id.slice(id.lastIndexOf("_") + 1)}`;
      const { accountId } = session;
      const termination = proto === "tls" ? readTermination(request.options) : undefined;
      const owner = { accountId, endpointId, clock, places: places[proto] };
      const compiled = compileOptions(request.options, owner, modules);
      if (proto === "tls" && !termination && compiled.some(({ handshake }) => handshake !== undefined)) {
        throw new Refusal(
          "agent_request_invalid",
          "ask for client certificates: TLS that is passed through is the service's own; end it here (TLSTermination)",
        );
      }
      const site: EndpointSiteOptions = {
        endpointId,
        tunnelId: id,
        accountId,
        host,
        revision: table.revision,
        modules: compiled,
        restriction: () => table.restriction(accountId, "endpoints"),
      };
      const endpoint: Endpoint = {
        id: endpointId,
        proto,
        host,
        port,
        url:
          port === usualPort[proto]
            ? `${proto}://${internalNameOf(host)}`
            : `${proto}://${internalNameOf(host)}:${port}`,
        site:
          proto === "tls" || proto === "tcp"
            ? connectionEndpoint(site, proto, port, termination)
            : endpointSite(site, port),
      };
      return { tunnel: tunnelOf(id, session, request, clock.now(), { endpoint, labels: undefined }), replaces };
    },
    labelled(grant, session, id, request) {
      checkTexts({ metadata: request.metadata, forwardsTo: request.forwardsTo });
      checkLabels(request.labels, limits);
      for (const [name, value] of Object.entries(request.labels)) {
        if (grant.acl.allowsLabel(name, value)) continue;
        throw new Refusal("agent_denied", `carry the label "${name}=${value}": the token's ACL does not list it`);
      }
      const labels = Object.freeze(Object.assign(Object.create(null), request.labels) as Record<string, string>);
      return tunnelOf(id, session, request, clock.now(), { endpoint: undefined, labels });
    },
  };
}

function tunnelOf(
  id: string,
  session: AgentSession,
  request: Pick<LabelRequest, "forwardsTo" | "forwardsProto" | "metadata" | "proxyProtocol">,
  startedAt: number,
  published: Pick<Tunnel, "endpoint" | "labels">,
): Tunnel {
  const { forwardsTo, forwardsProto, metadata, proxyProtocol = 0 } = request;
  const http2 = forwardsProto === "http2";
  return { id, session, forwardsTo, metadata, http2, proxyProtocol, startedAt, online: true, ...published };
}

/** Whether the session that holds a generated name looks like an earlier run of the one that asks. */
function startedAgain(holder: Tunnel, session: AgentSession, target: string): boolean {
  const before = holder.session;
  return (
    before !== session &&
    before.credentialId === session.credentialId &&
    before.ip === session.ip &&
    before.os === session.os &&
    // `app://` says nothing about the service: several of them run side by side in one process.
    !target.startsWith("app:")
  );
}

/** Whose modules an endpoint may have: it is an edge and its route in one. */
const places = {
  https: ["https_route", "https_edge"],
  // What an edge has besides its routes is about TLS.
  http: ["https_route"],
  tls: ["tls_edge"],
  tcp: ["tcp_edge"],
} as const satisfies Record<EndpointProto, readonly Place[]>;

/** Which a URL need not name. */
const usualPort: Readonly<Record<EndpointProto, number | undefined>> = {
  https: 443,
  http: 80,
  tls: 443,
  tcp: undefined,
};

function checkLabels(labels: Readonly<Record<string, string>>, limits: AgentLimits): void {
  const pairs = Object.entries(labels);
  const bad = (why: string): Refusal => new Refusal("labels_invalid", `open a tunnel with labels: ${why}`);
  if (pairs.length === 0) throw bad("there are none");
  if (pairs.length > limits.labelsPerTunnel) throw bad(`there are more than ${limits.labelsPerTunnel}`);
  for (const part of pairs.flat()) {
    if (part === "") throw bad("a name or value is empty");
    if (part.includes("=")) throw bad(`"${part}" has a "="`);
    if (Buffer.byteLength(part) > limits.labelBytes) throw bad(`one is longer than ${limits.labelBytes} bytes`);
  }
}
