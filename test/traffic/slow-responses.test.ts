/** Responses that their clients hardly take: how slowly they may, and how much of them waits at the edge. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { createServer } from "../../src/lib/http.ts";
import { eventually, withFront } from "../support/front.ts";
import type { Answerer } from "../support/front.ts";
import { codes, frame, RawH2, types, uint32 } from "../support/h2-frames.ts";
import { startH2Server } from "../support/h2-server.ts";
import type { H2Server } from "../support/h2-server.ts";

const kibibyte = 1024;
const responseBytes = 1024 * kibibyte;
const maxHeldBytes = 4096 * kibibyte;
const clients: RawH2[] = [];
let server: H2Server;

before(async () => {
  const upstream = createServer((request, response) => {
    response.on("error", () => {});
    if (request.url === "/small-pieces") {
      response.flushHeaders();
      for (let sent = 0; sent < 16 * kibibyte; sent += 1) response.write("x");
      response.end();
    } else response.end(Buffer.alloc(responseBytes));
  });
  server = await startH2Server(upstream, { limits: { maxHeldBytes } });
});
after(() => server.stop());
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await eventually(() => server.context.counters.openConnections === 0);
  assert.equal(server.context.counters.heldBytes, 0);
  assert.equal(server.context.counters.heldByAccount.size, 0);
});

/** A client whose streams have a window of `window` bytes. */
async function open(window: number): Promise<RawH2> {
  const client = await RawH2.open(server, [4, window]);
  clients.push(client);
  return client;
}

const resets = (client: RawH2): number => client.rest.filter(({ type }) => type === types.rstStream).length;

describe("a response over HTTP/2", () => {
  it("D2: a response over HTTP/2 that its client reads byte by byte is reset, and one read fast enough is not", async () => {
    const client = await open(1);
    client.request(1);
    client.request(3);
    for (const id of [1, 3]) assert.ok(await client.takeType(types.data, id));
    for (let passed = 0; passed < 130_000; passed += 10_000) {
      client.send(frame(types.windowUpdate, 0, 1, uint32(1)), frame(types.windowUpdate, 0, 3, uint32(1000)));
      assert.ok(await client.settled());
      server.clock.pass(10_000);
    }
    assert.equal(await client.resetCode(1), codes.cancel);
    assert.ok(await client.settled());
    assert.equal(
      client.rest.find(({ type, id }) => type === types.rstStream && id === 3),
      undefined,
    );
  });

  it("D3: unread responses over HTTP/2 of one client hold at most a quarter of the edge's buffer", async () => {
    const client = await open(1);
    for (let id = 1; id < 120; id += 2) client.request(id);
    await eventually(() => resets(client) > 0 && server.context.counters.openExchanges + resets(client) === 60);
    // A stream that finds the sum exceeded has added to it, before it is reset.
    assert.ok(server.context.counters.heldBytes <= maxHeldBytes / 4 + 320 * kibibyte);
    const reset = await client.takeType(types.rstStream);
    assert.equal(reset?.payload.readUInt32BE(0), codes.enhanceYourCalm);
    // Others are not concerned.
    const other = await open(responseBytes);
    other.send(frame(types.windowUpdate, 0, 0, uint32(responseBytes)));
    other.request(1);
    assert.ok(await other.take((one) => one.id === 1 && one.type === types.data && (one.flags & 1) !== 0));
  });

  it("D3: unread responses over HTTP/2 hold at most half of the edge's buffer for one account", async () => {
    for (let count = 0; count < 6; count += 1) {
      const client = await open(1);
      for (let id = 1; id < 120; id += 2) client.request(id);
    }
    const done = (): number => clients.reduce((sum, client) => sum + resets(client), 0);
    await eventually(() => server.context.counters.openExchanges + done() === 360);
    const { heldBytes, heldByAccount } = server.context.counters;
    assert.ok(heldBytes > maxHeldBytes / 4, `${heldBytes}`);
    assert.ok(heldBytes <= maxHeldBytes / 2 + 320 * kibibyte, `${heldBytes}`);
    assert.deepEqual([...heldByAccount], [["ac_1", heldBytes]]);
  });

  it("D3: a response over HTTP/2 that arrives in pieces of one byte waits in few pieces, and arrives complete", async () => {
    const client = await open(0);
    client.request(1, client.fields("GET", "/small-pieces"));
    await eventually(() => server.context.counters.heldBytes === 16 * kibibyte);
    client.send(frame(types.windowUpdate, 0, 1, uint32(64 * kibibyte)));
    let received = 0;
    let frames = 0;
    for (; received < 16 * kibibyte; frames += 1) {
      received += (await client.takeType(types.data, 1))?.payload.length ?? Infinity;
    }
    assert.equal(received, 16 * kibibyte);
    assert.ok(frames < 32, `${frames} frames`);
  });
});

describe("a response over HTTP/1.1", () => {
  const largeBytes = 32 * 1024 * kibibyte;
  const heldMost = 512 * kibibyte;

  it("D3: responses over HTTP/1.1 that clients do not take are counted in the sums, and cut when those are exceeded", async () => {
    const answer: Answerer = ({ socket }) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${largeBytes}\r\n\r\n`);
      socket.write(Buffer.alloc(largeBytes));
    };
    await withFront(answer, { limits: { maxHeldBytes: heldMost } }, async (front, first) => {
      const { counters } = front.context;
      const slow = [first, ...Array.from({ length: 11 }, () => front.connect())];
      for (const client of slow) {
        client.socket.pause();
        client.send("GET / HTTP/1.1\r\nHost: a.example.com\r\n\r\n");
      }
      // The account may hold half. Several connections of one turn may exceed the sum until the turn is over.
      const isWithin = (): boolean => counters.heldBytes > 0 && counters.heldBytes <= heldMost / 2 + 128 * kibibyte;
      await eventually(() => front.finished.length > 0 && isWithin());
      assert.ok(front.finished.every(({ cutShort }) => cutShort));
      await eventually(() => front.lines.join("").includes("too much data is waiting for slow clients"));
      assert.deepEqual([...counters.heldByAccount], [["ac_1", counters.heldBytes]]);
      for (const client of slow) client.socket.destroy();
      await eventually(() => counters.openConnections === 0);
      assert.deepEqual([counters.heldBytes, counters.heldByAccount.size], [0, 0]);
    });
  });

  it("D2: a response over HTTP/1.1 that its client stops taking is cut when the time is up", async () => {
    const answer: Answerer = ({ socket }) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${largeBytes}\r\n\r\n`);
      socket.write(Buffer.alloc(largeBytes));
    };
    await withFront(answer, {}, async (front, client) => {
      client.socket.pause();
      client.send("GET / HTTP/1.1\r\nHost: a.example.com\r\n\r\n");
      await eventually(() => front.context.counters.heldBytes > 0);
      front.clock.pass(front.context.limits.writeTimeoutMs + 1000);
      await eventually(() => front.finished.length === 1);
      assert.equal(front.finished[0]?.cutShort, true);
      assert.equal(front.context.counters.heldBytes, 0);
    });
  });
});
