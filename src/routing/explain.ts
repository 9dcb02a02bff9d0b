/**
 * A dry run: what would be decided over a described request, by the same compiled modules that decide over real
 * ones, and without any trace left behind.
 */
import { Refusal } from "../lib/errors.ts";
import type { ConnectionFacts, Exchange, ResponseHead } from "../traffic/exchange.ts";
import { HeaderList } from "../traffic/header-list.ts";
import type { HeaderPairs } from "../traffic/header-list.ts";
import type { CompiledModule } from "../traffic/module.ts";
import type { Answer, Step } from "../traffic/step.ts";
import type { UpstreamPlan } from "../traffic/upstream-plan.ts";
import type { CompiledRoute, ConnectionSite, RoutingTable, Site } from "./sites/compiled.ts";
import { nearRoutes } from "./sites/near-routes.ts";
import type { NearRoute } from "./sites/near-routes.ts";
import { moduleFailed, noBackend, refused, unknownHost, unroutable } from "./sites/refusals.ts";

/** What a dry run looks at. */
export interface Explainer {
  readonly table: Pick<RoutingTable, "children">;
  /** What serves a lower-case host name now. */
  readonly siteFor: (host: string) => Site | undefined;
  /** What would be chosen for a plan: pushes the steps that say so; an answer when it leads nowhere or is one. */
  readonly foresee: (plan: UpstreamPlan, steps: Step[]) => Promise<Answer | undefined>;
}

export interface DescribedRequest {
  readonly method: string;
  readonly scheme: "https" | "http";
  readonly httpVersion: "1.0" | "1.1" | "2";
  /** Lower case, without port. */
  readonly host: string;
  /** Path and query as the client would send them. */
  readonly target: string;
  /** The canonical form of the target's path. */
  readonly path: string;
  readonly websocket: boolean;
  readonly upgrade?: string;
  /** As modules see them: without what goes no further than the edge. */
  readonly headers: HeaderPairs;
  readonly body: Buffer;
  readonly connection: ConnectionFacts;
  /** What the upstream would answer, to see what happens to that. */
  readonly response?: { readonly status: number; readonly headers: HeaderPairs };
}

export interface Explanation {
  /** The edge, where one serves the host. */
  readonly edge: { readonly kind: string; readonly id: string; readonly revision: number } | undefined;
  readonly route: { readonly id: string; readonly revision: number } | undefined;
  /** Routes that nearly matched, and why they did not. */
  readonly near: readonly NearRoute[];
  readonly steps: readonly Step[];
  /** How it ends at the edge; undefined when it goes upstream. */
  readonly answer: Answer | undefined;
  /** Where it would go. */
  readonly upstream: UpstreamPlan | undefined;
  /** Header fields as the modules leave them. */
  readonly requestHeaders: HeaderPairs;
  readonly response: { readonly status: number; readonly headers: HeaderPairs } | undefined;
}

/** Explains a request to whatever serves its host. */
export async function explainRequest(explainer: Explainer, described: DescribedRequest): Promise<Explanation> {
  const exchange = rehearsal(described);
  const { host, path } = described;
  const site = explainer.siteFor(host);
  if (!site) return conclude(exchange, undefined, undefined, [], end(exchange, unknownHost(host)));
  const route = site.problem === undefined ? site.findRoute(path, host) : undefined;
  const routes = explainer.table.children("https_edge_route", site.id, site.accountId);
  const near = nearRoutes(routes, { host, path }, route?.id);
  if (route) exchange.steps.push(route.matched);
  const wrong = unroutable(site, route, path);
  if (!route || wrong) return conclude(exchange, site, route, near, wrong && end(exchange, wrong));
  let answer = await run(route.request, exchange);
  if (!answer && !route.upstream) answer = end(exchange, noBackend);
  if (!answer && route.upstream) answer = await foresee(explainer, route.upstream, exchange);
  if (!answer && described.response) answer = respond(route, exchange, described.response);
  return conclude(exchange, site, route, near, answer);
}

/** Explains a connection from `source` to a TLS or TCP edge. */
export async function explainConnection(
  { foresee }: Pick<Explainer, "foresee">,
  site: ConnectionSite,
  source: string,
): Promise<Pick<Explanation, "edge" | "steps" | "answer" | "upstream">> {
  const steps: Step[] = [];
  const { kind, id, revision } = site;
  const edge = { kind, id, revision };
  const ended = (step: Step) => ({ edge, steps: [...steps, step], answer: step.answer, upstream: undefined });
  if (site.problem) return ended(refused("route_broken", `the edge has a problem: ${site.problem.message ?? ""}`));
  for (const module of site.connection) {
    const step = module.connection?.(source);
    if (step?.answer) return ended(step);
    if (step) steps.push(step);
  }
  if (!site.upstream) return ended(refused("backend_empty", "the edge has no backend"));
  const answer = await foresee(site.upstream, steps);
  return { edge, steps, answer, upstream: answer ? undefined : site.upstream };
}

interface Rehearsal extends Exchange {
  response: ResponseHead | undefined;
  readonly steps: Step[];
}

function rehearsal({ body, headers, connection, path, ...request }: DescribedRequest): Rehearsal {
  const mark = request.target.indexOf("?");
  const { method, scheme, httpVersion, host, target, websocket, upgrade } = request;
  const query = mark < 0 ? "" : target.slice(mark);
  return {
    id: "explain",
    connection,
    request: {
      method,
      scheme,
      httpVersion,
      host,
      target,
      path,
      query,
      websocket,
      upgrade,
      headers: new HeaderList(headers),
    },
    response: undefined,
    steps: [],
    abandoned: false,
    body: async (maxBytes) => {
      if (body.length > maxBytes) throw new Refusal("payload_too_large");
      return body;
    },
  };
}

/** The request hooks in order; those with side effects are asked what they would do. */
async function run(modules: readonly CompiledModule[], exchange: Rehearsal): Promise<Answer | undefined> {
  for (const module of modules) {
    try {
      const step = await (module.rehearse ? module.rehearse(exchange) : module.request?.(exchange));
      if (!step) continue;
      exchange.steps.push(step);
      if (step.answer) return step.answer;
    } catch (error) {
      return failed(exchange, error);
    }
  }
  return undefined;
}

function respond(
  route: CompiledRoute,
  exchange: Rehearsal,
  { status, headers }: { status: number; headers: HeaderPairs },
): Answer | undefined {
  exchange.response = { status, headers: new HeaderList(headers), transform: () => {} };
  for (const module of route.response) {
    try {
      const step = module.response?.(exchange);
      if (!step) continue;
      exchange.steps.push(step);
      if (step.answer) return step.answer;
    } catch (error) {
      return failed(exchange, error);
    }
  }
  return undefined;
}

async function foresee(explainer: Explainer, plan: UpstreamPlan, exchange: Rehearsal): Promise<Answer | undefined> {
  const answer = await explainer.foresee(plan, exchange.steps);
  if (!answer || !("error" in answer)) return answer;
  return end(exchange, refused(answer.error, "no backend is left to send the request to"));
}

/** As at the edge: a refusal is the module's own, anything else closes the route (security R6). */
function failed(exchange: Rehearsal, error: unknown): Answer {
  return end(exchange, error instanceof Refusal ? refused(error.reason, error.message) : moduleFailed(error));
}

/** Ends it by a step of the router. */
function end(exchange: Rehearsal, step: Step): Answer {
  exchange.steps.push(step);
  return step.answer as Answer;
}

function conclude(
  exchange: Rehearsal,
  site: Site | undefined,
  route: CompiledRoute | undefined,
  near: readonly NearRoute[],
  answer: Answer | undefined,
): Explanation {
  const { request, response, steps } = exchange;
  return {
    edge: site && { kind: site.kind, id: site.id, revision: site.revision },
    route: route && { id: route.id, revision: route.revision },
    near,
    steps,
    answer,
    upstream: answer ? undefined : route?.upstream,
    requestHeaders: request.headers.entries(),
    response: response && { status: response.status, headers: response.headers.entries() },
  };
}
