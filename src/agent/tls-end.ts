/** TLS that the agent ends itself: neither the server nor anybody on the way sees what is in it. */
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream";
import { createServer } from "node:tls";
import type { TLSSocket } from "node:tls";
import type { LocalService } from "./local-service.ts";
import { dialUpstream } from "./upstream.ts";
import type { Upstream } from "./upstream.ts";

export interface AgentCertificate {
  /** PEM, the certificate first and then its chain. */
  readonly certificate: string;
  readonly key: string;
  /** PEM of the authorities that visitors must show a certificate from; none is asked for unless given. */
  readonly authorities?: string | undefined;
}

/** How long a visitor may take for the handshake, milliseconds. */
const handshakeMs = 10_000;

/**
 * The service `upstream`, behind TLS that ends here. Throws `Error` where the certificate and key do not fit.
 *
 * @param upstream takes bare connections
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
  server.on("secureConnection", (visitor) => connect(visitor, upstream));
  server.on("tlsClientError", (_error, visitor) => void visitor.destroy());
  return {
    serve(connection) {
      connection.on("error", () => {});
      server.emit("connection", connection);
    },
  };
}

function connect(visitor: TLSSocket, upstream: Upstream): void {
  const service: Duplex = dialUpstream(upstream);
  // Each direction ends for itself; what breaks one breaks both, so that no part is taken for the whole.
  const broken = (error: NodeJS.ErrnoException | null | undefined): void => {
    if (!error) return;
    visitor.destroy();
    service.destroy();
  };
  pipeline(visitor, service, broken);
  pipeline(service, visitor, broken);
}
