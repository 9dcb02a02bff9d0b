/** Chooses where an endpoint is published: the requested host name or port, or a generated one. */
import { randomUUID } from "node:crypto";
import { Refusal } from "../../../lib/errors.ts";
import { parsePort } from "../../../lib/hostport.ts";
import { internalKey, internalNameDemand, internalNameOf, isInternalName } from "../../../lib/internal-names.ts";
import { hostOfName, nameOf } from "../../../lib/plain-names.ts";
import { isServerName } from "../../../lib/server-names.ts";
import type { ServerNames } from "../../../lib/server-names.ts";
import type { AgentSession, LivenessAnswers, BindRequest } from "../../../tunnel/server-hooks.ts";
import type { EndpointAddresses } from "../names/endpoint-addresses.ts";
import { describeHolder } from "../names/agent-claims.ts";
import { companyOf } from "./company.ts";
import type { Grant } from "./agent-credentials.ts";
import type { EndpointHosts } from "../names/endpoint-hosts.ts";
import { generatedName, hostName } from "./generated-names.ts";
import type { OpenedEndpoint } from "../names/shared-names.ts";
import { makeNameSearches } from "../names/name-searches.ts";
import type { NameSearches } from "../names/name-searches.ts";
import { claimedName, isAtPort } from "../tunnels/tunnel.ts";
import type { Company, Endpoint, Tunnel } from "../tunnels/tunnel.ts";

export interface EndpointPlacesOptions extends ServerNames {
  readonly hosts: EndpointHosts;
  /** Undefined if the server offers no tcp tunnels. */
  readonly addresses: EndpointAddresses | undefined;
  readonly advertisedHttpsPort: () => number;
  readonly advertisedHttpPort?: () => number | undefined;
}

/** A request for an endpoint. */
export interface EndpointRequest {
  readonly grant: Grant;
  readonly session: AgentSession;
  /** Id of the tunnel. */
  readonly id: string;
  readonly request: BindRequest;
  /** The agents that were asked whether they still answer. */
  readonly asked: LivenessAnswers;
  /** Whether names can be claimed at the control plane. Also true if there is only one edge. */
  readonly canClaim: boolean;
}

/** A name whose holder must first be asked whether it still answers. */
export interface Unasked {
  readonly ask: AgentSession;
}

export interface PublicPlace {
  readonly host: string;
  readonly port: number;
}

export type ClaimedPlace = PublicPlace & Pick<OpenedEndpoint, "replaces" | "isFresh">;

export interface EndpointPlaces {
  /** Returns the place without taking it. Throws `Refusal`. */
  claim(asking: EndpointRequest): ClaimedPlace | Unasked;
  /**
   * Throws `agent_name_taken` unless the endpoint may start or stop sharing its place. It may stop only if no other
   * tunnel serves the place.
   */
  demandPool(endpoint: Endpoint, asking: Pick<EndpointRequest, "session" | "request">, pools: boolean): void;
}

/** Maximum number of generated names to try. Enough for all tunnels of a session. */
const maxGenerated = 5000;

export function makeEndpointPlaces(options: EndpointPlacesOptions): EndpointPlaces {
  const searches = makeNameSearches(maxGenerated);
  options.hosts.onReleased(searches.released);
  const placeOf = (asking: EndpointRequest): ClaimedPlace | Unasked =>
    asking.request.proto === "tcp" ? tcpPlace(options, asking) : hostPlace(options, searches, asking);
  return {
    claim(asking) {
      const place = placeOf(asking);
      if ("ask" in place) return place;
      return mustAsk(place, asking) ?? place;
    },
    demandPool(endpoint, { session, request }, pools) {
      const { host, port, site } = endpoint;
      const company = companyOf(session, { ...request, pools });
      if (isAtPort(site, host)) options.addresses?.claim(port, session, company);
      else options.hosts.claim(claimedName(endpoint), session, company);
    },
  };
}

/**
 * Returns the session that must be asked before its tunnel is replaced. Throws if its agent has answered. A request
 * with the id of the tunnel comes from the holder, which has proved it.
 */
function mustAsk(
  { host, port, replaces }: ClaimedPlace,
  { session, id, request, asked }: EndpointRequest,
): Unasked | undefined {
  const shown = request.proto === "tcp" ? `${internalNameOf(host)}:${port}` : internalNameOf(host);
  const taken = (why: string): Refusal => new Refusal("agent_name_taken", `publish "${shown}": ${why}`);
  for (const { id: heldId, session: holder } of replaces) {
    if (heldId === id) continue;
    if (holder === session) throw taken(`tunnel "${heldId}" of this session already serves it`);
    const isThere = asked.get(holder);
    if (isThere === undefined) return { ask: holder };
    if (isThere) throw taken(`${describeHolder(holder)} serves it`);
  }
  return undefined;
}

function tcpPlace(
  { addresses, domain, hosts }: EndpointPlacesOptions,
  asking: EndpointRequest,
): ClaimedPlace | Unasked {
  const internal = internalAddress(asking.request);
  if (internal) return internalPlace(hosts, asking, internal.host, internal.port);
  if (asking.request.isInternal === true) throw notInternal();
  if (!addresses)
    throw new Refusal("agent_option_unsupported", "open a tcp tunnel: this server offers no ports for tcp tunnels");
  const { grant, session, request } = asking;
  const place =
    request.address === ""
      ? generatedAddress(addresses, domain, asking)
      : addresses.requested(request.address, session);
  if ("ask" in place) return place;
  requireHost(grant, place.host, place.port);
  return { ...place, replaces: addresses.claim(place.port, session, companyFor(asking)), isFresh: false };
}

function hostPlace(
  options: EndpointPlacesOptions,
  searches: NameSearches,
  asking: EndpointRequest,
): ClaimedPlace | Unasked {
  const { grant, session, request } = asking;
  const requested = readRequestedHost(request, options);
  if (requested !== undefined && isInternalName(requested)) {
    return internalPlace(options.hosts, asking, requested, request.port);
  }
  if (request.isInternal === true) throw notInternal();
  const named = requested ?? generatedHost(options, searches, asking);
  if (typeof named !== "string") return named;
  const isFresh =
    requested === undefined && !asking.canClaim && !options.hosts.isLastHere(nameOf(request.proto, named), session);
  const host = isFresh ? `${generatedName([randomUUID()])}.${options.domain}` : named;
  const port = request.proto === "http" ? options.advertisedHttpPort?.() : options.advertisedHttpsPort();
  if (port === undefined) {
    throw new Refusal("agent_option_unsupported", `publish "http://${host}": this server publishes only over HTTPS`);
  }
  // An agent that reconnects sends the port of its URL. The server may use another port now.
  if (request.port !== undefined && request.port !== port && request.id === "") {
    throw new Refusal(
      "agent_option_unsupported",
      `publish "${host}:${request.port}": names are served at port ${port}`,
    );
  }
  requireHost(grant, host, port);
  const replaces = options.hosts.claim(nameOf(request.proto, host), session, companyFor(asking));
  return { host, port, replaces, isFresh };
}

/** Returns a place that only policies of the account reach. The server listens at no port for it. */
function internalPlace(
  hosts: EndpointHosts,
  asking: EndpointRequest,
  host: string,
  asked: number | undefined,
): ClaimedPlace {
  const { grant, session, request } = asking;
  const { proto, isPublic, id } = request;
  if (isPublic === true)
    throw new Refusal("internal_binding_demanded", `publish "${host}": request the binding "internal"`);
  const demand = internalNameDemand(host);
  if (demand !== undefined) throw new Refusal("agent_request_invalid", `publish "${host}": it must ${demand}`);
  const usual = proto === "http" ? 80 : 443;
  const port = proto === "tls" || proto === "tcp" ? (asked ?? usual) : usual;
  if (asked !== undefined && asked !== port && id === "") {
    throw new Refusal("agent_option_unsupported", `publish "${host}:${asked}": ${proto} is served at port ${port}`);
  }
  requireHost(grant, host, port);
  const key = internalKey({ scheme: proto, host, port }, session.accountId);
  const replaces = hosts.claim(nameOf(proto, key), session, companyFor(asking));
  return { host: key, port, replaces, isFresh: false };
}

/** Returns the internal address that a tcp tunnel requests. */
function internalAddress({ address }: BindRequest): { readonly host: string; readonly port: number } | undefined {
  const at = address.lastIndexOf(":");
  const wanted = at < 0 ? address : address.slice(0, at);
  if (!isInternalName(wanted.toLowerCase())) return undefined;
  const host = hostName(wanted);
  const port = parsePort(address);
  if (host !== undefined && port > 0) return { host, port };
  throw new Refusal("agent_request_invalid", `publish "${address}": it is not a host and a port`);
}

function notInternal(): Refusal {
  return new Refusal("internal_name_demanded", 'publish an internal endpoint: its host must end in ".internal"');
}

function companyFor({ session, request }: EndpointRequest): Company | undefined {
  return companyOf(session, request);
}

/** Throws `agent_denied`. */
export function requireHost(grant: Grant, host: string, port: number): void {
  if (grant.acl.allowsHost(host, port)) return;
  throw new Refusal("agent_denied", `publish "${host}:${port}": the token's ACL does not list it`);
}

function readRequestedHost({ hostname, subdomain }: BindRequest, names: ServerNames): string | undefined {
  const wanted = hostname !== "" ? hostname : subdomain && `${subdomain}.${names.domain}`;
  return wanted === "" ? undefined : hostAsked(wanted, names);
}

/** Returns the host name that an agent requests. Throws `Refusal` if it has no valid form or belongs to the server. */
export function hostAsked(wanted: string, names: ServerNames): string {
  const host = hostName(wanted);
  if (host === undefined) {
    const form = wanted.includes("*")
      ? ': a wildcard has "*" as its whole first label, such as "*.app.example.com"'
      : "";
    throw new Refusal("agent_request_invalid", `publish "${wanted}": it is not a host name${form}`);
  }
  if (!isInternalName(host) && isServerName(host, names))
    throw new Refusal("agent_name_taken", `publish "${host}": the server uses it`);
  return host;
}

/** Returns the first generated name of the credential and target that is free, or whose holder was restarted. */
function generatedHost(
  { hosts, domain }: EndpointPlacesOptions,
  searches: NameSearches,
  asking: EndpointRequest,
): string | Unasked {
  const { grant, session, id, asked, request } = asking;
  const target = targetOf(asking);
  const token = grant.tokenHash.toString("hex");
  const nameAt = (ordinal: number): string =>
    nameOf(request.proto, `${generatedName([token, target, String(ordinal)])}.${domain}`);
  const found = searches.first(`${request.proto} ${token} ${target}`, session, nameAt, (claimed) => {
    const holder = hosts.tunnel(claimed);
    if (holder && holder.id !== id) {
      if (!isRestart(holder, session, target)) return undefined;
      const isThere = asked.get(holder.session);
      if (isThere === undefined) return { ask: holder.session };
      if (isThere) return undefined;
    }
    return hosts.isFree(claimed, session, undefined) ? hostOfName(claimed) : undefined;
  });
  if (found !== undefined) return found;
  throw new Refusal("agent_limit", `open a tunnel: ${maxGenerated} tunnels already forward to "${target}"`);
}

/** Returns the first generated port of the credential and target that is free. */
function generatedAddress(
  addresses: EndpointAddresses,
  domain: string,
  asking: EndpointRequest,
): PublicPlace | Unasked {
  const { grant, session, id, asked } = asking;
  const target = targetOf(asking);
  let ask: AgentSession | undefined;
  const passes = (port: number): boolean => {
    const holder = addresses.tunnel(port);
    if (!holder || holder.id === id) return true;
    if (!isRestart(holder, session, target)) return false;
    const isThere = asked.get(holder.session);
    if (isThere === undefined) ask = holder.session;
    return isThere !== true;
  };
  const port = addresses.generated([grant.tokenHash.toString("hex"), target], session, passes);
  return ask ? { ask } : { host: domain, port };
}

/** Returns the address that the agent forwards to, without the process id that SDKs append. */
function targetOf({ request }: EndpointRequest): string {
  return request.forwardsTo.replace(/\?pid=\d+$/, "");
}

/** Whether the holder of a generated name looks like an earlier run of the same agent. */
function isRestart(holder: Tunnel, session: AgentSession, target: string): boolean {
  const before = holder.session;
  return (
    before !== session &&
    before.credentialId === session.credentialId &&
    before.ip === session.ip &&
    before.os === session.os &&
    // Several services of one process have the same `app://` target.
    !target.startsWith("app:")
  );
}
