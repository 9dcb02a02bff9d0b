/** How many edges a server runs, and whether they can listen on the same ports. */
import { once } from "node:events";
import { createServer } from "node:net";
import { availableParallelism } from "node:os";
import type { ListenAddress } from "../../settings/kinds/address.ts";
import { Failure } from "../process/exit.ts";

/** Whether the system gives each of several listeners on one port its part of the connections (SO_REUSEPORT). */
function sharesPorts(platform: string): boolean {
  return platform !== "darwin" && platform !== "win32";
}

/** One core is for the control plane, and for everything else on the machine. */
export function usualEdges(): number {
  return sharesPorts(process.platform) ? Math.max(1, availableParallelism() - 1) : 1;
}

/**
 * Throws `Failure` (usage) where several edges cannot be; rejects as listening does where another program has a port of
 * theirs: sharing it, they would each get a part of the other's connections and not see that anything is wrong.
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
