/** Cost of a traffic policy per request, evaluated like at an edge, and cost of a thousand routes with one. */
import { celEnv, parse, plan } from "@bufbuild/cel";
import { exchangeOf } from "../test/support/exchange.ts";
import { httpsSite, tableOf } from "../test/support/routing.ts";
import { ReceivedRequest } from "../src/edge/http/received-request.ts";
import { readRequestHead } from "../src/http1/read-request.ts";
import type { RequestRead } from "../src/http1/read-request.ts";
import type { Exchange } from "../src/traffic/exchange.ts";
import type { CompiledModule } from "../src/traffic/module.ts";
import type { CompiledRoute } from "../src/routing/sites/compiled-site.ts";
import { passStep } from "../src/traffic/step.ts";
import type { Step } from "../src/traffic/step.ts";
import { median, table, verdict } from "./support/report.ts";

const rounds = 9;
const batch = 500;
const batches = 40;
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

const adds = { type: "add-headers", config: { headers: { "x-client": "${conn.client_ip}" } } };
const withAction = { expressions: ["req.url.path.startsWith('/shop/')"], actions: [adds] };

const policies: Readonly<Record<string, object>> = {
  "empty policy": {},
  "one expression": { on_http_request: [ruleOf("req.method == 'POST'")] },
  "one rule that adds a header": { on_http_request: [withAction] },
  "ten rules": { on_http_request: expressions.map(ruleOf) },
  "1,000 expressions": {
    on_http_request: Array.from({ length: 100 }, () => ({
      expressions: [...Array.from({ length: 9 }, () => "conn.client_ip != '198.51.100.7'"), "req.method == 'POST'"],
      actions: [{ type: "deny" }],
    })),
  },
};

const head = Buffer.from(
  [
    "GET /shop/basket?id=7 HTTP/1.1",
    "Host: app.example.com",
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0",
    "Accept: text/html",
    "Accept-Encoding: gzip, br",
    "Accept-Language: en",
    "\r\n",
  ].join("\r\n"),
);
const limits = { maxHeadBytes: 65_536, maxTargetBytes: 8192, maxFields: 100 };
const described = exchangeOf();
const matched = passStep("router", "matched");

/** A request as the edge reads it, with its own fields and steps. */
class Received {
  readonly id = "req_bench";
  readonly connection = described.connection;
  readonly receivedAt = described.receivedAt;
  readonly response = undefined;
  readonly abandoned = false;
  readonly steps: Step[] = [];
  readonly request: ReceivedRequest;

  constructor() {
    const { method, target, fields: headers } = readRequestHead(head, 0, limits) as RequestRead;
    this.request = new ReceivedRequest({
      httpVersion: "1.1",
      method,
      scheme: "https",
      target,
      host: "app.example.com",
      port: 0,
      hostField: "app.example.com",
      headers,
      bodyLength: 0,
      websocket: false,
      upgrade: "",
      expectsContinue: false,
    });
    this.request.path = "/shop/basket";
    this.request.query = "?id=7";
    this.steps.push(matched);
  }
}

function routeOf(value: string): CompiledRoute {
  const { table: routing, put } = tableOf();
  put({ kind: "https_edge", id: "e", doc: { hostports: ["h:443"] } });
  put({ kind: "https_edge_route", id: "r", doc: docOf("/", value) });
  const route = httpsSite(routing, "h")?.findRoute("/", "h");
  if (!route || route.problem) throw new Error(route?.problem?.message ?? "find the route: it is not there");
  return route;
}

function docOf(match: string, value: string) {
  return { edge_id: "e", match_type: "path_prefix", match, traffic_policy: { enabled: true, value } };
}

/** Returns the nanoseconds of the hooks for one request. */
function timed(hooks: readonly CompiledModule[]): number {
  const exchanges: Exchange[] = [];
  return usual(
    () => {
      for (let at = 0; at < batch; at += 1) exchanges[at] = new Received() as unknown as Exchange;
    },
    () => {
      for (let one = 0; one < batch; one += 1) {
        for (let at = 0; at < hooks.length; at += 1) void hooks[at]?.request?.(exchanges[one] as Exchange);
      }
    },
  );
}

/** Returns the nanoseconds per call: the median of batches that are too short to be interrupted often. */
function usual(prepare: () => void, act: () => void): number {
  const times = Array.from({ length: batches }, () => {
    prepare();
    const started = performance.now();
    act();
    return performance.now() - started;
  });
  return (median(times) * 1e6) / batch;
}

/** Returns the milliseconds to compile the routes, and the bytes that each retains. */
function compiled(textOf: (index: number) => string, count = routes): { readonly ms: number; readonly bytes: number } {
  const { put } = tableOf();
  put({ kind: "https_edge", id: "e", doc: { hostports: ["h:443"] } });
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const started = performance.now();
  for (let index = 0; index < count; index += 1) {
    put({ kind: "https_edge_route", id: `r${index}`, doc: docOf(`/${index}`, textOf(index)) });
  }
  const ms = performance.now() - started;
  globalThis.gc?.();
  return { ms, bytes: (process.memoryUsage().heapUsed - before) / count };
}

const yardstick = "one comparison by @bufbuild/cel";
const evaluate = plan(celEnv(), parse("method == 'POST'"));

const timedYardstick = (): number =>
  usual(
    () => {},
    () => {
      for (let count = 0; count < batch; count += 1) evaluate({ method: "GET" });
    },
  );

const hooks = Object.entries(policies).map(
  ([name, policy]) => [name, routeOf(JSON.stringify(policy)).request] as const,
);
const measured = new Map<string, { readonly "ns/request": number }[]>(
  [yardstick, ...hooks.map(([name]) => name)].map((name) => [name, []]),
);
// The first round warms up and is not counted.
for (let round = 0; round <= rounds; round += 1) {
  const ruler = { "ns/request": timedYardstick() };
  if (round > 0) measured.get(yardstick)?.push(ruler);
  for (const [name, of] of hooks) {
    const sample = { "ns/request": timed(of) };
    if (round > 0) measured.get(name)?.push(sample);
  }
}
table("a traffic policy, evaluated as an edge does", measured);

const ten = JSON.stringify(policies["ten rules"]);
const thousand = JSON.stringify(policies["1,000 expressions"]);
const sizes = new Map([
  ["one text", [compiled(() => ten)]],
  ["a text each", [compiled((index) => `${ten} # ${index}`)]],
]);
table(`${routes} routes with ten rules`, sizes);
table("one route with 1,000 expressions", new Map([["compiled", [compiled(() => thousand, 1)]]]));
const cost = (name: string): number => median((measured.get(name) ?? []).map((sample) => sample["ns/request"]));
verdict("an empty policy, ns", cost("empty policy"), { atMost: 30 });
verdict("one expression, ns", cost("one expression"), { atMost: 300 });
const ruled = cost("one expression") / cost(yardstick);
verdict(`the same / ${yardstick}, which took 84 ns where 300 was set`, ruled, { atMost: 3.5 });
verdict("one rule that adds a header, ns", cost("one rule that adds a header"), { atMost: 5000 });
verdict("ten rules, ns", cost("ten rules"), { atMost: 5000 });
verdict("1,000 expressions, ns", cost("1,000 expressions"), { atMost: 300_000 });
const [shared, own] = ["one text", "a text each"].map((name) => sizes.get(name)?.[0]?.ms as number) as [number, number];
verdict("1,000 routes with one text / with one each, ms", shared / own, { atMost: 0.1 });
