/**
 * Actions that cost the server more than the client are limited, answered with ENHANCE_YOUR_CALM, and end the
 * connection (security D1).
 */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, afterEach, before, describe, it } from "node:test";
import { createServer } from "../../src/lib/http.ts";
import { budgets } from "../../src/http2/flood-guard.ts";
import { block, codes, flags, frame, preface, RawH2, settings, types, uint32 } from "../support/h2-frames.ts";
import { h2Request, h2Session } from "../support/h2-client.ts";
import { startH2Server } from "../support/h2-server.ts";
import type { H2Server } from "../support/h2-server.ts";

let server: H2Server;
let raw: RawH2;
let held: ServerResponse[] = [];

before(async () => {
  const upstream = createServer((request, response) => {
    if (request.url === "/held") held.push(response);
    else response.end("answer");
  });
  server = await startH2Server(upstream);
});
after(() => server.stop());
afterEach(() => {
  raw.destroy();
  for (const response of held.splice(0)) response.destroy();
});

/** Sends the result of `make` `count` times, in pieces, while the connection lasts. */
async function flood(client: RawH2, count: number, make: (index: number) => Buffer): Promise<void> {
  for (let index = 0; index < count && !client.socket.closed; index += 50) {
    client.send(...Array.from({ length: Math.min(50, count - index) }, (_, at) => make(index + at)));
    await new Promise(setImmediate);
  }
}

/** The server sends GOAWAY with ENHANCE_YOUR_CALM, closes, and still serves others. */
async function isCutOff(client: RawH2): Promise<void> {
  assert.equal(await client.goawayCode(), codes.enhanceYourCalm);
  await client.closed();
  const session = await h2Session(server);
  assert.equal(String((await h2Request(session, { ":path": "/" })).body), "answer");
  session.destroy();
}

/** Advances time and flushes the resulting frames. */
async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    server.clock.pass(1000);
    await new Promise(setImmediate);
  }
}

describe("an HTTP/2 client that floods", () => {
  const id = (index: number): number => 2 * index + 1;
  const request = (streamId: number, path = "/"): Buffer =>
    frame(
      types.headers,
      flags.endHeaders | flags.endStream,
      streamId,
      block([
        [":method", "GET"],
        [":scheme", "https"],
        [":authority", "app.example.com"],
        [":path", path],
      ]),
    );
  const post = (streamId: number): Buffer =>
    frame(
      types.headers,
      flags.endHeaders,
      streamId,
      block([
        [":method", "POST"],
        [":scheme", "https"],
        [":authority", "app.example.com"],
        [":path", "/held"],
      ]),
    );
  const reset = (streamId: number): Buffer => frame(types.rstStream, 0, streamId, uint32(codes.cancel));

  const floods: Record<string, (index: number) => Buffer> = {
    "rapid reset (CVE-2023-44487)": (index) => Buffer.concat([request(id(index), "/held"), reset(id(index))]),
    "resets that it provokes by empty window updates (CVE-2025-8671)": (index) =>
      Buffer.concat([request(id(index), "/held"), frame(types.windowUpdate, 0, id(index), uint32(0))]),
    "resets that it provokes by DATA behind the end": (index) =>
      Buffer.concat([request(id(index), "/held"), frame(types.data, 0, id(index), Buffer.from("x"))]),
    "malformed requests": (index) => frame(types.headers, 5, id(index), block([[":method", "GET"]])),
    PING: () => frame(types.ping, 0, 0, Buffer.alloc(8)),
    "PING acknowledgements": () => frame(types.ping, flags.ack, 0, Buffer.alloc(8)),
    SETTINGS: () => frame(types.settings, 0, 0, settings([3, 100])),
    "empty SETTINGS": () => frame(types.settings, 0, 0),
    "SETTINGS acknowledgements": () => frame(types.settings, flags.ack, 0),
    PRIORITY: () => frame(types.priority, 0, 1, Buffer.from([0, 0, 0, 3, 7])),
    WINDOW_UPDATE: () => frame(types.windowUpdate, 0, 0, uint32(1)),
    "frames of unknown type": () => frame(0x42, 0, 0, Buffer.alloc(10)),
    "empty DATA": (index) => (index === 0 ? post(1) : frame(types.data, 0, 1)),
    "DATA of padding only": (index) => (index === 0 ? post(1) : frame(types.data, flags.padded, 1, Buffer.alloc(4, 3))),
  };
  for (const [what, make] of Object.entries(floods)) {
    it(`D1: an HTTP/2 client that floods is cut off: ${what}`, async () => {
      raw = await RawH2.open(server);
      await flood(raw, 2000, make);
      await isCutOff(raw);
      assert.equal(server.context.counters.openExchanges, 0);
    });
  }

  it("D1: an HTTP/2 client that floods is cut off: CONTINUATION frames without end, empty or not", async () => {
    for (const payload of [Buffer.alloc(0), Buffer.alloc(100, 0x82), Buffer.alloc(16_384, 0x82)]) {
      raw = await RawH2.open(server);
      raw.send(frame(types.headers, flags.endStream, 1, Buffer.from([0x82])));
      await flood(raw, 200, () => frame(types.continuation, 0, 1, payload));
      await isCutOff(raw);
    }
  });

  it("D1: an HTTP/2 client that floods is cut off: a header block of more than 64 KiB, before it has ended", async () => {
    raw = await RawH2.open(server);
    raw.send(frame(types.headers, flags.endStream, 1, Buffer.from([0x82])));
    const most = Array.from({ length: 4 }, (_, at) =>
      frame(types.continuation, 0, 1, Buffer.alloc(16_384 - (at === 0 ? 1 : 0))),
    );
    raw.send(...most, frame(types.continuation, 0, 1, Buffer.alloc(1)));
    await isCutOff(raw);
  });

  it("D1: an HTTP/2 header block may come in up to 16 CONTINUATION frames", async () => {
    raw = await RawH2.open(server);
    const whole = block([
      [":method", "GET"],
      [":scheme", "https"],
      [":authority", "app.example.com"],
      [":path", "/"],
      ["x-long", "x".repeat(1000)],
    ]);
    raw.send(frame(types.headers, flags.endStream, 1, whole.subarray(0, 40)));
    for (let part = 0; part < 16; part += 1) {
      const bytes = whole.subarray(40 + part * 64, part === 15 ? undefined : 104 + part * 64);
      raw.send(frame(types.continuation, part === 15 ? flags.endHeaders : 0, 1, bytes));
    }
    assert.equal((await raw.takeType(types.headers, 1))?.payload[0], 0x88);
  });

  it("D1: a small HTTP/2 header block that decodes to a large header gets 431 without being stored", async () => {
    raw = await RawH2.open(server);
    const start = block([
      [":method", "GET"],
      [":scheme", "https"],
      [":authority", "app.example.com"],
      [":path", "/"],
    ]);
    const remembered = block([["x-bomb", "x".repeat(4000)]], 0x40);
    const bomb = Buffer.concat([start, remembered, Buffer.alloc(12_000, 0xbe)]);
    // The maximum number of fields, and slightly too many bytes.
    const heavy = Buffer.concat([start, remembered, Buffer.alloc(8, 0xbe)]);
    const { malformed } = server.context.counters;
    const before = process.memoryUsage().rss;
    for (let index = 0; index < 20; index += 1) raw.send(frame(types.headers, 5, id(index), bomb));
    raw.send(frame(types.headers, 5, id(20), heavy));
    for (let index = 0; index < 21; index += 1) {
      const answer = await raw.takeType(types.headers, id(index));
      assert.equal(answer?.payload.toString("latin1", 2, 5), "431");
    }
    // Refused by the edge, not by the upstream's own limit.
    assert.equal(server.context.counters.malformed - malformed, 21);
    // 960 MB of fields were named.
    assert.ok(process.memoryUsage().rss - before < 200 * 1024 * 1024);
  });

  it("D1: an HTTP/2 client that floods has at most 100 requests in flight; more are refused, and then it is cut off", async () => {
    raw = await RawH2.open(server);
    const announced = await raw.takeType(types.settings);
    assert.ok(announced?.payload.includes(settings([3, 100])));
    for (let index = 0; index < 101; index += 1) raw.send(request(id(index), "/held"));
    assert.equal(await raw.resetCode(id(100)), codes.refusedStream);
    assert.ok(await raw.settled());
    assert.equal(server.context.counters.openExchanges, 100);
    await flood(raw, 2 * budgets.resets.burst, (index) => request(id(200 + index), "/held"));
    await isCutOff(raw);
    assert.equal(server.context.counters.openExchanges, 0);
  });

  it("D1: an HTTP/2 client may do these things slowly: the allowance recovers with time", async () => {
    raw = await RawH2.open(server);
    for (let round = 0; round < 5; round += 1) {
      for (let count = 0; count < 80; count += 1) raw.send(frame(types.ping, 0, 0, Buffer.alloc(8)));
      assert.ok(await raw.settled());
      server.clock.pass(10_000);
    }
    raw.send(request(1));
    assert.ok(await raw.takeType(types.headers, 1));
  });

  it("D1: an HTTP/2 client that does not read its answers stops being read, and is closed in the end", async () => {
    raw = await RawH2.open(server, [4, 0x7fffffff]);
    raw.send(frame(types.windowUpdate, 0, 0, uint32(0x7fff0000 - 65_535)));
    raw.socket.pause();
    let sent = 0;
    // Each response is a page of some hundred bytes, and the client reads none.
    while (sent < 20_000 && raw.socket.writableLength < 1024 * 1024) {
      raw.send(...Array.from({ length: 100 }, (_, at) => request(id(sent + at))));
      sent += 100;
      await new Promise(setImmediate);
    }
    const { connections, counters } = server.context;
    assert.ok(counters.openExchanges <= 100);
    for (let passed = 0; passed < 200 && connections.size > 0; passed += 1) {
      server.clock.pass(5000);
      await new Promise(setImmediate);
    }
    assert.equal(connections.size, 0);
    raw.socket.resume();
    await raw.closed();
  });

  it("D2: an HTTP/2 client that opens a window and never reads the response loses the request", async () => {
    raw = await RawH2.open(server, [4, 0]);
    raw.send(request(1));
    assert.ok(await raw.takeType(types.headers, 1));
    assert.ok(await raw.settled());
    server.clock.pass(70_000);
    assert.equal(await raw.resetCode(1), codes.cancel);
  });

  it("D2: an HTTP/2 client that sends its body too slowly is answered 408", async () => {
    raw = await RawH2.open(server);
    raw.send(post(1), frame(types.data, 0, 1, Buffer.from("slow")));
    assert.ok(await raw.settled());
    server.clock.pass(15_000);
    const answer = await raw.takeType(types.headers, 1);
    assert.equal(answer?.payload.toString("latin1", 2, 5), "408");
    assert.equal(await raw.resetCode(1), codes.noError);
  });

  it("D2: an HTTP/2 client that does not finish its headers gets an error and is disconnected", async () => {
    raw = await RawH2.connect(server);
    // In one piece: when the settings are acknowledged, the rest has been read too.
    raw.send(preface, frame(types.settings, 0, 0), frame(types.headers, flags.endStream, 1, Buffer.from([0x82])));
    assert.ok(await raw.take(({ type, flags: set }) => type === types.settings && set === flags.ack));
    await pass(15);
    assert.equal(await raw.goawayCode(), codes.protocolError);
    await raw.closed();
  });

  it("D2: an HTTP/2 client that floods is closed once its connection has grown old, however busy it is", async () => {
    raw = await RawH2.open(server);
    const told = raw.goawayCode();
    for (let minute = 0; minute < 61; minute += 1) {
      raw.send(request(id(minute)));
      const isOpen = await raw.settled();
      assert.ok(isOpen || minute >= 59, `closed after ${minute} minutes`);
      await pass(60);
    }
    assert.equal(await told, codes.noError);
  });

  it("D2: an HTTP/2 client that floods is closed when it has been idle", async () => {
    raw = await RawH2.open(server);
    raw.send(request(1));
    assert.ok(await raw.takeType(types.headers, 1));
    assert.ok(await raw.settled());
    await pass(80);
    assert.equal(await raw.goawayCode(), codes.noError);
  });

  it("S5: an HTTP/2 client finishes open requests when the server drains, and opens none", async () => {
    raw = await RawH2.open(server);
    raw.send(request(1, "/held"));
    assert.ok(await raw.settled());
    while (held.length === 0) await new Promise(setImmediate);
    for (const connection of server.context.connections.members()) connection.drain();
    const goaway = await raw.takeType(types.goaway);
    assert.deepEqual([goaway?.payload.readUInt32BE(0), goaway?.payload.readUInt32BE(4)], [1, codes.noError]);
    raw.send(request(3));
    assert.equal(await raw.resetCode(3), codes.refusedStream);
    held[0]?.end("late");
    assert.equal((await raw.takeType(types.headers, 1))?.payload[0], 0x88);
    assert.equal(String((await raw.takeType(types.data, 1))?.payload), "late");
    await raw.closed();
  });
});
