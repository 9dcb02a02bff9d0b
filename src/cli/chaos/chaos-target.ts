import { connect } from "node:tls";
import type { TLSSocket } from "node:tls";
import { once } from "node:events";

/** What visitors request, and how they reach it. */
export interface ChaosTarget {
  readonly url: URL;
  /** Address to connect to, such as a load balancer's. */
  readonly host: string;
  readonly port: number;
  readonly ca: string | undefined;
  /** Path of a service that returns WebSocket messages. */
  readonly websocketPath: string | undefined;
  /** Pause between a response and the next request, milliseconds. */
  readonly thinkMs: number;
}

/** Maximum time of a connection, a response and an answer to a message, milliseconds. */
export const patienceMs = 30_000;

/** Opens a TLS connection. Rejects if it is not open in time. */
export async function connectTo(target: ChaosTarget, protocol: "http/1.1" | "h2"): Promise<TLSSocket> {
  const { url, host, port, ca } = target;
  const options = { host, port, servername: url.hostname, ALPNProtocols: [protocol], ...(ca !== undefined && { ca }) };
  const socket = connect(options);
  try {
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(patienceMs) });
  } catch (error) {
    socket.destroy();
    throw error;
  }
  socket.on("error", () => {});
  return socket;
}

/** Returns the cause of a failed response, or undefined for a success. Services may answer 2xx and 3xx. */
export function refusalOf(status: number, code: string | readonly string[] | undefined): string | undefined {
  if (status >= 200 && status < 400) return undefined;
  return code === undefined ? `status ${status}` : `status ${status} ${String(code)}`;
}
