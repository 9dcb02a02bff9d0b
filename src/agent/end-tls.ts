/** TLS that terminates at the agent, so that neither the server nor the network can read the content. */
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream";
import { createServer } from "node:tls";
import type { TLSSocket } from "node:tls";
import type { LocalService } from "./local-service.ts";
import { dialUpstream } from "./upstream.ts";
import type { Upstream } from "./upstream.ts";

export interface AgentCertificate {
  /** PEM: the certificate first, then its chain. */
  readonly certificate: string;
  readonly key: string;
  /** PEM of the authorities that must have issued visitors' certificates. Default: no certificate is requested. */
  readonly authorities?: string | undefined;
}

/** Time limit for a visitor's handshake, milliseconds. */
const handshakeMs = 10_000;

/**
 * Returns the service `upstream` behind TLS. Throws an `Error` if certificate and key do not match.
 *
 * @param upstream accepts bare connections
 */
export function endTls({ certificate, key, authorities }: AgentCertificate, upstream: Upstream): LocalService {
  const server = createServer({
    cert: certificate,
    key,
    ...(authorities !== undefined && { ca: authorities, requestCert: true, rejectUnauthorized: true }),
    minVersion: "TLSv1.2",
    handshakeTimeout: handshakeMs,
    allowHalfOpen: true,
  });
  server.on("secureConnection", (visitor) => connectUpstream(visitor, upstream));
  server.on("tlsClientError", (_error, visitor) => void visitor.destroy());
  return {
    serve(connection) {
      connection.on("error", () => {});
      server.emit("connection", connection);
    },
  };
}

function connectUpstream(visitor: TLSSocket, upstream: Upstream): void {
  const service: Duplex = dialUpstream(upstream);
  // Each direction ends separately, but a failure of one breaks both, so that a partial transfer is never taken for a
  // complete one.
  const broken = (error: NodeJS.ErrnoException | null | undefined): void => {
    if (!error) return;
    visitor.destroy();
    service.destroy();
  };
  pipeline(visitor, service, broken);
  pipeline(service, visitor, broken);
}
