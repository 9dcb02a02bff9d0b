/** Dry runs: the edge's real code decides about a described request or connection. */
import { AssumedCountry, unknownAddresses } from "../../geo/address-book.ts";
import type { ConnectionFacts } from "../../traffic/connection-facts.ts";
import type { HeaderPairs } from "../../traffic/header-list.ts";
import { internalKey, internalNameOf, isInternalKey, isInternalName, keysOver } from "../../lib/internal-names.ts";
import type { OwnCertificate } from "../../lib/certificates/own-certificate.ts";
import { Roster } from "../../lib/collections/roster.ts";
import type { Handshake } from "../../traffic/handshake.ts";
import type { OpenConnection } from "../../traffic/open-connection.ts";
import type { Answer, Step } from "../../traffic/step.ts";
import { catalogue } from "../../lib/errors.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { CompiledRoute, ConnectionSite, RoutingTable, Site } from "../../routing/sites/compiled-site.ts";
import { findNearRoutes } from "../../routing/sites/near-routes.ts";
import { codeOf, outcomeOf, stepReports } from "../../routing/planes/edge-questions.ts";
import type { EdgeAnswer, EdgeQuestion, ExplanationReport, RouteDraft } from "../../routing/planes/edge-questions.ts";
import { refuseByRouter } from "../../routing/sites/router-refusals.ts";
import { decideConnection, decideOpened } from "../connections/decide.ts";
import { ClientConnection } from "../http/visitor-connection.ts";
import type { HttpContext } from "../http/http-context.ts";
import { receiveDescribed } from "../http/described-request.ts";
import type { PublicSites } from "../sites/public-sites.ts";
import { makeCounters } from "../http/http-counters.ts";
import type { Picked } from "../upstreams/pick.ts";
import type { RequestUpstreams } from "../upstreams/request-upstreams.ts";
import { replaceSite } from "../sites/pools.ts";
import { Rehearsal } from "./rehearsal.ts";

export interface ExplainerOptions {
  readonly table: RoutingTable;
  readonly sites: Pick<PublicSites, "https" | "http" | "endpointAt" | "endpoint" | "internalConnection">;
  readonly upstreams: Pick<RequestUpstreams, "foresee">;
  readonly context: HttpContext;
  /** Returns the port on which each scheme is listened on. */
  readonly listenPort: (scheme: "https" | "http") => number;
}

type QuestionNamed<N extends EdgeQuestion["name"]> = Extract<EdgeQuestion, { name: N }>;

export interface EdgeExplainer {
  request(question: QuestionNamed<"explain_request">): Promise<EdgeAnswer>;
  connection(question: QuestionNamed<"explain_connection">): Promise<EdgeAnswer>;
}

/** Port of a described client, which has none. Never a client's own port (RFC 6335 §6). */
const describedPort = 1024;
const unknown: EdgeAnswer = Object.freeze({ name: "unknown" as const });

/** Returns the draft of a route as an object, for compiling only. */
function draftObject(accountId: string, { routeId: id, fields }: RouteDraft): ResourceObject {
  return { kind: "https_edge_route", id, account_id: accountId, revision: -1, doc: fields };
}

type Decided = Pick<ExplanationReport, "edge" | "route" | "near" | "response" | "requestHeaders"> & {
  readonly steps: readonly Step[];
  readonly ending: Answer | undefined;
  readonly picked: Picked | undefined;
};

/** A dry run has no side effects. */
export function makeEdgeExplainer(options: ExplainerOptions): EdgeExplainer {
  const { table, sites, upstreams } = options;
  const { clock, limits, ...shared } = options.context;
  const { addresses = unknownAddresses } = shared;
  const facts = makeFactsOf(options);
  const context: HttpContext = {
    ...shared,
    clock,
    limits,
    counters: makeCounters(),
    connections: new Roster(),
    finished: undefined,
  };
  const toldOf =
    (source: string, country: string | undefined) =>
    (decided: Decided): EdgeAnswer => {
      const sourceCountry = country ?? addresses.known(source)?.countryCode;
      return { name: "explanation", explanation: { ...reportOf(decided, table.revision), sourceCountry } };
    };

  return {
    async request({ accountId, siteId, isEndpoint = false, request: described, draft }) {
      const report = toldOf(described.source, described.country);
      const held = new Set<unknown>();
      if (draft) held.add(await table.prepare([draftObject(accountId, draft)], accountId));
      const edge = table.object("https_edge", siteId);
      const lookup = described.scheme === "http" ? sites.http : sites.https;
      const request = receiveDescribed(described, limits);
      if (typeof request === "string") {
        const site = edge ?? lookup(described.host);
        if (ownerOf(site) !== accountId || site?.id !== siteId) return unknown;
        const step = refuseByRouter("bad_request", request);
        return report({ ...nothing, edge: placeOf(site), steps: [step], ending: step.answer });
      }
      const found = lookup(request.host);
      /** Clients cannot find an internal site, but its owner may explain it. */
      const internalSite = (host: string): Site | undefined => {
        if (!isInternalName(host)) return undefined;
        const keys = keysOver(internalKey({ scheme: "https", host, port: 443 }, accountId));
        const configured = [...keys].flatMap((key) => table.pool(key)).find(({ id }) => id === siteId);
        const own = configured ?? sites.endpoint(siteId);
        return own && "findRoute" in own && own.hosts.some(isInternalKey) ? own : undefined;
      };
      /** An agent with several sessions at this edge has an endpoint for each. One of them represents the URL. */
      const otherSession = (): Site | undefined => {
        if (!isEndpoint || found?.kind !== "endpoint" || found.id === siteId) return undefined;
        const other = sites.endpoint(siteId);
        const isSame = other && "findRoute" in other && other.accountId === found.accountId;
        return isSame && other.hosts.some((host) => found.hosts.includes(host)) ? other : undefined;
      };
      const member = found?.members?.find(({ id }) => id === siteId);
      const site = member ?? otherSession() ?? found ?? internalSite(request.host);
      if (edge && edge.account_id !== accountId) return unknown;
      if (site?.id !== siteId) return edge || isEndpoint ? { name: "elsewhere", host: request.host } : unknown;
      if (site.accountId !== accountId) return unknown;
      const asked = draft ? replaceRoute(site, draft.routeId, table.draftedRoute(draft.routeId, draft.fields)) : site;
      held.clear();
      const client = new ClientConnection(
        facts(described.source, request.host, request.scheme, described.country),
        // Of several endpoints with one URL, uses the requested one.
        (host) => (host === request.host ? asked : lookup(host)),
        context,
      );
      const { body, response: answer, as } = described;
      const response = answer && { ...answer, body: Buffer.from(answer.body) };
      const rehearsal = new Rehearsal(client, { request, body: Buffer.from(body), response, as }, upstreams);
      await rehearsal.run();
      return report({ ...decidedBy(rehearsal), edge: placeOf(site), near: nearTo(table, site, rehearsal) });
    },
    async connection({ accountId, kind, siteId, host = "", port = 0, source, country }) {
      const site =
        kind === "tls_edge" || kind === "tcp_edge"
          ? connectionSite(table, kind, siteId)
          : pickSite(sites.endpointAt(kind, host, port), sites.endpoint(siteId), siteId);
      if (site?.accountId !== accountId || site.id !== siteId) return unknown;
      const report = toldOf(source, country);
      const steps: Step[] = [];
      const edge = placeOf(site);
      const step = decideConnection(site, source, steps, () => {});
      if (step) return report({ ...nothing, edge, steps: [...steps, step], ending: step.answer });
      const opened = facts(source, host === "" ? serverNameOf(site) : host, "https", country);
      const described = describeConnection({ ...opened, localPort: port }, site);
      const internal = sites.internalConnection;
      const target = await decideOpened(site, described, { steps, logs: [], isRehearsal: true, internal, failed() {} });
      if (!target?.upstream) return report({ ...nothing, edge, steps, ending: steps.at(-1)?.answer });
      const picked = await upstreams.foresee(target.upstream, steps);
      const ending = "session" in picked || "host" in picked ? undefined : picked;
      return report({ ...nothing, edge, steps, ending, picked });
    },
  };
}

/** Returns a function for the facts about a described connection. */
function makeFactsOf({ context: { clock, addresses = unknownAddresses }, listenPort }: ExplainerOptions) {
  return (source: string, host: string, scheme: "https" | "http", country: string | undefined): ConnectionFacts => ({
    source,
    addresses: country === undefined ? addresses : new AssumedCountry(addresses, source, country),
    sourcePort: describedPort,
    local: {},
    localPort: listenPort(scheme),
    startedAt: clock.now(),
    tls:
      scheme === "http"
        ? undefined
        : { serverName: host, version: "TLSv1.3", cipher: "TLS_AES_256_GCM_SHA384", clientCertificate: undefined },
  });
}

/** Returns the site with `route` instead of its route with that id. */
function replaceRoute(site: Site, routeId: string, route: CompiledRoute | undefined): Site {
  return replaceSite(site, {
    logins: site.logins ?? [],
    findRoute(path, host) {
      const found = site.findRoute(path, host);
      return found?.id === routeId ? (route ?? found) : found;
    },
    tellsPathsApart: (host) => site.tellsPathsApart?.(host) ?? true,
    advertises: (host, port) => site.advertises(host, port),
  });
}

/** Returns the requested site if it is in a pool or internal. At a public name, it must be the site found there. */
function pickSite(
  found: ConnectionSite | undefined,
  own: Site | ConnectionSite | undefined,
  siteId: string,
): ConnectionSite | undefined {
  if (found?.id === siteId || !own || !("connection" in own)) return found;
  return own.pooled === true || own.hosts.some(isInternalKey) ? own : found;
}

/** Returns a server name that leads to the site. */
function serverNameOf({ kind, hosts }: ConnectionSite): string {
  return kind.startsWith("tls") ? internalNameOf(hosts[0] ?? "").replace(/^\*\./, "any.") : "";
}

/** Describes a connection as a client would open it. Rules and the site determine where TLS is terminated. */
function describeConnection(facts: ConnectionFacts, site: ConnectionSite): OpenConnection {
  const { tls, ...rest } = facts;
  if (site.kind.startsWith("tcp") || tls === undefined) return { facts: { ...rest, tls: undefined } };
  const hello = { serverName: tls.serverName, alpn: [] };
  if (site.handshake.passthrough !== true) return { facts: { ...facts, hello } };
  let known: ConnectionFacts = { ...rest, hello, tls: undefined };
  return {
    get facts() {
      return known;
    },
    get endTls() {
      if (known.tls !== undefined) return undefined;
      return (handshake: Handshake, certificate: OwnCertificate | undefined) => {
        const ended = { ...tls, version: handshake.maxVersion ?? tls.version, serverCertificate: certificate };
        known = { ...known, tls: ended };
        return Promise.resolve(ended);
      };
    },
  };
}

const nothing = {
  route: undefined,
  near: [],
  response: undefined,
  requestHeaders: [],
  picked: undefined,
} satisfies Partial<Decided>;

function decidedBy(rehearsal: Rehearsal): Omit<Decided, "edge" | "near"> {
  const { route, response, steps, ending, picked, request, forwarded } = rehearsal;
  return {
    route: route && { id: route.id, revision: route.revision },
    steps,
    ending,
    picked,
    requestHeaders: ending === undefined ? [...request.headers.entries(), ...parseHeaderLines(forwarded)] : [],
    response: response && { status: response.status, headers: response.headers.entries() },
  };
}

function nearTo(table: RoutingTable, site: Site, { request, route }: Rehearsal): ExplanationReport["near"] {
  // A request that was refused before routing has no path.
  if (site.kind !== "https_edge" || request.path === "") return [];
  const routes = table.children("https_edge_route", site.id, site.accountId);
  return findNearRoutes(routes, { host: request.host, path: request.path }, route?.id);
}

function reportOf(decided: Decided, revision: number): ExplanationReport {
  const { edge, route, near, steps, ending, picked, requestHeaders, response } = decided;
  const status = ending && ("error" in ending ? catalogue[ending.error].status : ending.status);
  const tunnel = ending === undefined && picked !== undefined && "session" in picked ? picked : undefined;
  const address = ending === undefined && picked !== undefined && "host" in picked ? picked : undefined;
  return {
    revision,
    edge,
    route,
    near,
    steps: stepReports(steps),
    outcome: outcomeOf(steps.at(-1), ending, status ?? 0),
    status,
    errorCode: codeOf(ending),
    backend: steps.findLast(({ by, outcome }) => by === "backend" && outcome !== "skipped")?.decidedBy,
    tunnel: tunnel && { id: tunnel.id, sessionId: tunnel.session.id, forwardsTo: tunnel.forwardsTo },
    address: address && `${address.host.includes(":") ? `[${address.host}]` : address.host}:${address.port}`,
    requestHeaders,
    response,
  };
}

function ownerOf(
  holder: { readonly accountId: string } | { readonly account_id: string } | undefined,
): string | undefined {
  return holder && ("accountId" in holder ? holder.accountId : holder.account_id);
}

function placeOf({ kind, id, revision }: NonNullable<Decided["edge"]>): NonNullable<Decided["edge"]> {
  return { kind, id, revision };
}

function connectionSite(table: RoutingTable, kind: "tls_edge" | "tcp_edge", id: string): ConnectionSite | undefined {
  if (kind === "tcp_edge") return table.tcpSite(id);
  const hostports = table.object(kind, id)?.doc["hostports"];
  for (const hostport of Array.isArray(hostports) ? (hostports as string[]) : []) {
    const name = hostport.slice(0, hostport.lastIndexOf(":")).toLowerCase();
    const site = table.pool(name).find((one) => one.id === id);
    if (site && "connection" in site) return site;
  }
  return undefined;
}

/** Parses the lines that the edge writes, without the request id, which only a real request has. */
function parseHeaderLines(lines: string): HeaderPairs {
  return lines
    .split("\r\n")
    .slice(0, -1)
    .map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 2)] as const);
}
