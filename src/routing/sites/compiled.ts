/** Configuration as the data plane uses it: immutable objects, replaced whole by a change. */
import type { OwnCertificate } from "../../lib/certificates/own-certificate.ts";
import type { Handshake } from "../../traffic/handshake.ts";
import type { LoginGuard } from "../../traffic/login.ts";
import type { CompiledModule, Converter } from "../../traffic/module.ts";
import type { Step } from "../../traffic/step.ts";
import type { UpstreamPlan } from "../../traffic/upstream-plan.ts";
import type { Doc } from "../../schema/doc.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { Problem, RoutingChange } from "../planes/messages.ts";

/** What a host name leads to: an HTTPS edge, or the endpoint that an agent has published. */
export interface Site {
  readonly kind: "https_edge" | "endpoint";
  readonly id: string;
  readonly accountId: string;
  readonly revision: number;
  /** Host names served, lower case, wildcards as `*.example.com`. */
  readonly hosts: readonly string[];
  readonly handshake: Handshake;
  /** Set when an edge module did not compile: every request is answered 500. */
  readonly problem: Problem | undefined;
  /**
   * The route for a canonical path and a lower-case host: of those with the host, else with a wildcard over it, else
   * without one, the exact path, else the longest prefix on segment boundaries.
   */
  findRoute(path: string, host: string): CompiledRoute | undefined;
  /** Whether paths decide which route a request of that host gets; absent: they may. */
  tellsPathsApart?(host: string): boolean;
  /** What of its routes lets in who has logged in; empty or absent where nobody has to. */
  readonly logins?: readonly LoginGuard[];
  /** Whether a hostport of it says that `host`, lower case, is reached at `port`. */
  advertises(host: string, port: number): boolean;
  /** Other endpoints of its URL may serve beside it. */
  readonly pooled?: boolean | undefined;
  /** It stands for these endpoints of one URL: one of them is chosen for each request. */
  readonly members?: readonly Site[];
}

export interface CompiledRoute {
  readonly id: string;
  readonly revision: number;
  /** Stands for the route in this revision, see `workOn`; 0 for one that is never refused. */
  readonly mark: number;
  /** The router's step of the trace: which route matched, and why. */
  readonly matched: Step;
  /** Set when a module did not compile: the route answers 500 and runs nothing. */
  readonly problem: Problem | undefined;
  /** Modules with a `request` hook, in traffic order; and so on. */
  readonly request: readonly CompiledModule[];
  readonly response: readonly CompiledModule[];
  readonly settled: readonly CompiledModule[];
  /** Undefined without a backend module. */
  readonly upstream: UpstreamPlan | undefined;
  /** What the router decides where there is no upstream to send a request to; 503 unless given. */
  readonly ending?: Step | undefined;
  /** Set when the upstream is not spoken to in HTTP: every request that gets past the modules is an upgrade. */
  readonly converter?: Converter | undefined;
  /** Takes encoded slashes where routes or rules tell paths apart. */
  readonly allowsEncodedSlashes?: boolean | undefined;
  /** How long a request may wait for the response head; the server's setting unless given. */
  readonly responseTimeoutMs?: number | undefined;
}

/** A TLS or TCP edge, or an agent's endpoint of such a protocol: what whole connections lead to. */
export interface ConnectionSite {
  /** As of `CompiledRoute`. */
  readonly mark: number;
  readonly kind: "tls_edge" | "tcp_edge" | "tls_endpoint" | "tcp_endpoint";
  readonly id: string;
  readonly accountId: string;
  readonly revision: number;
  readonly hostports: readonly string[];
  /** Host names of the hostports, lower case, each once. */
  readonly hosts: readonly string[];
  /** Ports of the hostports, each once: where a TCP edge listens. */
  readonly ports: readonly number[];
  readonly handshake: Handshake;
  /** TLS is left to a policy to end; where it has not, it is ended so behind it. */
  readonly lastHandshake?: Handshake | undefined;
  readonly problem: Problem | undefined;
  readonly connection: readonly CompiledModule[];
  readonly upstream: UpstreamPlan | undefined;
  /** Other endpoints of its URL may serve beside it. */
  readonly pooled?: boolean | undefined;
  /** It stands for these endpoints of one URL: one of them is chosen for each connection. */
  readonly members?: readonly ConnectionSite[];
  /** What is shown where TLS is terminated, in place of what the account has for the name. */
  readonly certificate?: OwnCertificate | undefined;
}

/** An agent token, as the edge checks it. */
export interface CompiledCredential {
  readonly id: string;
  readonly accountId: string;
  /** SHA-256 of the token. */
  readonly tokenHash: Buffer;
  /** Parsed ACL rules; empty: anything goes. */
  readonly acl: readonly string[];
  /** False when its owner is inactive. */
  readonly active: boolean;
  /** When it stops working; undefined: never. */
  readonly expiresAtMs: number | undefined;
}

/** Who holds a name or a port: an edge, or a reservation. */
export interface Holder {
  readonly kind: string;
  readonly id: string;
  readonly accountId: string;
}

/** Where a route is found. */
export interface PlacedRoute {
  readonly site: Site;
  /** Lower case; `*.example.com` for all names below; "" for any host of the edge. */
  readonly host: string;
  /** Canonical. */
  readonly path: string;
  /** What is below the path is the route's as well. */
  readonly isPrefix: boolean;
}

export interface RoutingTable {
  readonly revision: number;
  /** Whether work of this mark has held a thread before: it is not taken up again. */
  refuses(mark: number): boolean;
  /**
   * Does beforehand, in slices, what `load` and `change` would do at once for these objects. Undefined where that is
   * quick anyway. The result must be held until they are in effect. The work of one account never delays another's for
   * long.
   */
  prepare(objects: Iterable<ResourceObject>, accountId?: string): Promise<readonly unknown[]> | undefined;
  /** Replaces everything. Returns what could not be compiled. */
  load(revision: number, objects: Iterable<ResourceObject>): readonly Problem[];
  /** Applies one committed write; costs what it changes. Returns new and cleared problems. */
  change(revision: number, changes: readonly RoutingChange[]): readonly Problem[];
  /** The HTTPS or TLS edge for a lower-case host name: exact, else the longest wildcard. */
  serving(host: string): Site | ConnectionSite | undefined;
  /** Who holds an HTTPS or TLS host name, also when it is only reserved: for agents that ask for it. */
  hostHolder(host: string): Holder | undefined;
  /** The HTTPS edge of a route, and where in it the route stands, while both are in effect. */
  placeOfRoute(id: string): PlacedRoute | undefined;
  /** The route as it would be with other fields; in effect nowhere. Undefined while there is none of that id. */
  draftedRoute(id: string, fields: Doc): CompiledRoute | undefined;
  /** What is found by the very name, `*.` and all, of whatever kind. */
  named(name: string): Site | ConnectionSite | undefined;
  /** As `named`, with all that share the name. */
  pool(name: string): readonly (Site | ConnectionSite)[];
  tcpSites(): Iterable<ConnectionSite>;
  /** The TCP edge of this id. */
  tcpSite(id: string): ConnectionSite | undefined;
  /** Who holds a port of TCP addresses, also when it is only reserved. */
  portHolder(port: number): Holder | undefined;
  credential(fingerprint: string): CompiledCredential | undefined;
  accountName(accountId: string): string;
  /** The value of a secret of the account, by the names that it and its vault have now. */
  secret(accountId: string, vault: string, name: string): string | undefined;
  /**
   * Where a part of an account may be used from; undefined: from anywhere. Edges and their routes enforce
   * `endpoints` by themselves; the endpoints and sessions of agents are for the edge to check.
   */
  restriction(accountId: string, part: "agent" | "endpoints"): ((source: string) => Step) | undefined;
  /** An object of the configuration, for what is neither edge nor credential (certificates, backends). */
  object(kind: string, id: string): ResourceObject | undefined;
  /** Objects of `kind` that `ownerId` owns, such as the routes of an edge. */
  children(kind: string, ownerId: string, accountId: string): readonly ResourceObject[];
  /**
   * Called after each `load` and `change`, with the sites and credentials that are no longer as they were. A route
   * is looked up in its site on each request: a change of it does not change the site.
   */
  subscribe(
    listener: (changed: {
      readonly siteIds: ReadonlySet<string>;
      readonly credentialIds: ReadonlySet<string>;
      readonly kinds: ReadonlySet<string>;
    }) => void,
  ): void;
}
