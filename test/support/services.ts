/** Services behind an agent or a static backend: HTTP services, and services that see every byte. */
import { once } from "node:events";
import type { RequestListener, Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { TlsOptions } from "node:tls";
import { createServer as createHttpServer } from "../../src/lib/http.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";

export interface HttpService {
  readonly port: number;
  /** For upgrades, and for other features of the server itself. */
  readonly server: Server;
  stop(): Promise<void>;
}

/** Starts an HTTP service on a free loopback port. */
export async function startHttpService(answer: RequestListener): Promise<HttpService> {
  const server = createHttpServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    server,
    async stop() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

export interface HttpsService extends Omit<HttpService, "server"> {
  /** PEM of the authority of the certificate. */
  readonly authorityPem: string;
}

/** Starts an HTTPS service on a free loopback port, with the name `localhost` and others. */
export async function startHttpsService(
  answer: RequestListener,
  otherNames: readonly string[] = [],
): Promise<HttpsService> {
  const now = Date.now();
  const authority = await createAuthority({ commonName: "test", now });
  const leaf = await issueLeaf(authority, { names: ["localhost", ...otherNames], now, days: 1 });
  const server = createHttpsServer({ cert: leaf.certificatePem, key: leaf.keyPem }, answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    authorityPem: authority.certificatePem,
    async stop() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

export interface TcpService {
  readonly port: number;
  /** Accepted connections, in order. */
  readonly connections: readonly Socket[];
  stop(): Promise<void>;
}

/**
 * Starts a service on a free loopback port. Half-open connections stay open. With `tls`, the service terminates TLS.
 */
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
