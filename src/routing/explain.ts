/**
 * A dry run: what would be decided over a described request, by the same compiled modules that decide over real
 * ones, and without any trace left behind.
 */
import { Refusal } from "../lib/errors.ts";
import type { RefusalName } from "../lib/errors.ts";
import type { ConnectionFacts, Exchange, ResponseHead } from "../modules/exchange.ts";
import { HeaderList } from "../modules/header-list.ts";
import type { HeaderPairs } from "../modules/header-list.ts";
import type { CompiledModule } from "../modules/module.ts";
import { denied, passed } from "../modules/step.ts";
import type { Answer, Step } from "../modules/step.ts";
import type { UpstreamPlan } from "../modules/upstream-plan.ts";
import type { CompiledRoute, ConnectionSite, RoutingTable, Site } from "./compiled.ts";
import { nearRoutes } from "./near-routes.ts";
import type { NearRoute } from "./near-routes.ts";

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

/** Explains a request to the edge that serves its host. */
export async function explainRequest(table: RoutingTable, described: DescribedRequest): Promise<Explanation> {
  const site = table.httpsSite(described.host);
  const exchange = rehearsal(described);
  if (!site)
    return conclude(
      table,
      exchange,
      described,
      undefined,
      undefined,
      refuse(exchange, "unknown_host", `no edge serves host "${described.host}"`),
    );
  if (site.problem) {
    return conclude(
      table,
      exchange,
      described,
      site,
      undefined,
      refuse(exchange, "route_broken", `the edge has a problem: ${site.problem.message ?? ""}`),
    );
  }
  const route = site.findRoute(described.path);
  if (!route) {
    return conclude(
      table,
      exchange,
      described,
      site,
      undefined,
      refuse(exchange, "no_route", `no route matches "${described.path}"`),
    );
  }
  exchange.steps.push(route.matched);
  if (route.problem) {
    return conclude(
      table,
      exchange,
      described,
      site,
      route,
      refuse(exchange, "route_broken", `the route has a problem: ${route.problem.message ?? ""}`),
    );
  }
  let answer = await run(route.request, exchange);
  if (!answer && !route.upstream) answer = refuse(exchange, "backend_empty", "the route has no backend");
  if (!answer && described.response) answer = respond(route, exchange, described.response);
  return conclude(table, exchange, described, site, route, answer);
}

/** Explains a connection from `source` to a TLS or TCP edge. */
export function explainConnection(
  site: ConnectionSite,
  source: string,
): Omit<Explanation, "requestHeaders" | "response" | "near" | "route"> {
  const steps: Step[] = [];
  const { kind, id, revision } = site;
  const edge = { kind, id, revision };
  const end = (step: Step) => ({ edge, steps: [...steps, step], answer: step.answer, upstream: undefined });
  if (site.problem)
    return end(denied("router", "route_broken", `the edge has a problem: ${site.problem.message ?? ""}`));
  for (const module of site.connection) {
    const step = module.connection?.(source);
    if (step?.answer) return end(step);
    if (step) steps.push(step);
  }
  if (!site.upstream) return end(denied("router", "backend_empty", "the edge has no backend"));
  return { edge, steps, answer: undefined, upstream: site.upstream };
}

interface Rehearsal extends Exchange {
  response: ResponseHead | undefined;
  readonly steps: Step[];
}

function rehearsal({ body, headers, connection, path, ...request }: DescribedRequest): Rehearsal {
  const mark = request.target.indexOf("?");
  const { method, scheme, httpVersion, host, target } = request;
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
      websocket: asksForWebsocket(headers),
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

function asksForWebsocket(headers: HeaderPairs): boolean {
  return headers.some(([name, value]) => name.toLowerCase() === "upgrade" && value.toLowerCase() === "websocket");
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

/** As at the edge: a refusal is the module's own, anything else closes the route (control R6). */
function failed(exchange: Rehearsal, error: unknown): Answer {
  if (error instanceof Refusal) return refuse(exchange, error.reason, error.message);
  return refuse(exchange, "route_broken", `a module failed: ${error instanceof Error ? error.message : String(error)}`);
}

function refuse(exchange: Rehearsal, reason: RefusalName, why: string): Answer {
  exchange.steps.push(denied("router", reason, why));
  return { error: reason };
}

function conclude(
  table: RoutingTable,
  exchange: Rehearsal,
  { host, path }: DescribedRequest,
  site: Site | undefined,
  route: CompiledRoute | undefined,
  answer: Answer | undefined,
): Explanation {
  const { request, response, steps } = exchange;
  return {
    edge: site && { kind: site.kind, id: site.id, revision: site.revision },
    route: route && { id: route.id, revision: route.revision },
    near: site ? nearRoutes(table.children("https_edge_route", site.id, site.accountId), path, route?.id) : [],
    steps: site
      ? [
          passed("router", `host "${host}" is served by ${site.kind} ${site.id}`, {
            kind: site.kind,
            id: site.id,
            revision: site.revision,
          }),
          ...steps,
        ]
      : steps,
    answer,
    upstream: answer ? undefined : route?.upstream,
    requestHeaders: request.headers.entries(),
    response: response && { status: response.status, headers: response.headers.entries() },
  };
}
