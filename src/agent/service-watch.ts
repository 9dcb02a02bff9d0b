/**
 * Tracks whether the service can be reached, by a connection at the start and by failed connections, without polling.
 */
import type { Socket } from "node:net";
import type { Clock, Timer } from "../lib/clock.ts";
import { describeServiceFault } from "./service-fault.ts";
import { dialUpstream } from "./upstream.ts";
import type { Upstream } from "./upstream.ts";

/** Pause before the service is tried again after a failure, milliseconds. */
export const retryMs = 2_000;

export type ServiceState = { readonly reachable: true } | { readonly reachable: false; readonly reason: string };

export interface ServiceWatch {
  /** Reports that a connection to the service failed. */
  failed(error: Error): void;
  stop(): void;
}

/**
 * Tries the service, and keeps trying while it cannot be reached. `changed` is called when it goes away or comes back.
 */
export function watchService(upstream: Upstream, clock: Clock, changed: (state: ServiceState) => void): ServiceWatch {
  let reachable = true;
  let stopped = false;
  let timer: Timer | undefined;
  let probe: Probe | undefined;

  const tryIt = (): void => {
    timer = undefined;
    probe = dialService(upstream, (error) => {
      probe = undefined;
      if (stopped) return;
      if (error !== undefined) return failed(error);
      if (!reachable) changed({ reachable: true });
      reachable = true;
    });
  };
  const failed = (error: Error): void => {
    if (stopped) return;
    if (reachable) changed({ reachable: false, reason: describeServiceFault(upstream, error) });
    reachable = false;
    if (!probe) timer ??= clock.after(retryMs, tryIt);
  };
  tryIt();
  return {
    failed,
    stop() {
      stopped = true;
      timer?.cancel();
      probe?.abandon();
    },
  };
}

/** Resolves when the service accepts a connection, which is then closed. Rejects with the cause. */
export function reachService(upstream: Upstream): Promise<void> {
  if (upstream.local) return Promise.resolve();
  return new Promise((resolve, reject) => {
    dialService(upstream, (error) => (error === undefined ? resolve() : reject(error)));
  });
}

interface Probe {
  abandon(): void;
}

/** Opens one connection. `done` is called once. */
function dialService(upstream: Upstream, done: (error: Error | undefined) => void): Probe {
  const socket: Socket = dialUpstream(upstream);
  let error: Error | undefined = new Error("the service closed the connection");
  socket.once(upstream.tls ? "secureConnect" : "connect", () => {
    error = undefined;
    socket.destroy();
  });
  socket.on("error", (cause) => (error = cause));
  socket.once("close", () => done(error));
  return { abandon: () => void socket.destroy() };
}
