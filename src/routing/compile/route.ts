import type { CompiledModule, Converter } from "../../traffic/module.ts";
import { passed } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import type { UpstreamPlan } from "../../traffic/upstream-plan.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { Chain } from "./chain.ts";
import type { CompiledRoute } from "../sites/compiled.ts";
import type { Problem } from "../planes/messages.ts";
import { nothing } from "./units.ts";
import { joined } from "./compilation.ts";
import type { Compilation, Compiler, Owner } from "./compilation.ts";
import type { HttpsEdgeCompiler, HttpsEdgeOwner } from "./https-edge.ts";

interface RouteOwner extends Owner {
  /** Set while it is in effect. */
  route: CompiledRoute | undefined;
}

/** Routes of HTTPS edges: each takes over what the account and its edge demand. */
export class RouteCompiler implements Compiler<RouteOwner> {
  readonly kind = "https_edge_route";
  readonly owners = new Map<string, RouteOwner>();
  readonly #compilation: Compilation;
  readonly #edges: HttpsEdgeCompiler;

  constructor(compilation: Compilation, edges: HttpsEdgeCompiler) {
    this.#compilation = compilation;
    this.#edges = edges;
  }

  own(object: ResourceObject): RouteOwner {
    return { object, problem: undefined, dependencies: nothing, kept: nothing, route: undefined };
  }

  compile(owner: RouteOwner): void {
    const { object } = owner;
    const chain = this.#compilation.chain(owner, "https_route");
    const edge = this.#edgeOf(object);
    // Without its edge it answers nothing, and is compiled again when that comes.
    if (!edge?.routes) return;
    const ofAccount = this.#compilation.restrictions.modules(object.account_id);
    const route = new Route(object, owner.problem, chain, edge.chain, ofAccount);
    const { type, match } = matchOf(object);
    const holder = edge.routes.put(type, match, route);
    if (!holder) {
      owner.route = route;
      return;
    }
    const other = this.owners.get(holder.id);
    const message = `match ${type} "${match}": route ${holder.id} of the edge has it`;
    if (other) this.#compilation.contested(owner, other, message);
  }

  withdraw(owner: RouteOwner): void {
    const { object, route } = owner;
    if (!route) return;
    const { type, match } = matchOf(object);
    this.#edgeOf(object)?.routes?.remove(type, match, route);
    owner.route = undefined;
  }

  /** The edge of a route, if it is of the same account. */
  #edgeOf({ account_id, doc }: ResourceObject): HttpsEdgeOwner | undefined {
    const edge = this.#edges.owners.get(String(doc["edge_id"]));
    return edge?.object.account_id === account_id ? edge : undefined;
  }
}

/** A class, because there are many and few of them are ever asked for their step. */
class Route implements CompiledRoute {
  readonly id: string;
  readonly revision: number;
  readonly problem: Problem | undefined;
  readonly request: readonly CompiledModule[];
  readonly response: readonly CompiledModule[];
  readonly settled: readonly CompiledModule[];
  readonly upstream: UpstreamPlan | undefined;
  readonly converter: Converter | undefined;
  readonly #object: ResourceObject;
  #matched: Step | undefined;

  constructor(
    object: ResourceObject,
    problem: Problem | undefined,
    own: Chain,
    ofEdge: Chain,
    ofAccount: readonly CompiledModule[],
  ) {
    this.id = object.id;
    this.revision = object.revision;
    this.problem = problem;
    this.request = joined(ofAccount, joined(ofEdge.request, own.request));
    this.response = joined(ofEdge.response, own.response);
    this.settled = joined(ofEdge.settled, own.settled);
    this.upstream = own.upstream;
    this.converter = own.converter;
    this.#object = object;
    Object.freeze(this);
  }

  get matched(): Step {
    return (this.#matched ??= matchedStep(this.#object));
  }
}

function matchedStep(object: ResourceObject): Step {
  const { kind, id, revision } = object;
  const { type, match } = matchOf(object);
  return passed("router", `matched ${type} "${match}"`, { kind, id, revision });
}

function matchOf({ doc }: ResourceObject): { readonly type: string; readonly match: string } {
  return { type: String(doc["match_type"]), match: String(doc["match"]) };
}
