/** HTTP/2 in front of a real HTTP/1.1 upstream, without tunnels and listeners. */
import { logFailuresTo } from "../../src/lib/boundary.ts";
import { WindowReserve } from "../../src/lib/io/receive-window.ts";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { createServer } from "../../src/lib/http.ts";
import { makeAgentRegistry } from "../../src/edge/agents/registry.ts";
import { defaultAgentLimits } from "../../src/edge/agents/tunnels/agent-limits.ts";
import { makeRequestUpstreams } from "../../src/edge/upstreams/request-upstreams.ts";
import { uploadReserveBytes, defaultLimits } from "../../src/edge/http/http-context.ts";
import type { FinishedExchange, HttpContext, HttpLimits } from "../../src/edge/http/http-context.ts";
import { makeCounters } from "../../src/edge/http/http-counters.ts";
import { Moments } from "../../src/lib/moments.ts";
import { Deadlines } from "../../src/lib/deadlines.ts";
import { Roster } from "../../src/lib/collections/roster.ts";
import { serveHttp2 } from "../../src/edge/http2/serve-http2.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { passStep } from "../../src/traffic/step.ts";
import type { CompiledModule } from "../../src/traffic/module.ts";
import type { CompiledRoute, Site } from "../../src/routing/sites/compiled-site.ts";
import { makeRoutingTable } from "../../src/routing/routing-table.ts";
import { makeManualClock } from "./clock.ts";
import type { ManualClock } from "./clock.ts";

export const host = "app.example.com";

export interface H2Server {
  readonly port: number;
  readonly host: string;
  readonly ca: string;
  readonly context: HttpContext;
  readonly clock: ManualClock;
  readonly upstream: Server;
  /** Finished exchanges, oldest first. */
  readonly finished: { readonly path: string; readonly status: number; readonly cutShort: boolean }[];
  stop(): Promise<void>;
}

/** @param upstream answers forwarded requests; connections to it are reused as for any upstream */
export async function startH2Server(
  upstream: Server = createServer((_request, response) => response.end("hello")),
  options: { readonly limits?: Partial<HttpLimits>; readonly request?: readonly CompiledModule[] } = {},
): Promise<H2Server> {
  logFailuresTo(silentLog);
  const clock = makeManualClock();
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
  const { port: upstreamPort } = upstream.address() as AddressInfo;
  const authority = await createAuthority({ commonName: "Test", now: Date.now() });
  const names = [host, "other.example.com"];
  const leaf = await issueLeaf(authority, { names, now: Date.now(), days: 2 });

  const sites = new Map(names.map((name) => [name, siteOf(name, upstreamPort, options.request ?? [])]));
  const table = makeRoutingTable(clock);
  const registry = makeAgentRegistry({
    table,
    report: () => {},
    domain: "example.com",
    advertisedHttpsPort: () => 443,
    region: "",
    clock,
    log: silentLog,
    limits: defaultAgentLimits,
  });
  const deadlines = new Deadlines(clock);
  const limits = { ...defaultLimits, ...options.limits };
  const finished: H2Server["finished"] = [];
  const context: HttpContext = {
    log: silentLog,
    clock,
    moments: new Moments(clock),
    deadlines,
    limits,
    counters: makeCounters(),
    upstreams: makeRequestUpstreams({
      registry,
      context: { clock, deadlines, limits, log: silentLog },
      dial: { clock, allowLocal: true },
    }),
    connections: new Roster(),
    uploadWindows: new WindowReserve(uploadReserveBytes),
    advertisedPort: { https: 443, http: 80 },
    trustsProxy: undefined,
    finished: ({ path, status, cutShort }: FinishedExchange) => finished.push({ path, status, cutShort }),
  };
  const tls = createTlsServer(
    { cert: leaf.certificatePem, key: leaf.keyPem, ALPNProtocols: ["h2"], allowHalfOpen: true },
    (socket) => {
      const facts = {
        source: "127.0.0.1",
        sourcePort: socket.remotePort ?? 0,
        local: { localAddress: "127.0.0.1" },
        localPort: socket.localPort ?? 0,
        startedAt: clock.now(),
        tls: {
          serverName: String(socket.servername),
          version: "TLSv1.3",
          cipher: "TLS_AES_128_GCM_SHA256",
          clientCertificate: undefined,
        },
      };
      serveHttp2(socket, facts, (name) => sites.get(name), context);
    },
  );
  tls.on("tlsClientError", () => {});
  tls.listen(0, "127.0.0.1");
  await once(tls, "listening");
  return {
    port: (tls.address() as AddressInfo).port,
    host,
    ca: authority.certificatePem,
    context,
    clock,
    upstream,
    finished,
    async stop() {
      for (const connection of context.connections.members()) connection.destroy();
      deadlines.stop();
      upstream.closeAllConnections();
      await Promise.all([new Promise((done) => tls.close(done)), new Promise((done) => upstream.close(done))]);
    },
  };
}

function siteOf(name: string, port: number, request: readonly CompiledModule[]): Site {
  const route: CompiledRoute = {
    id: `edghtsrt_${name}`,
    revision: 1,
    mark: 0,
    matched: passStep("router", "matched everything"),
    problem: undefined,
    request,
    response: [],
    settled: [],
    upstream: { kind: "static", id: "bkdsc_1", revision: 1, host: "127.0.0.1", port, tls: false },
  };
  return {
    kind: "https_edge",
    id: `edghts_${name}`,
    accountId: "ac_1",
    revision: 1,
    hosts: [name],
    handshake: {},
    problem: undefined,
    findRoute: () => route,
    advertises: (_host, port) => port === 443,
  };
}
