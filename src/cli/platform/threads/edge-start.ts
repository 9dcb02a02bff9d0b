/** First start of a server's edges: all of them listen for agents before agents reach one, so that agents spread. */
import type { EdgePorts } from "./edge-thread.ts";
import type { Supervised } from "./supervise.ts";

export interface EdgeStart {
  /** Resolves with the ports of the first edge that waits for the others. */
  readonly first: Promise<EdgePorts>;
  /** Called when edge `at` waits for the others, again if its thread was restarted meanwhile. */
  prepared(at: number, ports: EdgePorts, tell: Supervised<EdgePorts>["tell"]): void;
}

/** @param count number of edges */
export function openEdgeStart(count: number): EdgeStart {
  const first = Promise.withResolvers<EdgePorts>();
  const waiting = new Map<number, Supervised<EdgePorts>["tell"]>();
  return {
    first: first.promise,
    prepared(at, ports, tell) {
      first.resolve(ports);
      waiting.set(at, tell);
      if (waiting.size === count) for (const one of waiting.values()) one({ type: "acceptAgents" });
    },
  };
}
