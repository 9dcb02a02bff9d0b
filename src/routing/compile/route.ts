import { hostMatches } from "../../lib/hostport.ts";
import type { CompiledModule, Converter } from "../../traffic/module.ts";
import { passStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import type { UpstreamPlan } from "../../traffic/upstream-plan.ts";
import { markOf } from "../../lib/work-mark.ts";
import type { ResourceObject } from "../../schema/object.ts";
import { emptyChain } from "./module-chain.ts";
import type { Chain } from "./module-chain.ts";
import type { CompiledRoute, PlacedRoute } from "../sites/compiled-site.ts";
import type { HostedRoutes, RoutePlace } from "../sites/hosted-routes.ts";
import type { Problem } from "../planes/messages.ts";
import { nothing } from "./units.ts";
import { joinLists, problemOf } from "./compilation.ts";
import type { Compilation, Compiler, Owner } from "./compilation.ts";
import type { HttpsEdgeCompiler, HttpsEdgeOwner } from "./https-edge.ts";
import { withoutUpstream } from "../sites/router-refusals.ts";
import { placeOf } from "./route-place.ts";
import { docOf } from "../../schema/doc.ts";
import type { Doc } from "../../schema/doc.ts";
import { httpsEdgeRoute } from "../../resources/https-edge-route.ts";

interface RouteOwner extends Owner {
  /** Set while the route is in effect. */
  route: CompiledRoute | undefined;
  /** All routes with the same place, set while there are several. */
  rivals: Set<RouteOwner> | undefined;
}

/** Routes of HTTPS edges. Each includes the modules of its account and edge. */
export class RouteCompiler implements Compiler<RouteOwner> {
  readonly kind = httpsEdgeRoute.name;
  readonly owners = new Map<string, RouteOwner>();
  readonly #compilation: Compilation;
  readonly #edges: HttpsEdgeCompiler;

  constructor(compilation: Compilation, edges: HttpsEdgeCompiler) {
    this.#compilation = compilation;
    this.#edges = edges;
  }

  own(object: ResourceObject): RouteOwner {
    return { object, problem: undefined, dependencies: nothing, kept: nothing, route: undefined, rivals: undefined };
  }

  compile(owner: RouteOwner): void {
    const { object } = owner;
    const chain = this.#compilation.chain(owner, "https_route");
    const edge = this.#edgeOf(object);
    // Without its edge the route is not served. It is recompiled when the edge appears.
    if (!edge?.routes) return;
    const { place, issue } = placeOf(object);
    const wrong = issue ?? explainUncovered(place, edge);
    if (wrong !== undefined)
      owner.problem = problemOf(object, undefined, `match "${matchOf(object)}": it must ${wrong}`);
    if (!place) return;
    const ofAccount = this.#compilation.restrictions.modules(object.account_id);
    const route = new Route(object, owner.problem, chain, edge.chain, ofAccount);
    const holder = this.owners.get(edge.routes.put(place, route)?.id ?? "");
    if (!holder) {
      owner.route = route;
    } else if (issue !== undefined) {
      this.#compilation.watch(owner, holder);
    } else if (placeOf(holder.object).issue !== undefined) {
      // The holder's match is invalid and its place is a guess. This route's match is valid.
      this.withdraw(holder);
      edge.routes.put(place, route);
      owner.route = route;
      this.#compilation.watch(holder, owner);
    } else {
      this.#close(owner, holder, edge.routes, place);
    }
  }

  placed(id: string): PlacedRoute | undefined {
    const owner = this.owners.get(id);
    const site = owner?.route && this.#edgeOf(owner.object)?.site;
    const place = owner && placeOf(owner.object).place;
    const route = owner?.route;
    return (
      site &&
      route &&
      place && { site, route, host: place.host, path: place.path, isPrefix: place.type === "path_prefix" }
    );
  }

  /**
   * See `RoutingTable.draftedRoute`. The draft shares the state of the route's modules, so it must only be rehearsed.
   */
  drafted(id: string, fields: Doc): CompiledRoute | undefined {
    const present = this.owners.get(id)?.object;
    const edge = present && this.#edgeOf(present);
    if (!edge) return undefined;
    const object = { ...present, doc: { ...present.doc, ...fields } };
    const owner = this.own(object);
    const chain = this.#compilation.chain(owner, "https_route");
    // The draft is used once, so no change needs to recompile it.
    this.#compilation.units.release(owner);
    return new Route(
      object,
      owner.problem,
      chain,
      edge.chain,
      this.#compilation.restrictions.modules(object.account_id),
    );
  }

  withdraw(owner: RouteOwner): void {
    const { object, route } = owner;
    owner.rivals = undefined;
    if (!route) return;
    const { place } = placeOf(object);
    if (place) this.#edgeOf(object)?.routes?.remove(place, route);
    owner.route = undefined;
  }

  /**
   * Closes a place that several routes share. New writes cannot create this. Serving either route would ignore the
   * restrictions of the other. When one of them changes, all are recompiled.
   */
  #close(owner: RouteOwner, holder: RouteOwner, routes: HostedRoutes, place: RoutePlace): void {
    const { object } = owner;
    const rivals = (holder.rivals ??= new Set([holder]));
    const message = `match ${place.type} "${matchOf(object)}": route ${holder.object.id} of the edge has the same match, so both are disabled`;
    for (const rival of rivals) {
      if (rival === owner) continue;
      this.#compilation.contested(owner, rival, message);
      this.#compilation.watch(rival, owner);
      if (rival.route) routes.remove(place, rival.route);
    }
    rivals.add(owner);
    owner.rivals = rivals;
    owner.route = new Route(object, owner.problem, emptyChain, emptyChain, emptyChain.request);
    routes.put(place, owner.route);
  }

  /** Returns the edge of a route, if it belongs to the same account. */
  #edgeOf(object: ResourceObject): HttpsEdgeOwner | undefined {
    const edge = this.#edges.owners.get(docOf(object, httpsEdgeRoute).edge_id ?? "");
    return edge?.object.account_id === object.account_id ? edge : undefined;
  }
}

/** A class, because there are many instances and few of them need their step. */
class Route implements CompiledRoute {
  readonly id: string;
  readonly revision: number;
  readonly mark: number;
  readonly problem: Problem | undefined;
  readonly request: readonly CompiledModule[];
  readonly response: readonly CompiledModule[];
  readonly settled: readonly CompiledModule[];
  readonly upstream: UpstreamPlan | undefined;
  readonly converter: Converter | undefined;
  readonly allowsEncodedSlashes: boolean;
  readonly responseTimeoutMs: number | undefined;
  readonly ending: Step;
  readonly #object: ResourceObject;
  #matched: Step | undefined;

  constructor(
    object: ResourceObject,
    problem: Problem | undefined,
    chain: Chain,
    ofEdge: Chain,
    ofAccount: readonly CompiledModule[],
  ) {
    this.id = object.id;
    this.revision = object.revision;
    this.mark = markOf(object.id, object.revision);
    this.problem = problem;
    this.request = joinLists(ofAccount, joinLists(ofEdge.request, chain.request));
    this.response = joinLists(ofEdge.response, chain.response);
    this.settled = joinLists(ofEdge.settled, chain.settled);
    this.upstream = chain.upstream;
    this.converter = chain.converter;
    this.allowsEncodedSlashes = chain.allowsEncodedSlashes;
    this.responseTimeoutMs = chain.responseTimeoutMs;
    this.ending = withoutUpstream(object.id);
    this.#object = object;
    Object.freeze(this);
  }

  get matched(): Step {
    return (this.#matched ??= makeMatchedStep(this.#object));
  }
}

function makeMatchedStep(object: ResourceObject): Step {
  const { kind, id, revision } = object;
  return passStep("router", `matched ${docOf(object, httpsEdgeRoute).match_type} "${matchOf(object)}"`, {
    kind,
    id,
    revision,
  });
}

function matchOf(route: ResourceObject): string {
  return docOf(route, httpsEdgeRoute).match;
}

/** Returns why a host is not served by the edge, as the end of "must …". Such a route would never match. */
function explainUncovered(place: RoutePlace | undefined, { hosts }: HttpsEdgeOwner): string | undefined {
  const host = place?.host ?? "";
  if (host === "" || hosts.some((pattern) => hostMatches(pattern, host))) return undefined;
  return `name a host that a hostport of its edge covers, but none covers "${host}"`;
}
