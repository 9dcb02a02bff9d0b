import { isIP } from "node:net";
import { connect, getCACertificates } from "node:tls";
import type { TLSSocket } from "node:tls";

/** Time for name lookup, TCP and TLS together, milliseconds. */
const connectTimeoutMs = 10_000;

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** Reads `host:port`, `host` (port 443) or `[v6]:port`. Throws `Error` with what it must be. */
export function parseServerAddress(given: string): ServerAddress {
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/\s]+))(?::(\d{1,5}))?$/.exec(given);
  const port = Number(parts?.[3] ?? 443);
  if (!parts || port === 0 || port > 65_535) throw new Error("must be HOST:PORT, with an IPv6 address in brackets");
  return { host: (parts[1] ?? parts[2]) as string, port };
}

/**
 * A TLS connection to the server, its name verified against the CA `ca` (PEM) or, without one, the system's (G3).
 * The name is looked up anew for each connection.
 */
export async function connectServer(
  address: ServerAddress,
  ca: string | undefined,
  signal: AbortSignal,
): Promise<TLSSocket> {
  signal.throwIfAborted();
  const { host, port } = address;
  const socket = connect({
    host,
    port,
    ...(isIP(host) ? {} : { servername: host }),
    ca: ca === undefined ? [...getCACertificates("system"), ...getCACertificates("bundled")] : ca,
    minVersion: "TLSv1.2",
    rejectUnauthorized: true,
  });
  socket.setNoDelay(true);
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const abort = (): void => void socket.destroy(new Error("given up"));
  signal.addEventListener("abort", abort, { once: true });
  socket.setTimeout(connectTimeoutMs, () => socket.destroy(new Error(`no answer within ${connectTimeoutMs / 1000} s`)));
  socket.once("error", reject);
  socket.once("close", () => reject(new Error("the server closed the connection")));
  socket.once("secureConnect", () => resolve(socket));
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", abort);
    socket.setTimeout(0);
    socket.removeListener("error", reject);
  }
}
