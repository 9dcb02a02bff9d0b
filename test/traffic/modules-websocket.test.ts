import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { HttpExchange } from "../../src/edge/http/http-exchange.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import { opcodes, openWebSocket } from "../support/websocket.ts";

const converter = { websocket_tcp_converter: { enabled: true } };
let fixture: EdgeWithAgent;
let agent: TestAgent;
let serve: (socket: Socket) => void = () => {};
const sockets = new Set<Socket>();
const tcp = createServer((socket) => {
  sockets.add(socket);
  socket.on("error", () => {});
  socket.on("close", () => sockets.delete(socket));
  serve(socket);
});

before(async () => {
  fixture = await startEdgeWithAgent({ allowLocalUpstreams: true });
  await once(tcp.listen(0, "127.0.0.1"), "listening");
  const { port } = tcp.address() as AddressInfo;
  agent = await connectAgent(fixture.edge, fixture.token, port);
  await agent.label({ app: "tcp" });
  fixture.put("tunnel_group_backend", "bkdtg_tcp", { labels: { app: "tcp" } });
  fixture.put("static_backend", "bkdsc_tcp", { address: `127.0.0.1:${port}`, tls: { enabled: false } });
});
after(async () => {
  agent.close();
  for (const socket of sockets) socket.destroy();
  tcp.close();
  await fixture.stop();
});

for (const protocol of protocols) {
  for (const backend of ["bkdtg_tcp", "bkdsc_tcp"]) {
    describe(`the WebSocket converter over ${protocol}, with ${backend} behind`, () => {
      before(() => fixture.route({ ...converter, backend: { enabled: true, backend_id: backend } }));

      it(`W6: the WebSocket converter over ${protocol}, with ${backend} behind, turns binary messages into bytes and bytes into binary messages`, async () => {
        serve = (socket) => socket.pipe(socket);
        const client = await openWebSocket(fixture, protocol);
        // The key and response of RFC 6455 §1.3. HTTP/2 needs none (RFC 8441 §5).
        const proof = protocol === "h1" ? "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" : undefined;
        assert.equal(client.headers["sec-websocket-accept"], proof);
        client.send(opcodes.binary, "hello ");
        client.send(opcodes.binary, "world");
        assert.equal((await client.binary(11)).toString(), "hello world");
        client.send(opcodes.ping, "are you there");
        const pong = await client.next();
        assert.deepEqual([pong.opcode, pong.payload.toString()], [opcodes.pong, "are you there"]);
        const large = Buffer.alloc(3_000_000, "0123456789");
        client.send(opcodes.binary, large);
        assert.ok((await client.binary(large.length)).equals(large));
        client.send(opcodes.close, Buffer.from([3, 232]));
        assert.equal((await client.next()).payload.readUInt16BE(0), 1000);
        await client.ended;
        client.destroy();
        while (sockets.size > 0) await turn();
      });

      it(`W6: the WebSocket converter over ${protocol}, with ${backend} behind, closes with 1003 for text, and 1000 when the service ends`, async () => {
        serve = (socket) => socket.resume();
        const text = await openWebSocket(fixture, protocol);
        text.send(opcodes.text, "no");
        const close = await text.next();
        assert.deepEqual([close.opcode, close.payload.readUInt16BE(0)], [opcodes.close, 1003]);
        text.destroy();
        serve = (socket) => socket.resume().end("bye");
        const ended = await openWebSocket(fixture, protocol);
        assert.equal((await ended.binary(3)).toString(), "bye");
        assert.equal((await ended.next()).payload.readUInt16BE(0), 1000);
        ended.send(opcodes.close, Buffer.from([3, 232]));
        await ended.ended;
        ended.destroy();
        while (sockets.size > 0) await turn();
      });

      it(`I2: the WebSocket converter over ${protocol}, with ${backend} behind, reads no further for a client that is broken off`, async (test) => {
        serve = (socket) => socket.resume();
        // What the end of a login session does to exchanges that it admitted.
        const converted = test.mock.method(HttpExchange.prototype, "converted");
        const client = await openWebSocket(fixture, protocol);
        while (sockets.size === 0) await turn();
        const [call] = converted.mock.calls;
        assert.ok(call);
        (call.this as HttpExchange).breakOff();
        await client.ended;
        client.destroy();
        while (sockets.size > 0) await turn();
      });

      it(`D3: the WebSocket converter over ${protocol}, with ${backend} behind, lets a service that does not read slow down only its own client`, async () => {
        const arrived = Promise.withResolvers<Socket>();
        serve = (socket) => arrived.resolve(socket.pause());
        const client = await openWebSocket(fixture, protocol);
        const piece = Buffer.alloc(1_000_000);
        for (let count = 0; count < 20; count += 1) client.send(opcodes.binary, piece);
        const socket = await arrived.promise;
        serve = (other) => other.pipe(other);
        const other = await openWebSocket(fixture, protocol);
        for (let count = 0; count < 200; count += 1) {
          other.send(opcodes.binary, "ping");
          await other.binary(4);
        }
        other.destroy();
        assert.ok(socket.bytesRead < 10_000_000);
        socket.resume();
        while (socket.bytesRead < 20_000_000) await once(socket, "data");
        client.destroy();
        while (sockets.size > 0) await turn();
      });

      it(`D3: the WebSocket converter over ${protocol}, with ${backend} behind, lets a client that does not read slow down only its own service`, async () => {
        const total = 30_000_000;
        const arrived = Promise.withResolvers<Socket>();
        serve = (socket) => {
          socket.resume();
          arrived.resolve(socket);
        };
        const client = await openWebSocket(fixture, protocol);
        const socket = await arrived.promise;
        client.pause();
        socket.end(Buffer.alloc(total));
        serve = (other) => other.pipe(other);
        const other = await openWebSocket(fixture, protocol);
        for (let count = 0; count < 200; count += 1) {
          other.send(opcodes.binary, "ping");
          await other.binary(4);
        }
        other.destroy();
        assert.ok(socket.bytesWritten - socket.writableLength < 20_000_000);
        client.resume();
        assert.equal((await client.binary(total)).length, total);
        assert.equal((await client.next()).payload.readUInt16BE(0), 1000);
        client.destroy();
        while (sockets.size > 0) await turn();
      });

      it(`W6: the WebSocket converter over ${protocol}, with ${backend} behind, closes with 1002 on protocol errors, and closes the service's connection too`, async () => {
        const gone = Promise.withResolvers<void>();
        serve = (socket) => socket.resume().once("close", () => gone.resolve());
        const client = await openWebSocket(fixture, protocol);
        client.send(3, "no such frame");
        const close = await client.next();
        assert.deepEqual([close.opcode, close.payload.readUInt16BE(0)], [opcodes.close, 1002]);
        await gone.promise;
        client.destroy();
        while (sockets.size > 0) await turn();
      });

      it(`the WebSocket converter over ${protocol}, with ${backend} behind, refuses requests without an upgrade, and counts nothing as sent to the service`, async () => {
        let connections = 0;
        serve = () => (connections += 1);
        const answer = await fixture.ask(protocol);
        assert.equal(answer.status, 400);
        assert.equal(answer.headers["postern-error-code"], errorCode("not_websocket"));
        assert.equal(connections, 0);
      });
    });
  }

  it(`the WebSocket converter answers 503 over ${protocol} when there is no tunnel`, async () => {
    fixture.put("tunnel_group_backend", "bkdtg_none", { labels: { app: "none" } });
    fixture.route({ ...converter, backend: { enabled: true, backend_id: "bkdtg_none" } });
    await assert.rejects(openWebSocket(fixture, protocol), /status 503/);
  });
}

it("the WebSocket converter ends WebSockets whose tunnel goes away, with a close frame", async () => {
  fixture.route({ ...converter, backend: { enabled: true, backend_id: "bkdtg_tcp" } });
  for (const protocol of protocols) {
    const arrived = Promise.withResolvers<void>();
    serve = (socket) => {
      socket.resume();
      arrived.resolve();
    };
    const own = await connectAgent(fixture.edge, fixture.token, (tcp.address() as AddressInfo).port);
    await own.label({ app: protocol });
    fixture.put("tunnel_group_backend", "bkdtg_tcp", { labels: { app: protocol } });
    const client = await openWebSocket(fixture, protocol);
    await arrived.promise;
    own.close();
    assert.equal((await client.next()).payload.readUInt16BE(0), 1001);
    client.destroy();
  }
});
