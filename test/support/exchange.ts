import type { Transform } from "node:stream";
import { Refusal } from "../../src/lib/errors.ts";
import type { ConnectionFacts, Exchange, HeaderFields, RequestHead } from "../../src/modules/exchange.ts";
import type { CompiledModule } from "../../src/modules/module.ts";
import type { Step } from "../../src/modules/step.ts";
import type { CompiledRoute } from "../../src/routing/compiled.ts";
import { tableOf } from "./routing.ts";

type Pairs = readonly (readonly [name: string, value: string])[];

/** Header fields in memory, as strict as those on the wire: nothing that would break a message can be put in. */
export class Headers implements HeaderFields {
  #pairs: [string, string][];

  constructor(pairs: Pairs | Readonly<Record<string, string>> = []) {
    const list = Array.isArray(pairs) ? (pairs as Pairs) : Object.entries(pairs as Record<string, string>);
    this.#pairs = list.map(([name, value]) => [name.toLowerCase(), value]);
  }

  get(name: string): string | undefined {
    return this.#pairs.find(([present]) => present === name.toLowerCase())?.[1];
  }

  getAll(name: string): readonly string[] {
    return this.#pairs.filter(([present]) => present === name.toLowerCase()).map(([, value]) => value);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  set(name: string, value: string): void {
    this.delete(name);
    this.append(name, value);
  }

  append(name: string, value: string): void {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) throw new Error(`append header: "${name}" is no token`);
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
      throw new Error(`append header ${name}: its value has control characters`);
    this.#pairs.push([name.toLowerCase(), value]);
  }

  delete(name: string): void {
    this.#pairs = this.#pairs.filter(([present]) => present !== name.toLowerCase());
  }

  entries(): Pairs {
    return this.#pairs;
  }
}

export interface ExchangeInit {
  readonly method?: string;
  /** Path and query. */
  readonly target?: string;
  readonly host?: string;
  readonly scheme?: "https" | "http";
  readonly headers?: Pairs | Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
  readonly connection?: Partial<ConnectionFacts>;
  readonly abandoned?: boolean;
  readonly response?: { readonly status?: number; readonly headers?: Pairs | Readonly<Record<string, string>> };
}

export interface TestExchange extends Exchange {
  /** The stages that modules have put on the response body, in order. */
  readonly transforms: Transform[];
}

/** A request, and a response when one is given, as modules see them. */
export function exchangeOf(init: ExchangeInit = {}): TestExchange {
  const { method = "GET", target = "/", host = "app.example.com", scheme = "https" } = init;
  const question = target.indexOf("?");
  const body = Buffer.from(init.body ?? "");
  const transforms: Transform[] = [];
  const headers = new Headers(init.headers);
  if (!headers.has("host")) headers.set("host", host);
  const request: RequestHead = {
    httpVersion: "1.1",
    method,
    path: question < 0 ? target : target.slice(0, question),
    query: question < 0 ? "" : target.slice(question),
    target,
    host,
    scheme,
    headers,
  };
  return {
    id: "req_test",
    connection: {
      source: "192.0.2.1",
      sourcePort: 50_000,
      localAddress: "198.51.100.1",
      localPort: 443,
      startedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
      tls: undefined,
      ...init.connection,
    },
    request,
    response: init.response && {
      status: init.response.status ?? 200,
      headers: new Headers(init.response.headers),
      transform: (make) => void transforms.push(make()),
    },
    steps: [],
    abandoned: init.abandoned ?? false,
    body: async (maxBytes) => {
      if (body.length > maxBytes) throw new Refusal("payload_too_large");
      return body;
    },
    transforms,
  };
}

/** A route of the edge "h" with one module on it, compiled by a real routing table. */
export function routeWith(module: string, config: object, table = tableOf()): CompiledRoute {
  const doc = { edge_id: "edghts_1", match_type: "path_prefix", match: "/", [module]: { enabled: true, ...config } };
  table.put({ kind: "https_edge", id: "edghts_1", doc: { hostports: ["h:443"] } });
  table.put({ kind: "https_edge_route", id: "edghtsrt_1", doc });
  const route = table.table.httpsSite("h")?.findRoute("/");
  if (!route) throw new Error("find the route: it is not there");
  if (route.problem) throw new Error(route.problem.message);
  return route;
}

/** Runs the request hooks as the edge does: in order, up to the first step with an answer. */
export async function runRequest(
  route: { readonly request: readonly CompiledModule[] },
  exchange: Exchange,
): Promise<Step> {
  let last: Step | undefined;
  for (const module of route.request) {
    last = await module.request?.(exchange);
    if (last) exchange.steps.push(last);
    if (last?.answer) return last;
  }
  if (!last) throw new Error("run the request: no module acts on it");
  return last;
}

export function runResponse(route: { readonly response: readonly CompiledModule[] }, exchange: Exchange): Step {
  let last: Step | undefined;
  for (const module of route.response) {
    last = module.response?.(exchange);
    if (last) exchange.steps.push(last);
  }
  if (!last) throw new Error("run the response: no module acts on it");
  return last;
}
