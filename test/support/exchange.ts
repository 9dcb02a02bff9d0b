/** A request as modules see it. Runs the hooks of a compiled route in the edge's order, without sockets. */
import { streamOf } from "../../src/traffic/body-stage.ts";
import type { Transform } from "node:stream";
import { Refusal } from "../../src/lib/errors.ts";
import type { Exchange, RequestHead } from "../../src/traffic/exchange.ts";
import type { ConnectionFacts } from "../../src/traffic/connection-facts.ts";
import { HeaderList } from "../../src/traffic/header-list.ts";
import type { HeaderPairs } from "../../src/traffic/header-list.ts";
import type { CompiledModule } from "../../src/traffic/module.ts";
import type { Step } from "../../src/traffic/step.ts";

type Pairs = HeaderPairs | Readonly<Record<string, string>>;

function headerList(pairs: Pairs = []): HeaderList {
  return new HeaderList(
    Array.isArray(pairs) ? (pairs as HeaderPairs) : Object.entries(pairs as Record<string, string>),
  );
}

export interface ExchangeInit {
  readonly method?: string;
  /** Path and query. */
  readonly target?: string;
  readonly host?: string;
  readonly scheme?: "https" | "http";
  readonly headers?: Pairs;
  readonly body?: Buffer | string;
  readonly connection?: Partial<ConnectionFacts>;
  readonly abandoned?: boolean;
  /** Names and values, alternating. */
  readonly loginCookies?: readonly string[];
  readonly response?: { readonly status?: number; readonly headers?: Pairs; readonly body?: Buffer | string };
}

export interface TestExchange extends Exchange {
  /** The stages that modules added to the response body, in order. */
  readonly transforms: Transform[];
  /** The response's body: the original or its replacement. */
  readonly answeredBody: Buffer;
}

/** Returns a request, and optionally a response, as modules see them. */
export function exchangeOf(init: ExchangeInit = {}): TestExchange {
  const { method = "GET", target = "/", host = "app.example.com", scheme = "https" } = init;
  const question = target.indexOf("?");
  let body = Buffer.from(init.body ?? "");
  let answered = Buffer.from(init.response?.body ?? "");
  const transforms: Transform[] = [];
  const headers = headerList(init.headers);
  if (!headers.has("host")) headers.set("host", host);
  const request: RequestHead = {
    httpVersion: "1.1",
    method,
    path: question < 0 ? target : target.slice(0, question),
    query: question < 0 ? "" : target.slice(question),
    target,
    host,
    scheme,
    websocket: headers.get("upgrade")?.toLowerCase() === "websocket",
    headers,
  };
  return {
    id: "req_test",
    loginCookies: init.loginCookies ?? [],
    connection: {
      source: "192.0.2.1",
      sourcePort: 50_000,
      local: { localAddress: "198.51.100.1" },
      localPort: 443,
      startedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
      tls: undefined,
      ...init.connection,
    },
    request,
    receivedAt: Date.UTC(2026, 0, 2, 3, 4, 6),
    response: init.response && {
      status: init.response.status ?? 200,
      headers: headerList(init.response.headers),
      body: async (maxBytes) => bounded(answered, maxBytes),
      replaceBody: (bytes) => void (answered = Buffer.from(bytes)),
      transform: (stage) => void transforms.push(streamOf(stage)),
    },
    steps: [],
    abandoned: init.abandoned ?? false,
    body: async (maxBytes) => bounded(body, maxBytes),
    replaceBody: (bytes) => void (body = Buffer.from(bytes)),
    get answeredBody() {
      return answered;
    },
    transforms,
  };
}

function bounded(body: Buffer, maxBytes: number): Buffer {
  if (body.length > maxBytes) throw new Refusal("payload_too_large");
  return body;
}

/** Runs the request hooks in order, like the edge, up to the first step with an answer. */
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
    const step = module.response?.(exchange);
    if (step instanceof Promise) throw new Error("run the response: a hook of it takes time");
    last = step;
    if (last) exchange.steps.push(last);
  }
  if (!last) throw new Error("run the response: no module acts on it");
  return last;
}
