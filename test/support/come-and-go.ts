/**
 * Nodes that come and go, and an agent with the addresses of all of them. One node always runs. The other one is killed and
 * started in turn. Returns for each arrival how long the agent took to have sessions at two nodes.
 */
import { setTimeout as delay } from "node:timers/promises";
import { parseServerAddress } from "../../src/agent/connect.ts";
import { freePort } from "./connections.ts";
import { eventually } from "./eventually.ts";
import { startNode } from "./nodes.ts";
import type { ServerNode } from "./nodes.ts";
import { databases } from "./postgres.ts";
import { startHttpService } from "./services.ts";

async function sessionsAt(node: ServerNode): Promise<number> {
  const { text } = await node.call("GET", "/metrics");
  return Number(/^postern_tunnel_sessions (\d+)$/m.exec(text)?.[1] ?? 0);
}

/**
 * @param rounds number of arrivals
 * @param seconds time for which the second node runs, and time without it
 */
export async function comeAndGo(rounds: number, seconds: number): Promise<readonly number[]> {
  const postgres = databases.find(({ name }) => name === "postgres");
  if (!postgres) throw new Error("come and go: PostgreSQL is not installed");
  const place = await postgres.create();
  const address = `127.0.0.1:${await freePort()}`;
  const start = (): Promise<ServerNode> => startNode(place.url, { POSTERN_AGENT_LISTEN: address });
  const stays = await startNode(place.url);
  const service = await startHttpService((_request, response) => response.end("served"));
  const agent = await stays.agent({
    upstream: service.port,
    url: "https://comes.example.com",
    agent: { otherServers: [parseServerAddress(address)] },
  });
  const took: number[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      const node = await start();
      const since = performance.now();
      await eventually(
        () => sessionsAt(node),
        (count) => count > 0,
        50,
      );
      took.push(performance.now() - since);
      await delay(Math.max(0, seconds * 1000 - (performance.now() - since)));
      await node.end("SIGKILL");
      await delay(seconds * 1000);
    }
  } finally {
    await agent.close();
    await stays.end("SIGKILL");
    await service.stop();
    await place.drop();
  }
  return took;
}
