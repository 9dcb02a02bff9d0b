/** The whole platform as users start it: both planes in their threads, on free ports, in a separate directory. */
import { once } from "node:events";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { request as requestHttp } from "../../src/lib/http.ts";
import type { Platform, PlatformOptions, startPlatform as startPlatformOf } from "../../src/cli/platform/platform.ts";
import { dataFiles } from "../../src/cli/data/data-files.ts";
import { silentLog } from "../../src/lib/log.ts";
import { defaultsOf } from "../../src/settings/setting.ts";
import { platformSettings } from "../../src/settings/settings.ts";
import { urlOf } from "../../bin/bundled.ts";
import { askOver, connectOver } from "./http-client.ts";
import type { Asked, AskOptions, Protocol } from "./http-client.ts";
import { anyNode, nodeCount } from "./node-count.ts";
import { startOurAgent } from "./our-agent.ts";
import type { OurAgent, OurAgentOptions } from "./our-agent.ts";
import { databases } from "./postgres.ts";
import { checkResponse } from "./response-check.ts";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Default server name and Host: those of the URL. */
export interface RequestOptions extends Partial<
  Pick<AskOptions, "method" | "headers" | "body" | "host" | "serverName">
> {
  /** Default: HTTP/1.1. */
  readonly http?: Protocol;
}

export interface TestPlatform extends Platform {
  readonly directory: string;
  /** Sends a public request. DNS is not used; every name resolves to this edge. */
  request(url: string, options?: RequestOptions): Promise<Asked>;
  /** Opens a TLS connection to the edge for `serverName`. */
  connect(serverName: string, protocols?: readonly string[]): Promise<TLSSocket>;
  /** Calls the management API with the first key or with `key`. `body` is sent as JSON. */
  api(method: string, path: string, body?: unknown, key?: string): Promise<Answer & { readonly body: ApiBody }>;
  startAgent(options: OurAgentOptions): Promise<OurAgent>;
  /** Stops the platform and starts another one with the same directory and ports. */
  restart(): Promise<void>;
  /** Stops the platform, but not its agents. */
  stopServer(): Promise<void>;
}

// The shape is what the tests are about.
// oxlint-disable-next-line typescript/no-explicit-any
export type ApiBody = any;

/** Like users, starts from the bundle if the bundle is up to date with the sources. */
const { startPlatform: startBoth } = (await import(urlOf("src/cli/platform/platform.ts"))) as {
  readonly startPlatform: typeof startPlatformOf;
};

const loopback = { host: "127.0.0.1", port: 0 } as const;

/**
 * @param options differences from a platform on SQLite with random credentials
 * @param count number of servers
 */
export async function startPlatform(options: Partial<PlatformOptions> = {}, count = nodeCount): Promise<TestPlatform> {
  const directory = options.data ?? mkdtempSync(join(tmpdir(), "postern-platform-"));
  const started = {
    ...defaultsOf(platformSettings),
    drainDelay: 0,
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
  const nodes = await startNodes(started, options.database === undefined ? count : 1);
  let [platform] = nodes.platforms as [Platform];
  const others = nodes.platforms.slice(1);
  const any = (): Platform => anyNode.pick([platform, ...others]);
  const samePorts = {
    apiListen: { ...started.apiListen, port: platform.apiPort },
    httpsListen: { ...started.httpsListen, port: platform.httpsPort },
    agentListen: { ...started.agentListen, port: platform.agentPort },
  };
  const agents = new Set<OurAgent>();
  return {
    ...platform,
    directory,
    request: (url, given) => publicRequest(any(), url, given ?? {}),
    connect: (host, alpn) => connectOver(alpn ?? ["http/1.1"], platform.httpsPort, platform.caPem, { host }),
    async api(method, path, body, key) {
      const waits = method === "DELETE" || (others.length > 0 && method !== "GET") || isLong(body);
      const answer = await apiRequest(any(), method, path, body, key ?? platform.apiKey, waits);
      checkResponse(method, path, { ...answer, body: answer.body ?? {} });
      return answer;
    },
    async startAgent(given) {
      const at = { port: any().agentPort, ca: platform.caPem, token: platform.authtoken };
      // Each agent connects to one node, so that traffic to another node makes the hop.
      const atOne = others.length > 0 ? { ...given, agent: { connections: 1, ...given.agent } } : given;
      const agent = await startOurAgent(at, atOne);
      agents.add(agent);
      return agent;
    },
    stopControlPlane: () => platform.stopControlPlane(),
    startControlPlane: () => platform.startControlPlane(),
    async restart() {
      await platform.stop();
      platform = await startBoth({ ...nodes.first, ...samePorts });
    },
    stopServer: () => platform.stop(),
    async stop() {
      await Promise.all([...agents].map((agent) => agent.close()));
      for (const one of [platform, ...others]) await one.stop();
      await nodes.remove();
      if (options.data === undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}

function isLong(body: unknown): boolean {
  return JSON.stringify(body ?? null).length > 2_000;
}

/** Starts one platform, or several on one database: the first with the given options, the others beside it. */
async function startNodes(
  first: PlatformOptions,
  count: number,
): Promise<{
  readonly platforms: readonly Platform[];
  /** Options of the first platform. */
  readonly first: PlatformOptions;
  remove(): Promise<void>;
}> {
  const postgres = databases.find(({ name }) => name === "postgres");
  if (count === 1 || !postgres) {
    return { platforms: [await startBoth(first)], first, remove: async () => {} };
  }
  const place = await postgres.create();
  const shared = { ...first, database: place.url, cluster: true, peerListen: loopback };
  const platforms = [await startBoth(shared)];
  const directories: string[] = [];
  while (platforms.length < count) {
    const data = mkdtempSync(join(tmpdir(), "postern-node-"));
    directories.push(data);
    for (const file of readdirSync(first.data)) {
      if (file !== dataFiles.server) cpSync(join(first.data, file), join(data, file), { recursive: true });
    }
    const [{ apiUrl, httpsPort }] = platforms as [Platform];
    // A tcp tunnel has the same port at each node, as on separate machines.
    const tcpBind = `127.0.0.${platforms.length + 1}`;
    platforms.push(await startBoth({ ...shared, data, apiUrl, httpsPort, tcpBind }));
  }
  return {
    platforms,
    first: shared,
    async remove() {
      await place.drop();
      for (const data of directories) rmSync(data, { recursive: true, force: true });
    },
  };
}

function publicRequest(platform: Platform, url: string, options: RequestOptions): Promise<Asked> {
  const { http = "h1", host, serverName, ...rest } = options;
  const target = new URL(url);
  return askOver(http, platform.httpsPort, platform.caPem, {
    ...rest,
    path: target.pathname + target.search,
    host: host ?? target.host,
    serverName: serverName ?? target.hostname,
  });
}

async function apiRequest(
  platform: Platform,
  method: string,
  path: string,
  body: unknown,
  key: string,
  waits: boolean,
): Promise<Answer & { readonly body: ApiBody }> {
  const content = body === undefined ? undefined : JSON.stringify(body);
  const request = requestHttp(`${platform.apiUrl}${path}`, {
    method,
    agent: false,
    headers: {
      authorization: `Bearer ${key}`,
      "service-version": "2",
      // The next line of a test must see deletions at all edges, additions at all nodes, and policies that an edge
      // compiles in slices.
      ...(waits ? { prefer: "wait=5" } : {}),
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
