import type { RefusalName } from "../../lib/errors.ts";
import type { CallChain } from "../../traffic/http-calls.ts";
import type { HeaderFields } from "../../traffic/header-fields.ts";
import type { ConnectionFacts } from "../../traffic/connection-facts.ts";
import { sessionIn } from "../../traffic/mcp-session.ts";
import type { HeaderPairs } from "../../traffic/header-list.ts";
import type { Handshake } from "../../traffic/handshake.ts";
import type { Site } from "../../routing/sites/compiled-site.ts";
import { membersUnder } from "../sites/pools.ts";
import { noDemands, sameDemands } from "../tls/demands.ts";
import type { HttpContext, SiteLookup } from "./http-context.ts";
import { readForwardedSource } from "./forwarded-source.ts";
import { writeForwarded } from "./forwarded-fields.ts";
import type { ForwardedBefore } from "./forwarded-fields.ts";
import type { ReceivedRequest } from "./received-request.ts";

const defaultPort = { https: 443, http: 80 } as const;

/** A function here would be allocated in old space, see decision 34. */
interface Destroyable {
  destroy(): void;
}

/** State that the exchanges of one public connection share, for any protocol. */
export class ClientConnection {
  readonly facts: ConnectionFacts;
  readonly context: HttpContext;
  readonly scheme: "https" | "http";
  /** Whether the peer is a trusted proxy. If so, a request's source is the client that the proxy names. */
  readonly trusted: boolean;
  /**
   * Fields that the edge sets on its own requests, before rules and modules run. Clients' values of these fields are
   * removed.
   */
  ownFields: HeaderPairs | undefined;
  /** Chain of policy requests that led to this connection. */
  calls: CallChain | undefined;
  /** Protocol handler, which sets this. Destroying it cuts the connection immediately. */
  carrier: Destroyable | undefined;
  /** Complete site at the host that `site` was last called with, before it chose one of several endpoints. */
  wholeSite: Site | undefined;
  /** Bytes buffered at the edge for the exchanges of this connection. */
  heldBytes = 0;
  /** What capture remembers of the connection's last request. Only capture reads and sets it. */
  noted: object | undefined;
  readonly #sites: SiteLookup;
  /** Demands that the TLS handshake met. They never change on a connection. */
  readonly #handshake: Handshake;
  readonly #serverName: string;
  #lastHost: string | undefined;
  #lastText = "";
  /** Last site whose advertised port a request named correctly. Most clients name the port with each request. */
  #advertising: Site | undefined;
  #advertisedAt = 0;
  #advertisedAs = "";

  /** Call it when the handshake has ended. The constructor looks up the site for the server name. */
  constructor(
    facts: ConnectionFacts,
    sites: SiteLookup,
    context: HttpContext,
    scheme: "https" | "http" = facts.tls === undefined ? "http" : "https",
  ) {
    this.facts = facts;
    this.context = context;
    this.scheme = scheme;
    this.trusted = context.trustsProxy?.(facts.source) ?? false;
    this.#sites = sites;
    this.#serverName = facts.tls?.serverName ?? "";
    this.#handshake = facts.tls?.demands ?? sites(this.#serverName)?.handshake ?? noDemands;
  }

  /**
   * Returns the site for a request's host (lower case, no port), or why the request is refused (R2). The host must lead
   * to the same site as the server name, with the same demands on the handshake. So neither naming another host nor
   * reusing a connection from before a change bypasses a client certificate or a minimum version. A port in the request
   * must match the advertised hostport or the port of the listener. The scheme's default port counts as no port, unless
   * the operator has configured which port is forwarded to the listener.
   *
   * @param headers of the request, whose MCP session decides between several endpoints
   */
  site(host: string, port: number, headers?: HeaderFields): Site | RefusalName {
    const { tls } = this.facts;
    const site = this.#sites(host);
    this.wholeSite = site;
    if (site !== undefined && !this.#isAt(site, host, port)) return "misdirected";
    if (tls === undefined) return site === undefined ? "unknown_host" : this.#oneOf(site.members ?? [site], headers);
    if (host !== this.#serverName) {
      const chosen = this.#sites(this.#serverName);
      if (site?.id !== chosen?.id || this.#serverName === "") return "misdirected";
    }
    if (site === undefined) return "unknown_host";
    if (site.members !== undefined) return this.#oneOf(membersUnder(site, this.#handshake), headers);
    return sameDemands(site.handshake, this.#handshake) ? site : "misdirected";
  }

  /** Chooses one of several endpoints with the same URL for one request. */
  #oneOf(members: readonly Site[], headers?: HeaderFields): Site | RefusalName {
    const { random = Math.random } = this.context;
    if (headers && members.some(({ sessionMark }) => sessionMark !== undefined)) {
      const wanted = sessionIn(headers)?.mark;
      const own = members.find(({ sessionMark }) => sessionMark !== undefined && sessionMark === wanted);
      if (own) return own;
    }
    return members[members.length === 1 ? 0 : Math.floor(random() * members.length)] ?? "misdirected";
  }

  #isAt(site: Site, host: string, port: number): boolean {
    if (port === 0 || port === this.facts.localPort) return true;
    if (site === this.#advertising && port === this.#advertisedAt && host === this.#advertisedAs) return true;
    if (port === defaultPort[this.scheme] && this.context.takesDefaultPorts === true) return true;
    if (!site.advertises(host, port)) return false;
    this.#advertising = site;
    this.#advertisedAt = port;
    this.#advertisedAs = host;
    return true;
  }

  /**
   * Returns the source of a request, before its header is stripped. Returns "forwarding_unreadable" if the source
   * cannot be determined.
   */
  factsOf(request: ReceivedRequest): ConnectionFacts | "forwarding_unreadable" {
    const { facts, context } = this;
    if (!this.trusted || context.trustsProxy === undefined) return facts;
    const forwarded = readForwardedSource(request.headers.getAll("x-forwarded-for"), context.trustsProxy);
    if (forwarded === "unreadable") return "forwarding_unreadable";
    const { source } = forwarded;
    return source === undefined ? facts : { ...facts, source, sourcePort: 0 };
  }

  /** Returns the header lines that describe this client to the upstream. Reuses the text for the same Host field. */
  forwarded(request: ReceivedRequest, before: ForwardedBefore): string {
    if (this.trusted) return this.#forwarded(request, before);
    if (request.hostField !== this.#lastHost) {
      this.#lastText = this.#forwarded(request, before);
      this.#lastHost = request.hostField;
    }
    return this.#lastText;
  }

  #forwarded(request: ReceivedRequest, before: ForwardedBefore): string {
    const port = request.port === 0 ? this.advertisedPort : request.port;
    return writeForwarded(this.facts.source, this.scheme, port, request.hostField, before);
  }

  get advertisedPort(): number {
    return this.context.advertisedPort[this.scheme];
  }
}
