/** A proxy between a store and PostgreSQL that can intervene just before a COMMIT reaches the server. */
import { once } from "node:events";
import { createServer, connect } from "node:net";
import type { Socket } from "node:net";
import { join } from "node:path";

export interface CommitProxy {
  readonly url: string;
  /** Number of COMMITs with an intervention. */
  readonly commits: number;
  /** Number of connections with such a COMMIT that the store has abandoned. */
  readonly broken: number;
  /** Runs `act` at the next COMMIT. Then the proxy delivers the COMMIT to the server or drops it. */
  atNextCommit(act: () => "delivered" | "dropped"): void;
  stop(): Promise<void>;
}

/** @param directory for the proxy's socket */
export async function startCommitProxy(serverUrl: string, directory: string): Promise<CommitProxy> {
  const socketOf = (host: string): string => join(host, ".s.PGSQL.5432");
  const target = new URL(serverUrl).searchParams.get("host") as string;
  const url = new URL(serverUrl);
  url.searchParams.set("host", directory);
  let act: (() => "delivered" | "dropped") | undefined;
  let commits = 0;
  let broken = 0;
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: false }, (client) => {
    const upstream = connect(socketOf(target));
    let isDropping = false;
    let hasCommit = false;
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", () => undefined);
    }
    client.on("data", (bytes) => {
      if (act && bytes.includes("commit\0")) {
        isDropping = act() === "dropped";
        hasCommit = true;
        act = undefined;
        commits += 1;
      }
      if (!isDropping) upstream.write(bytes);
    });
    upstream.on("data", (bytes) => void client.write(bytes));
    client.on("close", () => {
      if (hasCommit) broken += 1;
      open.delete(client);
      upstream.destroy();
    });
    upstream.on("close", () => {
      open.delete(upstream);
      client.destroy();
    });
  });
  server.listen(socketOf(directory));
  await once(server, "listening");
  return {
    url: url.href,
    get commits() {
      return commits;
    },
    get broken() {
      return broken;
    },
    atNextCommit: (step) => void (act = step),
    async stop() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
