import { hostMatches, parsePort } from "../../lib/hostport.ts";
import type { Handshake } from "../../traffic/handshake.ts";
import type { LoginGuard } from "../../traffic/login.ts";
import type { ResourceObject } from "../../schema/object.ts";
import { isPooled } from "./endpoint-objects.ts";
import { emptyChain } from "./module-chain.ts";
import type { Chain } from "./module-chain.ts";
import type { CompiledRoute, Site } from "../sites/compiled-site.ts";
import { HostedRoutes } from "../sites/hosted-routes.ts";
import { hostOf, hostportsOf, hostsOf } from "./hosts.ts";
import type { Problem } from "../planes/messages.ts";
import { nothing } from "./units.ts";
import type { Again, Compilation, Compiler, HostOwner } from "./compilation.ts";

export interface HttpsEdgeOwner extends HostOwner {
  site: HttpsSite | undefined;
  chain: Chain;
  /** Host names of its hostports. */
  hosts: readonly string[];
  /** Set while the edge exists. */
  routes: HostedRoutes | undefined;
}

export class HttpsEdgeCompiler implements Compiler<HttpsEdgeOwner> {
  readonly kind = "https_edge";
  readonly owners = new Map<string, HttpsEdgeOwner>();
  readonly #compilation: Compilation;

  constructor(compilation: Compilation) {
    this.#compilation = compilation;
  }

  own(object: ResourceObject): HttpsEdgeOwner {
    return {
      object,
      problem: undefined,
      dependencies: nothing,
      kept: nothing,
      site: undefined,
      chain: emptyChain,
      hosts: nothing,
      routes: undefined,
    };
  }

  compile(owner: HttpsEdgeOwner, again: Again): void {
    const { object, chain: before, hosts: hostsBefore } = owner;
    const chain = this.#compilation.chain(owner, "https_edge");
    const hosts = hostsOf(object);
    const isNew = owner.routes === undefined;
    owner.routes ??= new HostedRoutes();
    owner.chain = chain;
    owner.hosts = hosts;
    owner.site = new HttpsSite(object, hosts, chain.handshake, owner.problem, owner.routes);
    this.#compilation.serve(owner, hosts);
    // The hosts of routes must be covered by the hostports of their edge.
    const isRehosted = owner.routes.hasHosts && hosts.join() !== hostsBefore.join();
    if (!isNew && !isRehosted && !actsOnRequests(before) && !actsOnRequests(chain)) return;
    const { id, account_id: accountId } = object;
    for (const route of this.#compilation.objects.children("https_edge_route", id, accountId)) {
      again.one("https_edge_route", route.id);
    }
  }

  withdraw(owner: HttpsEdgeOwner): void {
    for (const host of owner.site?.hosts ?? nothing) this.#compilation.hosts.withdraw(host, owner);
    owner.site = undefined;
  }
}

/** A class, because there are many instances. A separate `findRoute` function for each would double its size. */
class HttpsSite implements Site {
  readonly kind = "https_edge";
  readonly id: string;
  readonly accountId: string;
  readonly revision: number;
  readonly hosts: readonly string[];
  readonly handshake: Handshake;
  readonly problem: Problem | undefined;
  readonly pooled: boolean;
  readonly #hostports: readonly string[];
  readonly #routes: HostedRoutes;

  constructor(
    object: ResourceObject,
    hosts: readonly string[],
    handshake: Handshake,
    problem: Problem | undefined,
    routes: HostedRoutes,
  ) {
    this.id = object.id;
    this.accountId = object.account_id;
    this.revision = object.revision;
    this.hosts = hosts;
    this.handshake = handshake;
    this.problem = problem;
    this.pooled = isPooled(object);
    this.#hostports = hostportsOf(object);
    this.#routes = routes;
    Object.freeze(this);
  }

  findRoute(path: string, host: string): CompiledRoute | undefined {
    return this.#routes.find(path, host);
  }

  tellsPathsApart(host: string): boolean {
    return this.#routes.tellsPathsApart(host);
  }

  get logins(): readonly LoginGuard[] {
    return this.#routes.logins;
  }

  advertises(host: string, port: number): boolean {
    return this.#hostports.some((hostport) => parsePort(hostport) === port && hostMatches(hostOf(hostport), host));
  }
}

function actsOnRequests({ request, response, settled }: Chain): boolean {
  return request.length + response.length + settled.length > 0;
}
