/** One edge with one route, an agent and a service behind it: what the modules on the route do to real traffic. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import type { IncomingHttpHeaders as Http2Headers } from "node:http2";
import { request as requestHttps } from "node:https";
import { connect as connectTcp } from "node:net";
import type { AddressInfo } from "node:net";
import { connect as connectTls } from "node:tls";
import type { ConnectionOptions, TLSSocket } from "node:tls";
import type { EdgeOptions } from "../../src/edge/edge.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Clock } from "../../src/lib/clock.ts";
import type { ResourceObject } from "../../src/schema/object.ts";
import { connectAgent } from "./agents.ts";
import type { Protocol, TestAgent } from "./agents.ts";
import { newCredential, startTestEdge } from "./edge.ts";
import type { TestEdge } from "./edge.ts";

export const host = "app.example.com";
export const routeId = "edghtsrt_1";

/** A request as it reached the service. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export interface Asked {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Id of the request, as visitors are told it. */
  readonly id: string;
}

export interface AskOptions {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
  readonly host?: string;
  /** Address that it comes from: one of 127.0.0.0/8. */
  readonly source?: string;
  /** Sent on the connection before TLS begins. */
  readonly preface?: string;
  /** More for the TLS handshake. */
  readonly tls?: ConnectionOptions;
}

/** The system's clock, which can be moved on and stopped. */
export interface MovableClock extends Clock {
  move(milliseconds: number): void;
  /** What `run` does happens at one moment: time goes on from there when it has ended. */
  hold<Result>(run: () => Promise<Result>): Promise<Result>;
}

export function movableClock(): MovableClock {
  let ahead = 0;
  let heldAt: number | undefined;
  const elapsed = (): number => heldAt ?? systemClock.monotonic();
  const wallOffset = systemClock.now() - systemClock.monotonic();
  const periodic = new Set<() => void>();
  return {
    ...systemClock,
    now: () => Math.floor(wallOffset + elapsed() + ahead),
    monotonic: () => elapsed() + ahead,
    async hold(run) {
      const from = systemClock.monotonic();
      heldAt = from;
      try {
        return await run();
      } finally {
        heldAt = undefined;
        ahead -= systemClock.monotonic() - from;
      }
    },
    every(periodMs, run) {
      periodic.add(run);
      const timer = systemClock.every(periodMs, run);
      return {
        cancel() {
          periodic.delete(run);
          timer.cancel();
        },
      };
    },
    move(milliseconds) {
      ahead += milliseconds;
      // Whoever looks at the time now and then has to see that it went on before anybody relies on that.
      for (const run of periodic) run();
    },
  };
}

export interface Fixture {
  readonly edge: TestEdge;
  readonly agent: TestAgent;
  readonly clock: MovableClock;
  readonly token: string;
  /** Every request that reached the service. */
  readonly received: Received[];
  /** Sets how the service answers from now on; undefined: 200 and "served". */
  readonly answer: (handler: ((request: Received, response: ServerResponse) => void) | undefined) => void;
  /** The service's own server: for upgrades and for closing it. */
  readonly service: Server;
  readonly servicePort: number;
  readonly put: (kind: string, id: string, doc: Readonly<Record<string, unknown>>) => void;
  /** Replaces the route's modules. */
  readonly route: (blocks: Readonly<Record<string, unknown>>) => void;
  readonly ask: (protocol: Protocol, options?: AskOptions) => Promise<Asked>;
  readonly connect: (protocol: Protocol, options?: AskOptions) => Promise<TLSSocket>;
  readonly stop: () => Promise<void>;
}

export async function startFixture(options: Partial<EdgeOptions> = {}): Promise<Fixture> {
  const clock = movableClock();
  const { token, object } = newCredential();
  const edge = await startTestEdge([object], { clock, ...options });
  const received: Received[] = [];
  let handler: ((request: Received, response: ServerResponse) => void) | undefined;
  const service = createServer(keeping(received, () => handler));
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  const servicePort = (service.address() as AddressInfo).port;
  const agent = await connectAgent(edge, token, servicePort);
  await agent.label({ app: "web" });
  const put = (kind: string, id: string, doc: Readonly<Record<string, unknown>>): void => edge.put({ kind, id, doc });
  put("tunnel_group_backend", "bkdtg_1", { labels: { app: "web" } });
  put("https_edge", "edghts_1", { hostports: [`${host}:443`], mutual_tls: null, tls_termination: null });
  const route = (blocks: Readonly<Record<string, unknown>>): void =>
    put("https_edge_route", routeId, {
      edge_id: "edghts_1",
      match_type: "path_prefix",
      match: "/",
      backend: { enabled: true, backend_id: "bkdtg_1" },
      ...blocks,
    });
  route({});
  const fixture: Fixture = {
    edge,
    agent,
    clock,
    token,
    received,
    answer: (given) => void (handler = given),
    service,
    servicePort,
    put,
    route,
    ask: (protocol, given = {}) => ask(fixture, protocol, given),
    connect: (protocol, given = {}) => connectEdge(edge, protocol, given),
    async stop() {
      agent.close();
      service.closeAllConnections();
      service.close();
      await edge.edge.stop();
    },
  };
  return fixture;
}

/** Objects of an IP policy with these rules. */
export function ipPolicy(
  id: string,
  rules: Readonly<Record<string, "allow" | "deny">>,
): Pick<ResourceObject, "kind" | "id" | "doc">[] {
  return [
    { kind: "ip_policy", id, doc: {} },
    ...Object.entries(rules).map(([cidr, action], index) => ({
      kind: "ip_policy_rule",
      id: `ipr_${id}_${index}`,
      doc: { ip_policy_id: id, cidr, action },
    })),
  ];
}

function keeping(
  received: Received[],
  handler: () => ((request: Received, response: ServerResponse) => void) | undefined,
): RequestListener {
  return (request, response) => {
    void readBody(request).then(
      (body) => {
        const { method = "", url = "", headers, rawHeaders } = request;
        const one = { method, url, headers, rawHeaders, body };
        received.push(one);
        const answer = handler();
        if (answer) answer(one, response);
        else response.end("served");
      },
      () => response.destroy(),
    );
  };
}

async function readBody(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function connectEdge(edge: TestEdge, protocol: Protocol, options: AskOptions): Promise<TLSSocket> {
  const bare = connectTcp({
    host: "127.0.0.1",
    port: edge.edge.https.port,
    ...(options.source !== undefined && { localAddress: options.source }),
  });
  if (options.preface !== undefined) bare.write(options.preface);
  const socket = connectTls({
    socket: bare,
    servername: options.host ?? host,
    ca: edge.authority.certificatePem,
    ALPNProtocols: [protocol === "h2" ? "h2" : "http/1.1"],
    ...options.tls,
  } as ConnectionOptions);
  await once(socket, "secureConnect");
  return socket;
}

async function ask(fixture: Fixture, protocol: Protocol, options: AskOptions): Promise<Asked> {
  const socket = await connectEdge(fixture.edge, protocol, options);
  try {
    return protocol === "h1" ? await overHttp1(socket, options) : await overHttp2(socket, options);
  } finally {
    socket.destroy();
  }
}

async function overHttp1(socket: TLSSocket, options: AskOptions): Promise<Asked> {
  const { method = "GET", path = "/", headers = {}, body } = options;
  const outgoing = requestHttps({
    createConnection: () => socket,
    method,
    path,
    headers: {
      host: options.host ?? host,
      ...(headers as Record<string, string>),
      ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
    },
  });
  outgoing.on("error", () => {});
  const answered = Promise.race([once(outgoing, "response"), failureOf(outgoing)]);
  outgoing.end(body);
  const [response] = (await answered) as [IncomingMessage];
  return asked(response.statusCode ?? 0, response.headers, await readBody(response));
}

async function overHttp2(socket: TLSSocket, options: AskOptions): Promise<Asked> {
  const { method = "GET", path = "/", headers = {}, body } = options;
  const session = connectHttp2(`https://${options.host ?? host}`, { createConnection: () => socket });
  session.on("error", () => {});
  const stream = session.request(
    {
      ":method": method,
      ":path": path,
      ":authority": options.host ?? host,
      ...headers,
      ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
    },
    { endStream: body === undefined },
  );
  const answered = Promise.race([once(stream, "response"), failureOf(stream)]);
  if (body !== undefined) stream.end(body);
  const [fields] = (await answered) as [Http2Headers];
  try {
    return asked(Number(fields[":status"] ?? 0), fields, await readBody(stream as AsyncIterable<Buffer>));
  } finally {
    session.destroy();
  }
}

function asked(status: number, headers: IncomingHttpHeaders, body: Buffer): Asked {
  return { status, headers, body, id: String(headers["x-request-id"] ?? "") };
}

/** Rejects when it fails, or closes without a word. */
async function failureOf(emitter: NodeJS.EventEmitter): Promise<never> {
  const [error] = (await Promise.race([once(emitter, "error"), once(emitter, "close")])) as [Error | undefined];
  throw error ?? new Error("closed without a response");
}
