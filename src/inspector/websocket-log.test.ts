import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { WebSocket, WebSocketServer } from "ws";
import type { AddressInfo } from "node:net";
import { systemClock } from "../lib/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { startFollowed } from "../../test/support/followed.ts";
import type { Followed } from "../../test/support/followed.ts";
import { webSocketOf } from "./contents.ts";
import { ExchangeFollower } from "./exchange-follower.ts";
import { FrameLog, maxFrameBytes, maxLogBytes } from "./frame-log.ts";
import { ExchangeStore } from "./exchange-store.ts";
import { WebSocketLog } from "./websocket-log.ts";

interface Shown {
  readonly from: string;
  readonly type: string;
  readonly bytes: number;
  readonly text?: string;
  readonly base64?: string;
  readonly code?: number;
  readonly cut?: boolean;
  readonly compressed?: boolean;
}

/** A frame as a service sends it, or with a mask, as a visitor does. */
function frame(first: number, payload: Buffer, mask?: Buffer): Buffer {
  const length = payload.length;
  const size = length < 126 ? [length] : length < 65_536 ? [126, length >> 8, length & 0xff] : [127, 0, 0, 0, 0];
  const head = Buffer.from([first, ...size]);
  head[1] = (head[1] as number) | (mask ? 0x80 : 0);
  const long = length < 65_536 ? Buffer.alloc(0) : Buffer.alloc(4);
  if (long.length > 0) long.writeUInt32BE(length);
  const masked = mask ? Buffer.from(payload.map((byte, at) => byte ^ (mask[at & 3] as number))) : payload;
  return Buffer.concat([head, long, mask ?? Buffer.alloc(0), masked]);
}

const mask = Buffer.from([1, 2, 3, 4]);

describe("WebSocket frames", () => {
  it("frames are the same however their bytes are split, for every form of length", () => {
    const payloads = [0, 1, 125, 126, 65_535, 65_536].map((length) => Buffer.alloc(length, "abc"));
    const bytes = Buffer.concat(payloads.map((payload) => frame(0x82, payload, mask)));
    for (const size of [3, 4096, bytes.length]) {
      const log = new FrameLog({ last: 0 });
      for (let at = 0; at < bytes.length; at += size) log.add(bytes.subarray(at, at + size), 5);
      const found = log.frames();
      assert.deepEqual(
        found.map(({ length }) => length),
        [0, 1, 125, 126, 65_535, 65_536],
      );
      for (const [at, { payload, opcode, isFinal, order }] of found.entries()) {
        assert.ok(payload.equals(payloads[at] as Buffer), `payload ${at} in pieces of ${size}`);
        assert.deepEqual([opcode, isFinal, order], [2, true, at + 1]);
      }
    }
  });

  it("the latest frames are stored within a bound, and evicted frames are counted", () => {
    const log = new FrameLog({ last: 0 });
    let held = 0;
    for (let at = 0; at < 10_000; at += 1) held += log.add(frame(0x81, Buffer.from(`message ${at}`)), at);
    assert.ok(held <= maxLogBytes, `${held} bytes`);
    const found = log.frames();
    assert.equal(found.at(-1)?.payload.toString(), "message 9999");
    assert.equal(found.length + log.dropped, 10_000);
    assert.ok(found.length > 1_000, `${found.length} are kept`);
    assert.equal(found[0]?.payload.toString(), `message ${log.dropped}`);
  });

  it("a frame without end is stored up to its bound, and other frames remain", () => {
    const log = new WebSocketLog();
    log.fromService(frame(0x81, Buffer.from("first")), 1);
    const endless = Buffer.from([0x82, 127, 0, 0, 1, 0, 0, 0, 0, 0]);
    log.fromService(endless, 2);
    for (let at = 0; at < 100; at += 1) log.fromService(Buffer.alloc(100_000), 3);
    const [first, second] = log.messages();
    assert.equal(first?.content.toString(), "first");
    assert.deepEqual([second?.bytes, second?.content.length, second?.isCut], [2 ** 40, maxFrameBytes, true]);
  });

  it("fragments form one message, and control frames between them are separate", () => {
    const log = new WebSocketLog();
    for (const [first, text] of [
      [0x01, "one "],
      [0x89, "?"],
      [0x00, "two "],
      [0x80, "three"],
    ] as const) {
      log.fromVisitor(frame(first, Buffer.from(text), mask), 1);
    }
    log.fromService(frame(0x88, Buffer.from([0x03, 0xe8, 0x62, 0x79, 0x65])), 2);
    assert.deepEqual(
      log.messages().map(({ from, type, content, isCut }) => [from, type, content.toString("latin1"), isCut]),
      [
        ["visitor", "text", "one two three", false],
        ["visitor", "ping", "?", false],
        ["service", "close", "\x03\xe8bye", false],
      ],
    );
  });
});

describe("WebSocket messages from other implementations", () => {
  const store = new ExchangeStore(systemClock);
  const servers: WebSocketServer[] = [];
  const ways: Followed[] = [];
  before(async () => {
    for (const perMessageDeflate of [false, true, { serverNoContextTakeover: true, clientNoContextTakeover: true }]) {
      const compression =
        typeof perMessageDeflate === "object"
          ? { ...perMessageDeflate, threshold: 0 }
          : perMessageDeflate && { threshold: 0 };
      const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: compression });
      await once(server, "listening");
      server.on("connection", (socket) =>
        socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary })),
      );
      servers.push(server);
      const follow = { tunnel: "web", client: "", hasPreamble: false, clock: systemClock, store };
      ways.push(await startFollowed((server.address() as AddressInfo).port, () => new ExchangeFollower(follow)));
    }
  });
  after(async () => {
    for (const way of ways) await way.stop();
    for (const server of servers) server.close();
  });

  for (const [at, what] of ["plain", "compressed with what came before", "compressed each by itself"].entries()) {
    it(`messages that are ${what} are decoded`, async () => {
      const socket = new WebSocket(`ws://127.0.0.1:${ways[at]?.port}/chat`);
      await once(socket, "open");
      const texts = ["hello hello hello", "hello hello again", "x".repeat(40_000)];
      for (const text of texts) {
        socket.send(text);
        await once(socket, "message");
      }
      socket.send(Buffer.from([0, 1, 2]));
      await once(socket, "message");
      socket.close(4001, "over");
      await once(socket, "close");
      const [exchange] = await eventually(
        () => store.list(1),
        ([one]) => one?.outcome === "upgraded",
      );
      assert.ok(exchange?.webSocket);
      const { websocket } = webSocketOf(exchange) as { websocket: { messages: Shown[]; cut: boolean } };
      const said = (from: string): unknown[] =>
        websocket.messages
          .filter((one) => one.from === from)
          .map(({ type, text, base64, code, compressed, cut }) => [type, text ?? base64, code, compressed ?? cut]);
      const wanted = [
        ...texts.map((text) => ["text", text, undefined, undefined]),
        ["binary", "AAEC", undefined, undefined],
        ["close", "over", 4001, undefined],
      ];
      assert.deepEqual(said("visitor"), wanted);
      assert.deepEqual(said("service"), wanted);
      assert.equal(websocket.cut, false);
      const sizes = websocket.messages.filter(({ type }) => type === "text").map(({ bytes }) => bytes);
      assert.equal(
        sizes.some((bytes) => bytes === 40_000),
        what === "plain",
      );
    });
  }

  it("a message that refers to evicted messages is marked as compressed, and shown as bytes", async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${ways[1]?.port}/long`);
    await once(socket, "open");
    // Random bytes do not compress.
    for (let at = 0; at < 8; at += 1)
      socket.send(Buffer.from(Array.from({ length: 60_000 }, () => Math.random() * 256)));
    socket.send("the last");
    for (let at = 0; at < 9; at += 1) await once(socket, "message");
    await setImmediate();
    const [exchange] = store.list(1);
    const { websocket } = webSocketOf(exchange as NonNullable<typeof exchange>) as {
      websocket: { messages: Shown[]; cut: boolean };
    };
    assert.equal(websocket.cut, true);
    const last = websocket.messages.filter(({ type }) => type === "text").at(-1);
    assert.deepEqual([last?.compressed, last?.text, typeof last?.base64], [true, undefined, "string"]);
    socket.terminate();
  });
});
