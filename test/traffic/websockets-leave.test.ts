/** WebSockets that outlive an edge, an agent or a node: their clients get a close frame. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, describe, it } from "node:test";
import { buffer as readBuffer } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import type { Socket } from "node:net";
import { WebSocket } from "ws";
import { binaryHead, closeFrame } from "../../src/websocket/websocket-frames.ts";
import { connectAgent } from "../support/agents.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import type { Protocol } from "../support/http-client.ts";
import { httpsEdge, newCredential } from "../support/objects.ts";
import { startHttpService, startTcpService } from "../support/services.ts";
import { peerWays, startTwoEdges } from "../support/two-edges.ts";
import { accepting, upgrade } from "../support/upgraded.ts";
import type { UpgradedClient } from "../support/upgraded.ts";

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const goingAway = closeFrame(1001);
const whole = Buffer.concat([binaryHead(70_000), Buffer.alloc(70_000, 1)]);
/** A client's close frame with 1001, masked with zeros. */
const answer = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe9]);

interface Opened {
  readonly fixture: EdgeWithAgent;
  readonly client: UpgradedClient;
  readonly service: Socket;
}

async function open(protocol: Protocol): Promise<Opened> {
  const fixture = await startEdgeWithAgent({ drainMs: 100, limits: { agents: { finishMs: 1_000 } } });
  stops.push(() => fixture.stop());
  const accepted = accepting(fixture.service);
  const client = await upgrade(fixture, protocol);
  stops.push(() => client.destroy());
  const service = await accepted();
  stops.push(() => service.destroy());
  return { fixture, client, service };
}

/** Resolves when the client has received this many bytes. */
async function receives({ stream }: UpgradedClient, byteCount: number): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  stream.on("data", (part: Buffer) => (bytes = Buffer.concat([bytes, part])));
  stream.resume();
  while (bytes.length < byteCount) await new Promise(setImmediate);
  stream.removeAllListeners("data").pause();
  return bytes;
}

for (const protocol of protocols) {
  describe(`a WebSocket over ${protocol} whose edge stops`, { timeout: 60_000 }, () => {
    it(`S5: a WebSocket over ${protocol} whose edge stops is closed with 1001, and its client's answer reaches the service`, async () => {
      const { fixture, client, service } = await open(protocol);
      service.write(whole);
      assert.deepEqual(await receives(client, whole.length), whole);
      const answered = readBuffer(service);
      const closed = receives(client, goingAway.length).then((bytes) => {
        client.stream.end(answer);
        return bytes;
      });
      await fixture.edge.edge.stop();
      assert.deepEqual(await closed, goingAway);
      const [first, second] = await answered;
      assert.deepEqual([first, second], [0x88, 0x82]);
    });

    it(`a WebSocket over ${protocol} whose edge stops inside a frame is closed when the frame is complete`, async () => {
      const { fixture, client, service } = await open(protocol);
      service.write(whole.subarray(0, 10));
      await receives(client, 10);
      const rest = readBuffer(client.stream);
      const stopped = fixture.edge.edge.stop();
      let sent = 10;
      // Bytes continue to arrive in pieces that do not end with the frame, until the edge has left.
      while (sent < whole.length) {
        service.write(whole.subarray(sent, sent + 7_000));
        sent += 7_000;
        await new Promise((resume) => setTimeout(resume, 15));
      }
      service.write(whole);
      assert.deepEqual((await rest).subarray(-goingAway.length), goingAway);
      assert.deepEqual(await rest, Buffer.concat([whole.subarray(10), ...extra(await rest), goingAway]));
      client.stream.end();
      await stopped;
    });

    it(`a WebSocket over ${protocol} whose edge stops is cut if its frame is never complete`, async () => {
      const { fixture, client, service } = await open(protocol);
      service.write(whole.subarray(0, 10));
      await receives(client, 10);
      const rest = readBuffer(client.stream).catch(() => Buffer.alloc(0));
      await fixture.edge.edge.stop();
      client.destroy();
      assert.equal((await rest).length, 0);
    });

    it(`a WebSocket over ${protocol} whose edge stops gets no second close frame`, async () => {
      const { fixture, client, service } = await open(protocol);
      service.write(closeFrame(4000));
      await receives(client, 4);
      const rest = readBuffer(client.stream).catch(() => Buffer.alloc(0));
      await fixture.edge.edge.stop();
      client.destroy();
      assert.equal((await rest).length, 0);
    });
  });

  describe(`a WebSocket over ${protocol} whose agent leaves`, { timeout: 60_000 }, () => {
    it(`a WebSocket over ${protocol} whose agent leaves is closed with 1001, and released without an answer`, async () => {
      const { fixture, client, service } = await open(protocol);
      service.write(whole);
      await receives(client, whole.length);
      const rest = readBuffer(client.stream);
      fixture.agent.close();
      assert.deepEqual(await rest, goingAway);
    });
  });
}

/** Whole frames between the first one and the close frame. */
function extra(bytes: Buffer): readonly Buffer[] {
  return bytes.length > whole.length ? [whole] : [];
}

describe("a WebSocket of the ws client", { timeout: 60_000 }, () => {
  it("a WebSocket of the ws client ends cleanly with 1001 when the edge stops", async () => {
    const fixture = await startEdgeWithAgent({ drainMs: 100 });
    stops.push(() => fixture.stop());
    const accepted = accepting(fixture.service);
    const client = new WebSocket(`wss://${host}/`, {
      createConnection: () =>
        connectTls({
          host: "127.0.0.1",
          port: fixture.edge.edge.https.port,
          servername: host,
          ca: fixture.edge.authority.certificatePem,
        }),
    });
    await once(client, "open");
    const service = await accepted();
    stops.push(() => service.destroy());
    const closed = once(client, "close");
    await fixture.edge.edge.stop();
    assert.equal((await closed)[0], 1001);
  });
});

describe("a WebSocket through an agent at another edge", { timeout: 60_000 }, () => {
  for (const way of peerWays) {
    it(`a WebSocket through an agent at another edge over ${way} is closed with 1001 when that edge stops`, async () => {
      const credential = newCredential();
      const both = await startTwoEdges([credential.object, ...httpsEdge("shop", [host])], { drainMs: 100 }, way);
      const [here, there] = both.edges;
      const service = await startHttpService((_asked, response) => response.end());
      accepting(service.server);
      stops.push(
        () => service.stop(),
        () => here.edge.stop(),
      );
      const agent = await connectAgent(there, credential.token, service.port);
      await agent.label({ app: "shop" });
      const client = await upgrade({ edge: here } as EdgeWithAgent, "h1");
      stops.push(() => client.destroy());
      assert.equal(client.status, 101);
      const rest = readBuffer(client.stream);
      await there.edge.stop();
      assert.deepEqual(await rest, goingAway);
    });
  }
});

describe("a converted WebSocket", { timeout: 60_000 }, () => {
  it("a converted WebSocket is closed with 1001 when its edge stops", async () => {
    const fixture = await startEdgeWithAgent({ drainMs: 100 });
    stops.push(() => fixture.stop());
    const tcp = await startTcpService((socket) => socket.pipe(socket));
    stops.push(() => tcp.stop());
    const agent = await connectAgent(fixture.edge, fixture.token, tcp.port, false);
    stops.push(() => agent.close());
    await agent.label({ app: "tcp" });
    fixture.put("tunnel_group_backend", "bkdtg_2", { labels: { app: "tcp" } });
    fixture.route({ backend: { enabled: true, backend_id: "bkdtg_2" }, websocket_tcp_converter: {} });
    const client = await upgrade(fixture, "h1");
    stops.push(() => client.destroy());
    assert.equal(client.status, 101);
    client.stream.write(Buffer.concat([Buffer.from([0x82, 0x82, 0, 0, 0, 0]), Buffer.from("hi")]));
    assert.deepEqual(await receives(client, 4), Buffer.concat([binaryHead(2), Buffer.from("hi")]));
    const rest = readBuffer(client.stream);
    await fixture.edge.edge.stop();
    assert.deepEqual(await rest, goingAway);
  });
});
