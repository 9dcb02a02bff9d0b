/** What a traffic policy costs a request, evaluated as an edge does, and what a thousand routes with one cost. */
import { exchangeOf } from "../test/support/exchange.ts";
import { tableOf } from "../test/support/routing.ts";
import type { CompiledModule } from "../src/traffic/module.ts";
import type { CompiledRoute } from "../src/routing/sites/compiled.ts";
import { median, table, verdict } from "./support/report.ts";

const rounds = 7;
const evaluations = 20_000;
const routes = 1000;

const expressions = [
  "req.method == 'POST'",
  "req.url.path.startsWith('/admin/')",
  "!(req.method in ['GET', 'HEAD'])",
  "'2' in getReqHeader('x-api-version')",
  "req.headers['x-tier'][0] == 'gold'",
  "conn.client_ip == '198.51.100.7'",
  "inCidrRange(conn.client_ip, '198.51.100.0/24')",
  "req.host.endsWith('.example.org')",
  "req.user_agent.matches('(?i)bot|crawler')",
  "hasReqHeader('authorization')",
];

const ruleOf = (expression: string) => ({ expressions: [expression], actions: [{ type: "deny" }] });

const policies: Readonly<Record<string, object>> = {
  "empty policy": {},
  "one expression": { on_http_request: [ruleOf("req.method == 'POST'")] },
  "ten rules": { on_http_request: expressions.map(ruleOf) },
};

const init = {
  target: "/shop/basket?id=7",
  headers: { "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0" },
};

function routeOf(value: string): CompiledRoute {
  const { table: routing, put } = tableOf();
  put({ kind: "https_edge", id: "e", doc: { hostports: ["h:443"] } });
  put({ kind: "https_edge_route", id: "r", doc: docOf("/", value) });
  const route = routing.httpsSite("h")?.findRoute("/", "h");
  if (!route || route.problem) throw new Error(route?.problem?.message ?? "find the route: it is not there");
  return route;
}

function docOf(match: string, value: string) {
  return { edge_id: "e", match_type: "path_prefix", match, traffic_policy: { enabled: true, value } };
}

/** Nanoseconds for one request. */
function timed(hooks: readonly CompiledModule[]): number {
  const exchange = exchangeOf(init);
  const started = performance.now();
  for (let count = 0; count < evaluations; count += 1) {
    for (const hook of hooks) void hook.request?.(exchange);
    exchange.steps.length = 0;
  }
  return ((performance.now() - started) * 1e6) / evaluations;
}

/** Milliseconds to compile so many routes, and bytes that each keeps. */
function compiled(textOf: (index: number) => string): { readonly ms: number; readonly bytes: number } {
  const { put } = tableOf();
  put({ kind: "https_edge", id: "e", doc: { hostports: ["h:443"] } });
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const started = performance.now();
  for (let index = 0; index < routes; index += 1) {
    put({ kind: "https_edge_route", id: `r${index}`, doc: docOf(`/${index}`, textOf(index)) });
  }
  const ms = performance.now() - started;
  globalThis.gc?.();
  return { ms, bytes: (process.memoryUsage().heapUsed - before) / routes };
}

const hooks = Object.entries(policies).map(
  ([name, policy]) => [name, routeOf(JSON.stringify(policy)).request] as const,
);
const measured = new Map<string, { readonly "ns/request": number }[]>(hooks.map(([name]) => [name, []]));
for (let round = 0; round < rounds; round += 1) {
  for (const [name, of] of hooks) measured.get(name)?.push({ "ns/request": timed(of) });
}
table("a traffic policy, evaluated as an edge does", measured);

const ten = JSON.stringify(policies["ten rules"]);
table(
  `${routes} routes with ten rules`,
  new Map([
    ["one text", [compiled(() => ten)]],
    ["a text each", [compiled((index) => `${ten} # ${index}`)]],
  ]),
);
const cost = (name: string): number => median((measured.get(name) ?? []).map((sample) => sample["ns/request"]));
verdict("one expression, ns", cost("one expression"), { atMost: 300 });
verdict("ten rules, ns", cost("ten rules"), { atMost: 5000 });
