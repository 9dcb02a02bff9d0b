import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { normaliseAddress } from "../lib/address.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Metrics } from "../lib/metrics.ts";
import { makeAdmission } from "./admission.ts";
import type { ConnectionLimits } from "./limits.ts";

export interface ListenAddress {
  /** Every address of the machine unless given. */
  readonly host?: string | undefined;
  /** 0 for any free one. */
  readonly port: number;
}

export interface ListenerOptions {
  /** In logs and metrics: "https", "http", "agent". */
  readonly name: string;
  readonly at: ListenAddress;
  readonly limits: ConnectionLimits;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Until then connections are accepted and wait, as long as for a ClientHello; then they are closed. */
  readonly ready: Promise<void>;
  /**
   * A connection that was admitted: paused, half-open allowed, errors already listened to (they are followed by
   * `close`). `source` is the peer's address, unmapped.
   */
  accept(socket: Socket, source: string): void;
}

export interface Listener {
  readonly host: string;
  readonly port: number;
  /** Takes no more connections; those that are open go on. Harmless when repeated. */
  close(): void;
  /** Closes everything at once. */
  destroy(): void;
}

/** Connections that wait to be accepted; the system may allow fewer. */
const backlog = 4096;
const acceptErrorLogMs = 10_000;

/** Listens for TCP connections, within the limits. Rejects when the address cannot be had. */
export async function startListener(options: ListenerOptions): Promise<Listener> {
  const { name, at, limits, clock, log, metrics } = options;
  const admission = makeAdmission(limits, () => clock.monotonic());
  const open = new Set<Socket>();
  const refused = (reason: string): void => {
    metrics
      .counter("postern_connections_refused_total", "Connections closed at once.", { listener: name, reason })
      .add();
  };
  const accepted = metrics.counter("postern_connections_total", "Connections accepted.", { listener: name });
  metrics.gauge("postern_connections_open", "Connections open.", () => open.size, { listener: name });

  let isReady = false;
  const opened = options.ready.then(() => {
    isReady = true;
  });
  const wait = async (socket: Socket, source: string): Promise<void> => {
    const late = clock.after(limits.helloTimeoutMs, () => socket.destroy());
    socket.once("close", () => late.cancel());
    await opened;
    late.cancel();
    if (!socket.destroyed) options.accept(socket, source);
  };
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (socket) => {
    const source = normaliseAddress(socket.remoteAddress ?? "");
    const reason = source === undefined ? "gone" : admission.enter(source);
    if (source === undefined || reason !== undefined) {
      refused(reason ?? "gone");
      socket.on("error", ignore);
      socket.destroy();
      return;
    }
    accepted.add();
    open.add(socket);
    socket.on("error", ignore);
    socket.once("close", () => {
      open.delete(socket);
      admission.leave(source);
    });
    if (isReady) options.accept(socket, source);
    else void wait(socket, source);
  });
  server.listen({ ...(at.host !== undefined && { host: at.host }), port: at.port, backlog });
  await once(server, "listening");

  let loggedAt = -Infinity;
  server.on("error", (error) => {
    // D4: out of file descriptors; the connection that could not be taken is closed by libuv, others go on
    refused("accept_failed");
    if (clock.monotonic() - loggedAt < acceptErrorLogMs) return;
    loggedAt = clock.monotonic();
    log.error("connection not accepted", { listener: name, error });
  });
  const { address, port } = server.address() as AddressInfo;
  return {
    host: address,
    port,
    close() {
      if (server.listening) server.close();
    },
    destroy() {
      if (server.listening) server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

function ignore(): void {
  // `close` follows, and is what counts
}
