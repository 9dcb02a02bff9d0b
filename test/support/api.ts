/**
 * The management API in this process, with the caller's database and an edge that the test drives. `request` checks
 * every response against `openapi.json`.
 */
import assert from "node:assert/strict";
import type { Agent as HttpAgent } from "node:http";
import { Agent, request as httpRequest } from "../../src/lib/http.ts";
import { startControlPlane } from "../../src/api/control-plane.ts";
import type { ControlPlane, ControlPlaneOptions } from "../../src/api/control-plane.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { newToken, tokenPrefixes } from "../../src/lib/tokens.ts";
import { modules } from "../../src/modules/index.ts";
import { resources } from "../../src/resources/index.ts";
import type { Downward, Link, Upward } from "../../src/routing/planes/messages.ts";
import { controlPlaneSettings } from "../../src/settings/control-plane.ts";
import { defaultsOf } from "../../src/settings/setting.ts";
import { openStore } from "../../src/storage/opening/open-store.ts";
import type { Store } from "../../src/storage/store.ts";
import { startBalancer } from "./request-balancer.ts";
import { anyNode, nodeCount, untilAtAll } from "./node-count.ts";
import type { TestDatabase } from "./postgres.ts";
import { checkResponse } from "./response-check.ts";

export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The parsed body; {} if the response has no body. */
  readonly body: Body;
}

// The shape is what the tests are about.
// oxlint-disable-next-line typescript/no-explicit-any
export type Body = any;

interface RequestOptions {
  /** Sent as JSON, unless the body is a string or bytes. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly key?: string;
}

export interface TestApi {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly authtoken: string;
  readonly plane: ControlPlane;
  /** The first edge. Tests have one edge by default. */
  readonly edge: HandDrivenEdge;
  readonly edges: readonly HandDrivenEdge[];
  readonly databaseUrl: string;
  readonly sealingKey: Buffer;
  request(method: string, path: string, options?: RequestOptions): Promise<ApiResponse>;
  /** Sends a request like `request`, but fails the test if the response is not a success. */
  ok(method: string, path: string, body?: unknown, key?: string): Promise<Body>;
  stop(): Promise<void>;
}

/** The edge's end of the line. */
interface HandDrivenEdge {
  readonly received: Downward[];
  send(message: Upward): void;
  /** Returns the response to a command. Default: no response. */
  answer: ((message: Downward) => Upward | undefined) | undefined;
}

const fixedKey = Buffer.alloc(32, 7);

export async function startApi(
  database: TestDatabase,
  options: Partial<ControlPlaneOptions> & {
    readonly databaseUrl?: string;
    /** Number of edges with a line to the API. Default: 1. */
    readonly edgeCount?: number;
    /** Number of nodes behind a balancer, which sends each request to the next one. Default: as `nodeCount`, without it. */
    readonly balanced?: number;
    /** Stores objects that no operation can create. */
    readonly seed?: (store: Store) => Promise<void>;
  } = {},
): Promise<TestApi> {
  const { databaseUrl, seed, edgeCount = 1, balanced, ...rest } = options;
  const made = databaseUrl === undefined ? await database.create() : { url: databaseUrl, drop: async () => {} };
  if (seed) await withStore(made.url, seed);
  const bootstrap = {
    apiKey: newToken(tokenPrefixes.apiKey),
    authtoken: newToken(tokenPrefixes.agent),
    ...rest.bootstrap,
  };
  const linked = Array.from({ length: edgeCount }, linkedEdge);
  const edges = linked.map(({ edge }) => edge);
  const count = balanced ?? (database.name === "postgres" ? nodeCount : 1);
  const balancer = balanced === undefined ? undefined : await startBalancer();
  const given = {
    ...defaultsOf(controlPlaneSettings),
    apiListen: { host: "127.0.0.1", port: 0 },
    httpsListen: { host: "127.0.0.1", port: 0 },
    database: made.url,
    data: "/",
    sealingKey: fixedKey,
    domain: "postern.test",
    clock: systemClock,
    log: silentLog,
    cluster: count > 1,
    ...(balancer && { apiUrl: balancer.url }),
    ...rest,
    bootstrap,
  };
  const plane = await startControlPlane(
    given,
    linked.map(({ link }) => link),
  );
  const baseUrl = balancer?.url ?? `http://127.0.0.1:${plane.address.port}`;
  const planes = [plane];
  /** Edges of all nodes repeat what the edge driven by the test does. */
  const atNodes = edges.slice(0, 1);
  while (planes.length < count) {
    const { link, edge } = linkedEdge();
    atNodes.push(edge);
    planes.push(await startControlPlane(given, [link]));
  }
  const stopAll = async (): Promise<void> => {
    for (const one of planes) await one.stop();
  };
  const urls = planes.map(({ address }) => `http://127.0.0.1:${address.port}`);
  balancer?.use(urls);
  const agent = new Agent({ keepAlive: true });
  const metricsOf = (url: string) => async () =>
    (await send(url, "GET", "/metrics", undefined, { authorization: `Bearer ${bootstrap.apiKey}` }, agent)).text;
  const request: TestApi["request"] = async (method, path, { body, headers = {}, key = bootstrap.apiKey } = {}) => {
    const type = body !== undefined && { "content-type": "application/json" };
    // Requests carry the host of the balancer, which all nodes share.
    const host = count > 1 && { host: new URL(baseUrl).host };
    const sent = { authorization: `Bearer ${key}`, "service-version": "2", ...host, ...type, ...headers };
    const response = await send(balancer?.url ?? anyNode.pick(urls), method, path, body, sent, agent);
    checkResponse(method, path, response);
    if (!balancer && count > 1 && method !== "GET") await untilAtAll(revisionOf(response), urls.map(metricsOf));
    return response;
  };
  return {
    baseUrl,
    apiKey: bootstrap.apiKey,
    authtoken: bootstrap.authtoken,
    plane: { ...plane, stop: stopAll },
    edge: atNodes.length > 1 ? sameEdges(atNodes) : (edges[0] as HandDrivenEdge),
    edges,
    databaseUrl: made.url,
    sealingKey: fixedKey,
    request,
    async ok(method, path, body, key) {
      const response = await request(method, path, { body, ...(key !== undefined && { key }) });
      assert.ok(response.status < 300, `${method} ${path}: ${response.status} ${response.text}`);
      return response.body;
    },
    async stop() {
      agent.destroy();
      balancer?.stop();
      await stopAll();
      if (databaseUrl === undefined) await made.drop();
    },
  };
}

/** Returns 0 for a response that has written nothing. */
function revisionOf({ headers }: ApiResponse): number {
  return Number(headers["postern-revision"] ?? 0);
}

export async function withStore(url: string, use: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore({
    database: url,
    dataDirectory: "/",
    sealingKey: fixedKey,
    declarations: { resources, modules },
    clock: systemClock,
    log: silentLog,
  });
  try {
    await use(store);
  } finally {
    await store.close();
  }
}

function linkedEdge(): { link: Link<Downward, Upward>; edge: HandDrivenEdge } {
  let handler: ((message: Upward) => void) | undefined;
  const edge: HandDrivenEdge = {
    received: [],
    answer: undefined,
    send: (message) => handler?.(structuredClone(message)),
  };
  const link: Link<Downward, Upward> = {
    send(message) {
      edge.received.push(structuredClone(message));
      const answer = edge.answer?.(message) ?? noMetrics(message);
      if (answer) setImmediate(() => edge.send(answer));
    },
    receive(take) {
      handler = take;
    },
  };
  return { link, edge };
}

/** Answers as an edge without agents that serves each change. */
export function answerAsEdge(message: Downward): Upward | undefined {
  if (message.type === "changes") return { type: "applied", revision: message.revision };
  if (message.type !== "question" || message.question.name !== "agent_endpoints") return undefined;
  return { type: "answer", call: message.call, answer: { name: "agent_endpoints", endpoints: [] } };
}

/** With several nodes, tests poll the metrics for the nodes' revisions. A silent edge would delay each poll. */
function noMetrics(message: Downward): Upward | undefined {
  if (nodeCount === 1 || message.type !== "metrics_request") return undefined;
  return { type: "metrics", call: message.call, text: "" };
}

/** Combines several edges that are driven together. Received messages are those of the first edge. */
function sameEdges(edges: readonly HandDrivenEdge[]): HandDrivenEdge {
  const [first] = edges as [HandDrivenEdge];
  return {
    received: first.received,
    send(message) {
      for (const edge of edges) edge.send(message);
    },
    get answer() {
      return first.answer;
    },
    set answer(answer) {
      for (const edge of edges) edge.answer = answer;
    },
  };
}

/** Sends one request, on a new connection unless the agent keeps connections. */
export function send(
  baseUrl: string,
  method: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string | undefined>>,
  agent: HttpAgent | false = false,
): Promise<ApiResponse> {
  const bytes =
    body === undefined
      ? undefined
      : typeof body === "string" || body instanceof Uint8Array
        ? Buffer.from(body)
        : Buffer.from(JSON.stringify(body));
  const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
  if (bytes && !sent["transfer-encoding"]) sent["content-length"] ??= String(bytes.length);
  return new Promise((resolve, reject) => {
    const request = httpRequest(baseUrl + path, { method, headers: sent as Record<string, string>, agent });
    request.on("error", reject);
    request.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("error", reject);
      response.on("end", () => {
        const isJson = response.headers["content-type"] === "application/json" && text !== "";
        resolve({
          status: response.statusCode as number,
          headers: response.headers as Record<string, string>,
          text,
          body: isJson ? (JSON.parse(text) as Body) : {},
        });
      });
    });
    request.end(bytes);
  });
}
