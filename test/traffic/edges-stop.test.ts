/** Several edges that are told to stop: the agents of one serve the visitors of all until the last has been answered. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import type { ServerResponse } from "node:http";
import { it } from "node:test";
import { protocols } from "../support/http-client.ts";
import { startPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";

for (const http of protocols) {
  it(`edges that are told to stop end behind the visitors of all of them, over ${http}`, async () => {
    const platform = await startPlatform({ edges: 2, drainMs: 20_000 });
    const held: ServerResponse[] = [];
    let came = (): void => {};
    const service = await startHttpService((_request, response) => {
      held.push(response);
      came();
    });
    const agent = await platform.startAgent({ upstream: service.port, agent: { connections: 1 } });
    const visits: ReturnType<typeof platform.request>[] = [];
    const overPeerLine = async (): Promise<number> => {
      const { text } = await platform.api("GET", "/metrics");
      return Number(/^postern_peer_streams_total (\d+)/m.exec(text)?.[1] ?? 0);
    };
    // Those who came to the agent's own edge are answered: it has nobody left to wait for.
    while (visits.length < 2) {
      const before = await overPeerLine();
      const arrived = new Promise<void>((resolve) => (came = resolve));
      const visit = platform.request(agent.url, { http });
      await arrived;
      if ((await overPeerLine()) > before) visits.push(visit);
      else {
        held.pop()?.end("at once");
        await visit;
      }
    }
    const stopped = platform.stopServer();
    while (await accepts(platform.httpsPort));
    for (const response of held) response.end("late");
    const answers = await Promise.all(visits);
    assert.deepEqual(
      answers.map(({ status, text }) => `${status} ${text}`),
      visits.map(() => "200 late"),
    );
    await stopped;
    await agent.close();
    await service.stop();
    await platform.stop();
  });
}

/** Whether a connection to the port on loopback is taken. */
async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
