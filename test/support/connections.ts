/** TCP and TLS edges as configuration, services behind them, and clients that see every byte. */
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { TlsOptions } from "node:tls";
import type { ResourceObject } from "../../src/schema/object.ts";

const account = "ac_1";

function object(kind: string, id: string, doc: Record<string, unknown>): ResourceObject {
  return { kind, id, account_id: account, revision: 1, doc };
}

/** A TCP or TLS edge whose backend is the tunnels with the label `app=ID`. */
export function connectionEdge(
  kind: "tcp_edge" | "tls_edge",
  id: string,
  hostports: readonly string[],
  blocks: Readonly<Record<string, unknown>> = {},
): ResourceObject[] {
  const backend = { enabled: true, backend_id: `bkdtg_${id}` };
  return [
    object("tunnel_group_backend", `bkdtg_${id}`, { labels: { app: id } }),
    object(kind, `edg_${id}`, { hostports, backend, ...blocks }),
  ];
}

/** A policy, and the block that lets in whom it allows. */
export function restriction(id: string, cidrs: Readonly<Record<string, "allow" | "deny">>) {
  const rules = Object.entries(cidrs).map(([cidr, action], index) =>
    object("ip_policy_rule", `ipr_${id}_${index}`, { cidr, action, ip_policy_id: id }),
  );
  return { objects: [object("ip_policy", id, {}), ...rules], block: { enabled: true, ip_policy_ids: [id] } };
}

export function certificateAuthority(id: string, pem: string): ResourceObject {
  return object("certificate_authority", id, { ca_pem: pem });
}

export interface TcpService {
  readonly port: number;
  /** Connections that came, in order. */
  readonly connections: readonly Socket[];
  stop(): Promise<void>;
}

/** A service on a free loopback port; half-open connections are kept. With `tls` it terminates TLS. */
export async function startTcpService(serve: (socket: Socket) => void, tls?: TlsOptions): Promise<TcpService> {
  const connections: Socket[] = [];
  const take = (socket: Socket): void => {
    connections.push(socket);
    socket.on("error", () => {});
    serve(socket);
  };
  const server = tls
    ? createTlsServer({ ...tls, allowHalfOpen: true }, take)
    : createServer({ allowHalfOpen: true }, take);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    connections,
    async stop() {
      for (const socket of connections) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

export interface Ended {
  readonly text: string;
  /** Code of the error that it ended with. */
  readonly error: string | undefined;
}

/** Everything that comes until the connection is over in that direction, and how it ended. */
export function readToEnd(socket: Socket): Promise<Ended> {
  let text = "";
  return new Promise((resolve) => {
    socket.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
    socket.on("end", () => resolve({ text, error: undefined }));
    socket.on("error", (error: NodeJS.ErrnoException) => resolve({ text, error: error.code }));
    socket.on("close", () => resolve({ text, error: undefined }));
  });
}

/** A connection to a loopback port; rejects when it is refused. */
export async function dialPort(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  await once(socket, "connect");
  return socket;
}

/** What a connection gets that sends `text`; one that is cut off at once gets nothing. */
export function visit(port: number, text = ""): Promise<Ended> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.write(text);
  const ended = readToEnd(socket);
  void ended.then(() => socket.destroy());
  return ended;
}

/** Resolves when connections to the port are taken, whatever becomes of them, or are refused. */
export async function portIs(state: "open" | "closed", port: number): Promise<void> {
  for (;;) {
    const socket = connect({ port, host: "127.0.0.1" });
    const refused = await once(socket, "connect").then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === "ECONNREFUSED",
    );
    socket.destroy();
    if (refused === (state === "closed")) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
