/** Agents of our own with one service behind each, and requests to the edge over either version of HTTP. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { RequestListener, Server } from "node:http";
import { request } from "node:https";
import { connect as connectH2 } from "node:http2";
import type { AddressInfo } from "node:net";
import { connect as connectTls } from "node:tls";
import { forward } from "../../src/agent/forward.ts";
import { parseUpstream } from "../../src/agent/upstream.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { connectSession } from "../../src/tunnel/client.ts";
import type { BoundTunnel, ClientBind, ClientSession } from "../../src/tunnel/client-hooks.ts";
import type { TestEdge } from "./edge.ts";

export interface TestAgent {
  readonly session: ClientSession;
  /** Tunnels that the server has ended, as `id code`. */
  readonly stopped: string[];
  /** Streams that were opened to the agent so far. */
  readonly opened: number;
  /** Resolves when the session is over. */
  readonly closed: Promise<void>;
  bind(more?: Partial<ClientBind>): Promise<BoundTunnel>;
  label(labels: Readonly<Record<string, string>>): Promise<string>;
  close(): void;
}

export interface Service {
  readonly port: number;
  stop(): Promise<void>;
}

export async function startService(answer: RequestListener): Promise<Service> {
  const server: Server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** Connects an agent that forwards everything to `port` on this machine. @param http false for bare connections */
export async function connectAgent(edge: TestEdge, token: string, port: number, http = true): Promise<TestAgent> {
  const socket = connectTls({
    host: "127.0.0.1",
    port: edge.edge.agent.port,
    servername: "localhost",
    ca: edge.authority.certificatePem,
  });
  await once(socket, "secureConnect");
  const upstream = parseUpstream(`http://127.0.0.1:${port}`);
  const over = Promise.withResolvers<void>();
  const stopped: string[] = [];
  let opened = 0;
  const session = await connectSession(
    socket,
    {
      clock: systemClock,
      token,
      clientId: "",
      cookie: "",
      metadata: "",
      version: "0.0.0",
      os: "linux",
      arch: "x64",
      commands: [],
    },
    {
      proxied(_tunnelId, _header, stream) {
        opened += 1;
        forward(stream, { upstream, clock: systemClock, http, watch: undefined, unreachable: () => {} });
      },
      command: () => Promise.resolve(),
      stopped: (id, _message, code) => void stopped.push(`${id} ${code}`),
      closed: () => over.resolve(),
    },
  );
  return {
    session,
    stopped,
    get opened() {
      return opened;
    },
    closed: over.promise,
    bind: (more = {}) => session.bind({ proto: "https", forwardsTo: upstream.text, ...more }),
    label: (labels) => session.startLabelled({ labels, forwardsTo: upstream.text }),
    close: () => session.close(),
  };
}

export interface EdgeAnswer {
  readonly status: number;
  readonly body: string;
}

export const protocols = ["h1", "h2"] as const;
export type Protocol = (typeof protocols)[number];

/** One request on a connection of its own. */
export function fetchOver(protocol: Protocol, edge: TestEdge, host: string, path = "/"): Promise<EdgeAnswer> {
  return protocol === "h1" ? overHttp1(edge, host, path) : overHttp2(edge, host, path);
}

function overHttp1(edge: TestEdge, host: string, path: string): Promise<EdgeAnswer> {
  const { port } = edge.edge.https;
  const ca = edge.authority.certificatePem;
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: "127.0.0.1", port, path, servername: host, ca, agent: false, headers: { host } });
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
      response.on("error", reject);
    });
    outgoing.end();
  });
}

async function overHttp2(edge: TestEdge, host: string, path: string): Promise<EdgeAnswer> {
  const { port } = edge.edge.https;
  const ca = edge.authority.certificatePem;
  const session = connectH2(`https://${host}`, {
    createConnection: () => connectTls({ host: "127.0.0.1", port, servername: host, ca, ALPNProtocols: ["h2"] }),
  });
  try {
    const stream = session.request({ ":path": path, ":authority": host });
    let body = "";
    stream.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    const ended = once(stream, "end");
    const [headers] = (await once(stream, "response")) as [Record<string, number>];
    await ended;
    return { status: headers[":status"] ?? 0, body };
  } finally {
    session.destroy();
  }
}
