/** The HTTP front alone: real sockets on both sides, without TLS, tunnels or a routing table. */
import { WindowReserve } from "../../src/lib/io/receive-window.ts";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { uploadReserveBytes, defaultLimits } from "../../src/edge/http/http-context.ts";
import type { FinishedExchange, HttpContext, HttpLimits } from "../../src/edge/http/http-context.ts";
import { makeCounters } from "../../src/edge/http/http-counters.ts";
import { Moments } from "../../src/lib/moments.ts";
import { logFailuresTo } from "../../src/lib/boundary.ts";
import { Deadlines } from "../../src/lib/deadlines.ts";
import { Roster } from "../../src/lib/collections/roster.ts";
import { serveHttp1 } from "../../src/edge/http/http1-connection.ts";
import { UpstreamPool } from "../../src/edge/upstreams/upstream-pool.ts";
import type { RequestUpstreams } from "../../src/edge/upstreams/request-upstreams.ts";
import { discardingReceiver } from "../../src/lib/io/byte-stream.ts";
import type { ByteStream } from "../../src/lib/io/byte-stream.ts";
import { makeLog } from "../../src/lib/log.ts";
import { socketStream } from "../../src/lib/io/socket-stream.ts";
import type { TlsFacts } from "../../src/traffic/connection-facts.ts";
import type { CompiledModule } from "../../src/traffic/module.ts";
import { passStep } from "../../src/traffic/step.ts";
import type { CompiledRoute, Site } from "../../src/routing/sites/compiled-site.ts";
import { makeManualClock } from "./clock.ts";
import type { ManualClock } from "./clock.ts";

export interface FrontOptions {
  readonly modules?: readonly CompiledModule[];
  readonly limits?: Partial<HttpLimits>;
  /** Changes the site of every host name below `example.com`. */
  readonly site?: (site: Site) => Site | undefined;
  readonly route?: Partial<CompiledRoute>;
  readonly tls?: TlsFacts;
  readonly trustsProxy?: (source: string) => boolean;
  readonly isAgent?: boolean;
  /** Wraps the front's upstream streams. */
  readonly wrap?: (stream: ByteStream) => ByteStream;
  readonly upstreams?: Pick<RequestUpstreams, "choose">;
}

export interface Front {
  readonly port: number;
  readonly clock: ManualClock;
  readonly context: HttpContext;
  readonly pool: UpstreamPool;
  readonly finished: {
    id: string;
    status: number;
    bytesIn: number;
    bytesOut: number;
    cutShort: boolean;
    path: string;
  }[];
  /** Lines of the log. */
  readonly lines: string[];
  readonly upstream: Upstream;
  connect(): Client;
  stop(): Promise<void>;
}

/** Runs `body` against a new front, with a client connected to it. */
export async function withFront(
  answer: Answerer,
  options: FrontOptions,
  body: (front: Front, client: Client) => Promise<void>,
): Promise<void> {
  const front = await startFront(answer, options);
  try {
    await body(front, front.connect());
  } finally {
    await front.stop();
  }
}

/** Starts a front that forwards to `upstream`, on a clock that stands still until the test advances it. */
export async function startFront(answer: Answerer, options: FrontOptions = {}): Promise<Front> {
  const upstream = await startUpstream(answer);
  const clock = makeManualClock();
  const deadlines = new Deadlines(clock);
  const lines: string[] = [];
  const finished: Front["finished"] = [];
  let pool: UpstreamPool | undefined;
  const log = makeLog({
    level: "debug",
    format: "text",
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    write: (text) => lines.push(text),
  });
  logFailuresTo(log);
  const context: HttpContext = {
    log,
    clock,
    moments: new Moments(clock),
    deadlines,
    limits: { ...defaultLimits, ...options.limits },
    counters: makeCounters(),
    upstreams: options.upstreams ?? {
      choose: (_plan, _exchange, tried) => (tried.length > 0 ? { error: "tunnel_gone" } : (pool as UpstreamPool)),
    },
    connections: new Roster(),
    uploadWindows: new WindowReserve(uploadReserveBytes),
    advertisedPort: { https: 443, http: 80 },
    trustsProxy: options.trustsProxy,
    finished: ({ id, status, bytesIn, bytesOut, cutShort, path }: FinishedExchange) =>
      void finished.push({ id, status, bytesIn, bytesOut, cutShort, path }),
  };
  pool = poolTo(upstream.port, context, options);
  const modules = options.modules ?? [];
  const route: CompiledRoute = {
    id: "edghtsrt_1",
    revision: 1,
    mark: 0,
    matched: passStep("router", "matched the route"),
    problem: undefined,
    request: modules.filter((module) => "request" in module),
    response: modules.filter((module) => "response" in module),
    settled: modules.filter((module) => "settled" in module),
    upstream: { kind: "tunnel", id: "tn_1" },
    ...options.route,
  };
  const site: Site = {
    kind: "https_edge",
    id: "edghts_1",
    accountId: "ac_1",
    revision: 1,
    hosts: ["*.example.com"],
    handshake: {},
    problem: undefined,
    findRoute: (path) => (path.startsWith("/nowhere") ? undefined : route),
    advertises: (_host, port) => port === 443,
  };
  const find = (host: string): Site | undefined =>
    host.endsWith(".example.com")
      ? (options.site ?? ((same) => same))(host.startsWith("other.") ? { ...site, id: "edghts_2" } : site)
      : undefined;
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const facts = {
      source: "127.0.0.1",
      sourcePort: socket.remotePort ?? 0,
      local: { localAddress: "127.0.0.1" },
      localPort: portOf(server),
      startedAt: clock.now(),
      tls: options.tls,
    };
    serveHttp1(socket, facts, find, context);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const clients: Client[] = [];
  return {
    port: portOf(server),
    clock,
    context,
    pool,
    finished,
    lines,
    upstream,
    connect() {
      const client = new Client(portOf(server));
      clients.push(client);
      return client;
    },
    async stop() {
      for (const client of clients) client.socket.destroy();
      pool.close();
      deadlines.stop();
      server.close();
      await upstream.stop();
    },
  };
}

function poolTo(
  port: number,
  context: HttpContext,
  { isAgent = false, wrap = (stream) => stream }: FrontOptions,
): UpstreamPool {
  return new UpstreamPool({
    context,
    isAgent,
    reuse: true,
    open(_exchange, take) {
      const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
      socket.once("connect", () => take(wrap(socketStream(socket, discardingReceiver, true))));
      socket.once("error", () => {
        if (socket.connecting) take(undefined);
      });
    },
  });
}

/** Handles data that arrives on an upstream's connection: `seen` is all of the data so far. */
export type Answerer = (connection: UpstreamSocket) => void;

export interface UpstreamSocket {
  readonly socket: Socket;
  /** Everything that arrived on the connection since `take`. */
  seen: string;
  /** Number of the connection, from 0. */
  readonly index: number;
}

export interface Upstream {
  readonly port: number;
  readonly connections: UpstreamSocket[];
  stop(): Promise<void>;
}

/** Starts an upstream that works with bytes. Each arrival calls `answer`. */
async function startUpstream(answer: Answerer): Promise<Upstream> {
  const connections: UpstreamSocket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const connection: UpstreamSocket = { socket, seen: "", index: connections.length };
    connections.push(connection);
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      connection.seen += bytes.toString("latin1");
      answer(connection);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: portOf(server),
    connections,
    async stop() {
      for (const { socket } of connections) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** Answers each whole request with `response`. Chunked requests are whole when they end without trailers. */
export function answering(response: string | ((request: string) => string)): Answerer {
  return (connection) => {
    for (;;) {
      const end = connection.seen.indexOf("\r\n\r\n") + 4;
      if (end < 4) return;
      const head = connection.seen.slice(0, end);
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      const lastChunk = connection.seen.indexOf("0\r\n\r\n", end);
      const whole = /\r\ntransfer-encoding: chunked/i.test(head)
        ? lastChunk < 0
          ? Infinity
          : lastChunk + 5
        : end + length;
      if (connection.seen.length < whole) return;
      const request = connection.seen.slice(0, whole);
      connection.seen = connection.seen.slice(whole);
      connection.socket.write(typeof response === "string" ? response : response(request), "latin1");
    }
  };
}

/** Returns a 200 response with `body`. */
export function ok(body: string): string {
  return `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** A client that works with bytes. */
export class Client {
  readonly socket: Socket;
  received = "";
  isEnded = false;
  isClosed = false;
  #waiting: { readonly until: () => boolean; readonly resolve: () => void }[] = [];

  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    this.socket.setNoDelay(true);
    this.socket.on("error", () => {});
    this.socket.on("data", (bytes) => {
      this.received += bytes.toString("latin1");
      this.#look();
    });
    this.socket.on("end", () => {
      this.isEnded = true;
      this.#look();
    });
    this.socket.on("close", () => {
      this.isClosed = true;
      this.#look();
    });
  }

  send(text: string | Buffer): this {
    this.socket.write(typeof text === "string" ? Buffer.from(text, "latin1") : text);
    return this;
  }

  /** Resolves when `text` has arrived since `clear`; otherwise the test's own time limit ends the wait. */
  async until(text: string | RegExp): Promise<string> {
    await this.#wait(() => (typeof text === "string" ? this.received.includes(text) : text.test(this.received)));
    return this.received;
  }

  /** Returns everything up to the end of the connection. */
  async untilEnd(): Promise<string> {
    await this.#wait(() => this.isEnded || this.isClosed);
    return this.received;
  }

  clear(): this {
    this.received = "";
    return this;
  }

  async #wait(until: () => boolean): Promise<void> {
    if (!until()) await new Promise<void>((resolve) => this.#waiting.push({ until, resolve }));
  }

  #look(): void {
    for (const waiting of this.#waiting) if (waiting.until()) waiting.resolve();
    this.#waiting = this.#waiting.filter((waiting) => !waiting.until());
  }
}

/** Resolves when `condition` is true. Checks it once per turn of the event loop. */
export async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
