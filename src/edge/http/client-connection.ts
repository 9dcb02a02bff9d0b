import type { RefusalName } from "../../lib/errors.ts";
import type { CallChain } from "../../traffic/calls.ts";
import type { ConnectionFacts } from "../../traffic/exchange.ts";
import type { HeaderPairs } from "../../traffic/header-list.ts";
import type { Handshake } from "../../traffic/handshake.ts";
import type { Site } from "../../routing/sites/compiled.ts";
import { membersUnder } from "../sites/pools.ts";
import { noDemands, sameDemands } from "../tls/demands.ts";
import type { HttpContext, SiteLookup } from "./context.ts";
import { forwardedSource } from "./forwarded-source.ts";
import { forwardedText } from "./forwarding.ts";
import type { ForwardedBefore } from "./forwarding.ts";
import type { ReceivedRequest } from "./received-request.ts";

const defaultPort = { https: 443, http: 80 } as const;

/** What can be cut. A function in its place would be born old, see decision 34. */
interface Destroyable {
  destroy(): void;
}

/** What the exchanges of one public connection share, whichever protocol it speaks. */
export class ClientConnection {
  readonly facts: ConnectionFacts;
  readonly context: HttpContext;
  readonly scheme: "https" | "http";
  /** The peer is a proxy that speaks for others: a request's source is whom it names. */
  readonly trusted: boolean;
  /**
   * Fields that the edge says of requests of its own on this connection, and that go before rules and modules: what
   * clients send of them is removed.
   */
  ownFields: HeaderPairs | undefined;
  /** Requests of policies that led to this connection. */
  calls: CallChain | undefined;
  /** Cuts the connection, whatever is under way on it: what speaks its protocol, which sets it. */
  carrier: Destroyable | undefined;
  /** Everything that is served at the host that `site` was asked for last, of which it chose one. */
  wholeSite: Site | undefined;
  /** Bytes that wait at the edge for the exchanges of this connection. */
  heldBytes = 0;
  readonly #sites: SiteLookup;
  /** What the TLS handshake was bound to; the same for as long as the connection lasts. */
  readonly #handshake: Handshake;
  readonly #serverName: string;
  #lastHost: string | undefined;
  #lastText = "";
  /** What named its port last, and was right: most clients name it with each request. */
  #advertising: Site | undefined;
  #advertisedAt = 0;
  #advertisedAs = "";

  /** Call it when the handshake has ended: the site that the server name chose is looked up here. */
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
   * The site for a request's host (lower case, no port), or why there is none (R2). The host must lead to the
   * same site as the server name did, under the same demands on the handshake: neither naming another host, nor
   * reusing a connection from before a change, gets around a client certificate or a minimum version. The port, where
   * one is named, is the one that a hostport advertises or the one that is really listened on. The scheme's
   * own port is as good as none if the operator has not said which port is forwarded to the listener.
   */
  site(host: string, port: number): Site | RefusalName {
    const { tls } = this.facts;
    const site = this.#sites(host);
    this.wholeSite = site;
    if (site !== undefined && !this.#isAt(site, host, port)) return "misdirected";
    if (tls === undefined) return site === undefined ? "unknown_host" : this.#oneOf(site.members ?? [site]);
    if (host !== this.#serverName) {
      const chosen = this.#sites(this.#serverName);
      if (site?.id !== chosen?.id || this.#serverName === "") return "misdirected";
    }
    if (site === undefined) return "unknown_host";
    if (site.members !== undefined) return this.#oneOf(membersUnder(site, this.#handshake));
    return sameDemands(site.handshake, this.#handshake) ? site : "misdirected";
  }

  /** One of several endpoints of one URL, for one request. */
  #oneOf(members: readonly Site[]): Site | RefusalName {
    const { random = Math.random } = this.context;
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

  /** Where a request comes from, before its header is stripped; "forwarding_unreadable" when that cannot be said. */
  factsOf(request: ReceivedRequest): ConnectionFacts | "forwarding_unreadable" {
    const { facts, context } = this;
    if (!this.trusted || context.trustsProxy === undefined) return facts;
    const forwarded = forwardedSource(request.headers.getAll("x-forwarded-for"), context.trustsProxy);
    if (forwarded === "unreadable") return "forwarding_unreadable";
    const { source } = forwarded;
    return source === undefined ? facts : { ...facts, source, sourcePort: 0 };
  }

  /** The lines that tell the upstream of this client; the same text again for the same Host field. */
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
    return forwardedText(this.facts.source, this.scheme, port, request.hostField, before);
  }

  get advertisedPort(): number {
    return this.context.advertisedPort[this.scheme];
  }
}
