/** Decides how many edges a server runs, and whether they can listen on the same ports. */
import { once } from "node:events";
import { createServer } from "node:net";
import { availableParallelism } from "node:os";
import type { ListenAddress } from "../../settings/kinds/address.ts";
import { Failure } from "../process/exit.ts";

/** Whether the system distributes connections to several listeners on one port (SO_REUSEPORT). */
function sharesPorts(platform: string): boolean {
  return platform !== "darwin" && platform !== "win32";
}

/** One core is left for the control plane and other programs. */
export function defaultEdgeCount(): number {
  return sharesPorts(process.platform) ? Math.max(1, availableParallelism() - 1) : 1;
}

/**
 * Throws `Failure` (usage) if several edges are not possible. Rejects like `listen` if another program uses one of
 * their ports. If they shared the port, each would silently get part of the other's connections.
 */
export async function checkEdges(
  edges: number,
  addresses: readonly (ListenAddress | undefined)[],
  platform: string = process.platform,
): Promise<void> {
  if (edges === 1) return;
  if (!sharesPorts(platform)) {
    throw new Failure(
      "usage",
      `${edges} edges cannot share the same ports on this system: run one (--edges 1), or several servers on different ports`,
    );
  }
  for (const address of addresses) {
    if (!address || address.port === 0) continue;
    const server = createServer();
    server.listen({ ...(address.host !== undefined && { host: address.host }), port: address.port });
    await once(server, "listening");
    server.close();
    await once(server, "close");
  }
}
