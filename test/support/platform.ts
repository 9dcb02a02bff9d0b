/** The whole platform as its users get it: both planes in their threads, on free ports, in a directory of its own. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request as requestHttp } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, Server } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { request as requestHttps } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import type { TLSSocket } from "node:tls";
import { startAgent as startOurAgent } from "../../src/agent/agent.ts";
import type { AgentOptions, AgentStatus } from "../../src/agent/agent.ts";
import type { AgentEnd } from "../../src/agent/end.ts";
import type { WatchedRequest } from "../../src/agent/request-watch.ts";
import { parseUpstream } from "../../src/agent/upstream.ts";
import { startPlatform as startBoth } from "../../src/cli/platform/platform.ts";
import type { Platform, PlatformOptions } from "../../src/cli/platform/platform.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { defaultsOf } from "../../src/settings/setting.ts";
import { platformSettings } from "../../src/settings/settings.ts";
import { responseCheck } from "./response-check.ts";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** HTTP/1.1 unless given. */
  readonly http?: "h1" | "h2";
  /** Server name and Host, where they differ from the URL's. */
  readonly serverName?: string;
  readonly host?: string;
}

export interface TestPlatform extends Platform {
  readonly directory: string;
  /** A public request; DNS is not asked, every name leads to this edge. */
  request(url: string, options?: RequestOptions): Promise<Answer>;
  /** A TLS connection to the edge for `serverName`. */
  connect(serverName: string, protocols?: readonly string[]): Promise<TLSSocket>;
  /** Calls the management API with the first key, or another; `body` is sent as JSON. */
  api(method: string, path: string, body?: unknown, key?: string): Promise<Answer & { readonly body: ApiBody }>;
  startAgent(options: TestAgentOptions): Promise<TestAgent>;
  /** Stops it and starts another on the same directory and ports. */
  restart(): Promise<void>;
  /** Ends the platform, and leaves its agents. */
  stopServer(): Promise<void>;
}

// The shape is what the tests are about.
// oxlint-disable-next-line typescript/no-explicit-any
export type ApiBody = any;

export interface TestAgentOptions {
  readonly upstream: string | number;
  readonly url?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly metadata?: string;
  readonly token?: string;
  /** Whether to return before it is online. */
  readonly offline?: boolean;
  readonly agent?: Partial<AgentOptions>;
}

export interface TestAgent {
  /** Of the last time that it was online. */
  readonly url: string;
  readonly ended: Promise<AgentEnd>;
  readonly statuses: readonly AgentStatus[];
  readonly requests: readonly WatchedRequest[];
  /** Resolves when it is online for the `count`th time. */
  online(count?: number): Promise<void>;
  close(): Promise<void>;
}

export interface TestUpstream {
  readonly port: number;
  readonly server: Server;
  stop(): Promise<void>;
}

const loopback = { host: "127.0.0.1", port: 0 } as const;

/** @param options whatever should differ from a platform on SQLite with random credentials */
export async function startPlatform(options: Partial<PlatformOptions> = {}): Promise<TestPlatform> {
  const directory = options.data ?? mkdtempSync(join(tmpdir(), "postern-platform-"));
  const started = {
    ...defaultsOf(platformSettings),
    data: directory,
    apiListen: loopback,
    httpsListen: loopback,
    agentListen: loopback,
    tcpBind: "127.0.0.1",
    log: silentLog,
    logLevel: "error",
    logFormat: "text",
    version: "0.0.0-test",
    drainMs: 2_000,
    ...options,
  } satisfies PlatformOptions;
  let platform = await startBoth(started);
  const samePorts = {
    apiListen: { ...started.apiListen, port: platform.apiPort },
    httpsListen: { ...started.httpsListen, port: platform.httpsPort },
    agentListen: { ...started.agentListen, port: platform.agentPort },
  };
  const agents = new Set<TestAgent>();
  const described = await apiRequest(platform, "GET", "/openapi.json", undefined, platform.apiKey);
  const check = responseCheck(described.body);
  return {
    ...platform,
    directory,
    request: (url, given) => publicRequest(platform, url, given ?? {}),
    connect: (serverName, protocols) => connectEdge(platform, serverName, protocols ?? ["http/1.1"]),
    async api(method, path, body, key) {
      const answer = await apiRequest(platform, method, path, body, key ?? platform.apiKey);
      check(method, path, { ...answer, body: answer.body ?? {} });
      return answer;
    },
    async startAgent(given) {
      const agent = testAgent(platform, given);
      agents.add(agent);
      if (!given.offline) {
        const end = await Promise.race([agent.online(), agent.ended]);
        if (end) throw new Error(`the agent gave up: ${end.reason}: ${end.message}`);
      }
      return agent;
    },
    stopControlPlane: () => platform.stopControlPlane(),
    startControlPlane: () => platform.startControlPlane(),
    async restart() {
      await platform.stop();
      platform = await startBoth({ ...started, ...samePorts });
    },
    stopServer: () => platform.stop(),
    async stop() {
      await Promise.all([...agents].map((agent) => agent.close()));
      await platform.stop();
      if (options.data === undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A service to publish, on a free loopback port. */
export async function startUpstream(handler: RequestListener): Promise<TestUpstream> {
  const server = createServer(handler);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    server,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function testAgent(platform: Platform, options: TestAgentOptions): TestAgent {
  const statuses: AgentStatus[] = [];
  const requests: WatchedRequest[] = [];
  const waiting: { readonly count: number; readonly done: () => void }[] = [];
  let url = "";
  const timesOnline = (): number => statuses.filter((one) => one.state === "online").length;
  const agent = startOurAgent({
    server: { host: "127.0.0.1", port: platform.agentPort },
    ca: platform.caPem,
    token: options.token ?? platform.authtoken,
    upstream: parseUpstream(String(options.upstream)),
    metadata: options.metadata ?? "",
    publish: options.labels ? { kind: "labels", labels: options.labels } : { kind: "url", url: options.url },
    version: "0.0.0-test",
    clock: systemClock,
    log: silentLog,
    random: Math.random,
    retryFirst: false,
    status(status) {
      statuses.push(status);
      if (status.state === "online") url = status.url ?? "";
      for (const one of waiting) if (timesOnline() >= one.count) one.done();
    },
    request: (request) => requests.push(request),
    ...options.agent,
  });
  return {
    get url() {
      return url;
    },
    ended: agent.ended,
    statuses,
    requests,
    async online(count = 1) {
      if (timesOnline() >= count) return;
      await new Promise<void>((done) => waiting.push({ count, done }));
    },
    close: () => agent.close(),
  };
}

async function publicRequest(platform: Platform, url: string, options: RequestOptions): Promise<Answer> {
  const target = new URL(url);
  const serverName = options.serverName ?? target.hostname;
  const socket = await connectEdge(platform, serverName, [options.http === "h2" ? "h2" : "http/1.1"]);
  const given = { ...options, host: options.host ?? target.host };
  try {
    return options.http === "h2" ? await overHttp2(socket, target, given) : await overHttp1(socket, target, given);
  } finally {
    socket.destroy();
  }
}

async function connectEdge(platform: Platform, serverName: string, protocols: readonly string[]): Promise<TLSSocket> {
  const socket = connectTls({
    host: "127.0.0.1",
    port: platform.httpsPort,
    servername: serverName,
    ca: platform.caPem,
    ALPNProtocols: [...protocols],
  });
  await once(socket, "secureConnect");
  return socket;
}

async function overHttp1(socket: TLSSocket, target: URL, options: RequestOptions): Promise<Answer> {
  const { method = "GET", headers = {}, body, host = "" } = options;
  const request = requestHttps({
    createConnection: () => socket,
    method,
    path: target.pathname + target.search,
    headers: {
      host,
      connection: "close",
      ...headers,
      ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }),
    },
  });
  request.end(body);
  return await readAnswer(((await once(request, "response")) as [IncomingMessage])[0]);
}

async function overHttp2(socket: TLSSocket, target: URL, options: RequestOptions): Promise<Answer> {
  const { method = "GET", headers = {}, body, host = "" } = options;
  const session: ClientHttp2Session = connectHttp2(target, { createConnection: () => socket });
  const stream = session.request(
    {
      ":method": method,
      ":path": target.pathname + target.search,
      ":authority": host,
      ...headers,
      ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }),
    },
    { endStream: body === undefined },
  );
  if (body !== undefined) stream.end(body);
  const [fields] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status"?: number }];
  let text = "";
  for await (const chunk of stream.setEncoding("utf8") as AsyncIterable<string>) text += chunk;
  session.close();
  return { status: fields[":status"] ?? 0, headers: fields, text };
}

async function apiRequest(
  platform: Platform,
  method: string,
  path: string,
  body: unknown,
  key: string,
): Promise<Answer & { readonly body: ApiBody }> {
  const content = body === undefined ? undefined : JSON.stringify(body);
  const request = requestHttp(`${platform.apiUrl}${path}`, {
    method,
    agent: false,
    headers: {
      authorization: `Bearer ${key}`,
      "service-version": "2",
      ...(content === undefined
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(content) }),
    },
  });
  request.end(content);
  const answer = await readAnswer(((await once(request, "response")) as [IncomingMessage])[0]);
  return { ...answer, body: answer.text.startsWith("{") ? (JSON.parse(answer.text) as ApiBody) : undefined };
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  let text = "";
  for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) text += chunk;
  return { status: response.statusCode ?? 0, headers: response.headers, text };
}
