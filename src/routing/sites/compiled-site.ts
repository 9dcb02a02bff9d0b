/** Configuration in the form that the data plane uses: immutable objects, replaced completely by a change. */
import type { OwnCertificate } from "../../lib/certificates/own-certificate.ts";
import type { Handshake } from "../../traffic/handshake.ts";
import type { LoginGuard } from "../../traffic/login.ts";
import type { CompiledModule, Converter } from "../../traffic/module.ts";
import type { CaptureSetting } from "../../capture/rule.ts";
import type { Step } from "../../traffic/step.ts";
import type { UpstreamPlan } from "../../traffic/upstream-plan.ts";
import type { Doc } from "../../schema/doc.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { Problem, RoutingChange } from "../planes/messages.ts";

/** What a host name resolves to: an HTTPS edge, or an agent's published endpoint. */
export interface Site {
  readonly kind: "https_edge" | "endpoint";
  readonly id: string;
  readonly accountId: string;
  readonly revision: number;
  /** Served host names, lower case, wildcards as `*.example.com`. */
  readonly hosts: readonly string[];
  readonly handshake: Handshake;
  /** Set if an edge module did not compile. Every request then gets a 500 response. */
  readonly problem: Problem | undefined;
  /**
   * Returns the route for a canonical path and a lower-case host. Routes with the exact host come first, then those
   * with a wildcard over it, then those without a host. Among them, the exact path comes first, then the longest prefix
   * on segment boundaries.
   */
  findRoute(path: string, host: string): CompiledRoute | undefined;
  /** Whether the route of a request to the host depends on its path. Default: it may. */
  tellsPathsApart?(host: string): boolean;
  /** Login guards of its routes. Empty or undefined if no route requires a login. */
  readonly logins?: readonly LoginGuard[];
  /** Whether one of its hostports has `host`, lower case, at `port`. */
  advertises(host: string, port: number): boolean;
  /** Whether other endpoints with the same URL may share it. */
  readonly pooled?: boolean | undefined;
  /** Endpoints with the same URL that this site represents. One of them is chosen for each request. */
  readonly members?: readonly Site[];
  /** Mark of the agent whose MCP sessions this endpoint continues. */
  readonly sessionMark?: string | undefined;
}

export interface CompiledRoute {
  readonly id: string;
  readonly revision: number;
  /** Identifies the route in this revision, see `workOn`. 0 for a route that is never refused. */
  readonly mark: number;
  /** The router's step of the trace: which route matched, and why. */
  readonly matched: Step;
  /** Set if a module did not compile. The route then returns 500 and runs nothing. */
  readonly problem: Problem | undefined;
  /** Modules with a `request` hook, in traffic order. The other lists are similar. */
  readonly request: readonly CompiledModule[];
  readonly response: readonly CompiledModule[];
  readonly settled: readonly CompiledModule[];
  /** Undefined without a backend module. */
  readonly upstream: UpstreamPlan | undefined;
  /** The router's step for a route without an upstream. Default: 503. */
  readonly ending?: Step | undefined;
  /** Set if the upstream does not use HTTP. Every request that the modules allow is then an upgrade. */
  readonly converter?: Converter | undefined;
  /** Whether encoded slashes are accepted where routes or rules depend on the path. */
  readonly allowsEncodedSlashes?: boolean | undefined;
  /** The `capture` that an agent has asked for. Other routes have it in their object. */
  readonly capture?: CaptureSetting | undefined;
  /** How long a request may wait for the response head. Default: the server's setting. */
  readonly responseTimeoutMs?: number | undefined;
}

/** The target of connections: a TLS or TCP edge, or an agent's endpoint with such a protocol. */
export interface ConnectionSite {
  /** As in `CompiledRoute`. */
  readonly mark: number;
  readonly kind: "tls_edge" | "tcp_edge" | "tls_endpoint" | "tcp_endpoint";
  readonly id: string;
  readonly accountId: string;
  readonly revision: number;
  readonly hostports: readonly string[];
  /** Host names of the hostports, lower case, without duplicates. */
  readonly hosts: readonly string[];
  /** Ports of the hostports, without duplicates, on which a TCP edge listens. */
  readonly ports: readonly number[];
  readonly handshake: Handshake;
  /** Set if a policy may terminate TLS. If the policy does not, this handshake is used after it. */
  readonly lastHandshake?: Handshake | undefined;
  readonly problem: Problem | undefined;
  readonly connection: readonly CompiledModule[];
  readonly upstream: UpstreamPlan | undefined;
  /** Whether other endpoints with the same URL may share it. */
  readonly pooled?: boolean | undefined;
  /** Endpoints with the same URL that this site represents. One of them is chosen for each connection. */
  readonly members?: readonly ConnectionSite[];
  /** Certificate for terminated TLS. Default: the account's certificate for the name. */
  readonly certificate?: OwnCertificate | undefined;
}

/** An agent token, in the form that the edge checks. */
export interface CompiledCredential {
  readonly id: string;
  readonly accountId: string;
  /** SHA-256 of the token or public key. */
  readonly tokenHash: Buffer;
  /** Parsed ACL rules. Empty: everything is allowed. */
  readonly acl: readonly string[];
  /** False if its owner is inactive. */
  readonly active: boolean;
  /** When the token expires. Undefined: never. */
  readonly expiresAtMs: number | undefined;
}

/** The holder of a name or a port: an edge or a reservation. */
export interface Holder {
  readonly kind: string;
  readonly id: string;
  readonly accountId: string;
}

/** The place of a route. */
export interface PlacedRoute {
  readonly site: Site;
  readonly route: CompiledRoute;
  /** Lower case. `*.example.com` for all names below; "" for any host of the edge. */
  readonly host: string;
  /** Canonical. */
  readonly path: string;
  /** Whether paths below also belong to the route. */
  readonly isPrefix: boolean;
}

export interface RoutingTable {
  readonly revision: number;
  /** Whether work with this mark has hung a thread before, so that it is rejected. */
  refuses(mark: number): boolean;
  /**
   * Does the long work of `load` and `change` for these objects in advance, in slices. Undefined if that work is short.
   * The result must be held until the objects are in effect. Work of one account never delays another account for long.
   */
  prepare(objects: Iterable<ResourceObject>, accountId?: string): Promise<readonly unknown[]> | undefined;
  /** Replaces everything. Returns objects that could not be compiled. */
  load(revision: number, objects: Iterable<ResourceObject>): readonly Problem[];
  /** Applies one committed write. The cost depends on the write only. Returns new and cleared problems. */
  change(revision: number, changes: readonly RoutingChange[]): readonly Problem[];
  /** Returns the HTTPS or TLS edge for a lower-case host name: exact, else the longest wildcard. */
  serving(host: string): Site | ConnectionSite | undefined;
  /** Returns the holder of an HTTPS or TLS host name, including reservations, for agents' claims. */
  hostHolder(host: string): Holder | undefined;
  /** Returns the HTTPS edge of a route and the route's place in it, while both are in effect. */
  placeOfRoute(id: string): PlacedRoute | undefined;
  /** Returns the route with other fields, without effect on traffic. Undefined if no route has this id. */
  draftedRoute(id: string, fields: Doc): CompiledRoute | undefined;
  /** Returns the site with exactly this name, including `*.`, of any kind. */
  named(name: string): Site | ConnectionSite | undefined;
  /** As `named`, with all sites that share the name. */
  pool(name: string): readonly (Site | ConnectionSite)[];
  tcpSites(): Iterable<ConnectionSite>;
  /** Returns the TCP edge with this id. */
  tcpSite(id: string): ConnectionSite | undefined;
  /** Returns the holder of a port of TCP addresses, including reservations. */
  portHolder(port: number): Holder | undefined;
  credential(fingerprint: string): CompiledCredential | undefined;
  /** Returns the credential of a public key, or of an authority of certificates. */
  sshKey(fingerprint: string, isAuthority: boolean): CompiledCredential | undefined;
  accountName(accountId: string): string;
  /** Returns the value of a secret of the account, by the current names of the vault and the secret. */
  secret(accountId: string, vault: string, name: string): string | undefined;
  /**
   * Returns the check of addresses for a part of an account. Undefined: all addresses are allowed. Edges and their
   * routes enforce `endpoints` themselves. The caller must check agents' endpoints and sessions.
   */
  restriction(accountId: string, part: "agent" | "endpoints"): ((source: string) => Step) | undefined;
  /** Returns an object that is neither edge nor credential, such as a certificate or backend. */
  object(kind: string, id: string): ResourceObject | undefined;
  /** Returns objects of `kind` with owner `ownerId`, such as the routes of an edge. */
  children(kind: string, ownerId: string, accountId: string): readonly ResourceObject[];
  /**
   * Called after each `load` and `change` with the changed sites and credentials. Routes are looked up in their site on
   * each request, so a changed route does not change its site.
   */
  subscribe(
    listener: (changed: {
      readonly siteIds: ReadonlySet<string>;
      readonly credentialIds: ReadonlySet<string>;
      readonly kinds: ReadonlySet<string>;
    }) => void,
  ): void;
}
