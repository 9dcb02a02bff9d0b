/** More concurrent streams than the public agent SDK survives: its session ends with the 513th (R3). */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { connect as connectTcp } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import { createServer } from "../../src/lib/http.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { newCredential } from "../support/objects.ts";
import { startSdk } from "../support/sdk-process.ts";
import type { SdkProcess } from "../support/sdk-process.ts";

const atOnce = 700;
/** The maximum that the edge accepts on one connection. */
const perConnection = 100;
/** The maximum for the agent at one time, including abandoned streams. */
const taken = 400;

describe("bursts through one session of the public agent SDK", { timeout: 180_000 }, () => {
  const { token, object } = newCredential();
  let edge: TestEdge;
  let sdk: SdkProcess;

  before(async () => {
    edge = await startTestEdge([object], { tcpBind: "127.0.0.1" });
    sdk = await startSdk();
    const ca = edge.authority.certificatePem;
    await sdk.ask({ name: "connect", port: edge.edge.agent.port, ca, token });
  });
  after(async () => {
    await sdk.stop();
    await edge.edge.stop();
  });

  const connect = (host: string): ClientHttp2Session => {
    const { port } = edge.edge.https;
    const ca = edge.authority.certificatePem;
    return connectHttp2(`https://${host}`, {
      createConnection: () => connectTls({ host: "127.0.0.1", port, servername: host, ca, ALPNProtocols: ["h2"] }),
    });
  };
  /** A reconnect keeps id, tunnels and URLs, so only the reports show it. */
  const stays = (): void => {
    const sessions = edge.reports.filter(({ type }) => type === "session_opened" || type === "session_closed");
    assert.deepEqual(
      sessions.map(({ type }) => type),
      ["session_opened"],
    );
  };
  const isServed = async (host: string): Promise<void> => {
    const client = connect(host);
    assert.equal(await answered(client, host, "/alive"), 200);
    client.destroy();
    stays();
  };

  it("R3: requests are all answered, time and again, and the session stays", async () => {
    const host = "bursts.apps.example.com";
    await sdk.ask({ name: "http", domain: host });
    const clients = Array.from({ length: atOnce / perConnection }, () => connect(host));
    for (let round = 0; round < 12; round += 1) {
      const asked = clients.flatMap((client) =>
        Array.from({ length: perConnection }, () => answered(client, host, `/round/${round}`)),
      );
      assert.deepEqual([...new Set(await Promise.all(asked))], [200]);
      stays();
    }
    for (const client of clients) client.destroy();
  });

  it("R3: requests that their clients give up while the service works do not end the session", async (t) => {
    const held: ServerResponse[] = [];
    const service = createServer((request, response) => {
      if (request.url === "/alive") response.end();
      else held.push(response);
    });
    // Many services do not look at their client's end while they work.
    service.on("connection", (socket: Socket) => socket.removeAllListeners("end"));
    service.listen(0, "127.0.0.1");
    await once(service, "listening");
    t.after(() => {
      service.closeAllConnections();
      service.close();
    });
    const host = "silent.apps.example.com";
    await sdk.ask({ name: "http", domain: host, target: (service.address() as AddressInfo).port });
    for (let given = 0; given < atOnce; given += perConnection) {
      const client = connect(host);
      for (let at = 0; at < perConnection; at += 1) answered(client, host, "/").catch(() => {});
      // The agent forwards as many as it can, and the rest waits at the edge.
      const passedOn = Math.min(given + perConnection, taken);
      while (held.length < passedOn) await once(service, "request");
      await new Promise<void>((done) => client.ping(() => done()));
      client.destroy();
      await once(client, "close");
      stays();
    }
    for (const response of held) response.destroy();
    await isServed(host);
  });

  it("R3: tcp connections that are cut together do not end the session", async () => {
    const { url } = await sdk.ask({ name: "tcp" });
    const port = Number(new URL(url as string).port);
    for (let round = 0; round < 4; round += 1) {
      const sockets = Array.from({ length: atOnce }, () =>
        connectTcp({ host: "127.0.0.1", port }).on("error", () => {}),
      );
      await Promise.all(sockets.map((socket) => once(socket, "connect")));
      for (const socket of sockets) socket.resetAndDestroy();
    }
    const socket = connectTcp({ host: "127.0.0.1", port });
    socket.write("there?");
    assert.equal(String(((await once(socket, "data")) as [Buffer])[0]), "there?");
    socket.destroy();
    stays();
  });
});

async function answered(client: ClientHttp2Session, host: string, path: string): Promise<number> {
  const stream = client.request({ ":path": path, ":authority": host });
  const [fields] = (await once(stream, "response")) as [{ readonly ":status"?: number }];
  stream.resume();
  await once(stream, "end");
  return fields[":status"] ?? 0;
}
