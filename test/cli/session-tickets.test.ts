/** TLS sessions of visitors and agents at servers with several edges or nodes. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { describe, it } from "node:test";
import { freePorts } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startNode, startServer } from "../support/nodes.ts";
import type { ServerNode } from "../support/nodes.ts";
import { databases } from "../support/postgres.ts";

const postgres = databases.find(({ name }) => name === "postgres");
const kinds = ["visitors", "agents"] as const;

/** Opens a connection at the port of `kind`. Without `session`, waits for a session that can be resumed. */
async function open(node: ServerNode, kind: (typeof kinds)[number], session?: Buffer) {
  const port = kind === "visitors" ? node.httpsPort : node.agents.port;
  const at = { host: "127.0.0.1", port, servername: "shop.localhost", ca: node.agents.ca };
  const socket = connect({ ...at, ...(session && { session }) });
  socket.on("error", () => undefined).resume();
  const made = session ? undefined : (once(socket, "session") as Promise<[Buffer]>);
  await once(socket, "secureConnect");
  const opened = { isResumed: socket.isSessionReused(), session: (await made)?.[0] };
  socket.destroy();
  return opened;
}

describe("TLS sessions", () => {
  for (const kind of kinds) {
    it(`K6: TLS sessions of ${kind} resume at each edge of a server`, async () => {
      const data = mkdtempSync(join(tmpdir(), "postern-tickets-"));
      const server = await startServer(["--data", data, "--edges", "2", "--domain", "localhost"], undefined, {
        ...freePorts,
        POSTERN_DRAIN_DELAY: "0",
      });
      // The kernel chooses the edge. Forty connections practically never all reach the same one of two.
      const resumed = async (): Promise<readonly boolean[]> => {
        const { session } = await open(server, kind);
        return Promise.all(Array.from({ length: 40 }, async () => (await open(server, kind, session)).isResumed));
      };
      await eventually(resumed, (all) => all.every(Boolean));
      await server.end();
      rmSync(data, { recursive: true, force: true });
    });

    if (!postgres) continue;

    it(`K6: TLS sessions of ${kind} at one node resume at another`, async () => {
      const place = await postgres.create();
      const env = { POSTERN_DOMAIN: "localhost" };
      const [one, other] = await Promise.all([startNode(place.url, env), startNode(place.url, env)]);
      const resumed = async (): Promise<boolean> => {
        const { session } = await open(one, kind);
        return (await open(other, kind, session)).isResumed;
      };
      await eventually(resumed, (isResumed) => isResumed);
      await Promise.all([one.end(), other.end()]);
      await place.drop();
    });
  }
});
