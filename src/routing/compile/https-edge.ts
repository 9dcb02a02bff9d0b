import type { Handshake } from "../../traffic/module.ts";
import type { ResourceObject } from "../../schema/object.ts";
import { emptyChain } from "./chain.ts";
import type { Chain } from "./chain.ts";
import type { CompiledRoute, Site } from "../sites/compiled.ts";
import { hostsOf } from "./hosts.ts";
import type { Problem } from "../planes/messages.ts";
import { RouteIndex } from "../sites/route-index.ts";
import { nothing } from "./units.ts";
import type { Again, Compilation, Compiler, HostOwner } from "./compilation.ts";

export interface HttpsEdgeOwner extends HostOwner {
  site: HttpsSite | undefined;
  chain: Chain;
  /** Set as long as the edge exists. */
  routes: RouteIndex | undefined;
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
      routes: undefined,
    };
  }

  compile(owner: HttpsEdgeOwner, again: Again): void {
    const { object, chain: before } = owner;
    const chain = this.#compilation.chain(owner, "https_edge");
    const hosts = hostsOf(object);
    const isNew = owner.routes === undefined;
    owner.routes ??= new RouteIndex();
    owner.chain = chain;
    owner.site = new HttpsSite(object, hosts, chain.handshake, owner.problem, owner.routes);
    this.#compilation.serve(owner, hosts);
    if (!isNew && !actsOnRequests(before) && !actsOnRequests(chain)) return;
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

/** A class, because there are many: `findRoute` as a function of each would double what one takes. */
class HttpsSite implements Site {
  readonly kind = "https_edge";
  readonly id: string;
  readonly accountId: string;
  readonly revision: number;
  readonly hosts: readonly string[];
  readonly handshake: Handshake;
  readonly problem: Problem | undefined;
  readonly #routes: RouteIndex;

  constructor(
    { id, account_id, revision }: ResourceObject,
    hosts: readonly string[],
    handshake: Handshake,
    problem: Problem | undefined,
    routes: RouteIndex,
  ) {
    this.id = id;
    this.accountId = account_id;
    this.revision = revision;
    this.hosts = hosts;
    this.handshake = handshake;
    this.problem = problem;
    this.#routes = routes;
    Object.freeze(this);
  }

  findRoute(path: string): CompiledRoute | undefined {
    return this.#routes.find(path);
  }
}

function actsOnRequests({ request, response, settled }: Chain): boolean {
  return request.length + response.length + settled.length > 0;
}
