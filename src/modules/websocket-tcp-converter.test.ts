import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { WebSocket } from "ws";
import { createServer as createHttpServer } from "../lib/http.ts";
import { makeManualClock } from "../../test/support/clock.ts";
import { exchangeOf, runRequest } from "../../test/support/exchange.ts";
import { routeWith, tableOf } from "../../test/support/routing.ts";
import { seededRandom } from "../../test/support/random.ts";
import type { ByteReceiver } from "../lib/io/byte-stream.ts";
import { socketStream } from "../lib/io/socket-stream.ts";
import { FrameReader } from "../websocket/websocket-frames.ts";

const clock = makeManualClock();
const route = routeWith("websocket_tcp_converter", {}, tableOf(clock));
const key = "dGhlIHNhbXBsZSBub25jZQ==";
const unused: ByteReceiver = { data() {}, ended() {}, drained() {}, closed() {} };

/** Starts a converting server in front of a TCP service. `serve` receives each connection of the service. */
async function start(context: TestContext, serve: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const service = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    serve(socket);
  });
  const front = createHttpServer();
  front.on("upgrade", (request, socket: Socket) => {
    sockets.add(socket);
    socket.allowHalfOpen = true;
    const fields = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as const);
    const accepted = route.converter?.accept(exchangeOf({ headers: fields })) ?? {};
    const lines = Object.entries(accepted).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${lines.join("")}\r\n`,
    );
    const upstream = connect({ port: (service.address() as AddressInfo).port, allowHalfOpen: true });
    route.converter?.join(socketStream(socket, unused), socketStream(upstream, unused));
  });
  await Promise.all([
    once(service.listen(0, "127.0.0.1"), "listening"),
    once(front.listen(0, "127.0.0.1"), "listening"),
  ]);
  context.after(() => {
    for (const socket of sockets) socket.destroy();
    service.close();
    front.close();
  });
  return (front.address() as AddressInfo).port;
}

async function open(port: number, protocols: string[] = []): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, protocols);
  await once(socket, "open");
  return socket;
}

/** Returns a masked client frame, valid or not. */
function frame(
  first: number,
  payload: Buffer,
  { masked = true, form }: { masked?: boolean; form?: 126 | 127 } = {},
): Buffer {
  const short = form ?? (payload.length < 126 ? payload.length : payload.length < 65_536 ? 126 : 127);
  const head = Buffer.alloc(2 + (short === 126 ? 2 : short === 127 ? 8 : 0));
  head[0] = first;
  head[1] = (masked ? 0x80 : 0) | short;
  if (short === 126) head.writeUInt16BE(payload.length, 2);
  if (short === 127) head.writeBigUInt64BE(BigInt(payload.length), 2);
  const mask = Buffer.from([1, 2, 3, 4]);
  return masked
    ? Buffer.concat([head, mask, payload.map((byte, at) => byte ^ (mask[at % 4] as number))])
    : Buffer.concat([head, payload]);
}

describe("WebSocket to TCP", () => {
  it("the WebSocket converter rejects requests other than a WebSocket upgrade of version 13 with a key", async () => {
    const good = { upgrade: "websocket", "sec-websocket-version": "13", "sec-websocket-key": key };
    const run = (headers: Record<string, string>) => runRequest(route, exchangeOf({ headers }));
    assert.equal((await run(good)).outcome, "changed");
    assert.deepEqual((await run({})).answer, { error: "not_websocket" });
    for (const bad of ["", "x", `${key}A`, "dGhlIHNhbXBsZSBub25jZR=="]) {
      assert.equal((await run({ ...good, "sec-websocket-key": bad })).outcome, "denied", bad);
    }
    const { answer } = await run({ ...good, "sec-websocket-version": "8" });
    assert.deepEqual(answer && "headers" in answer && answer.headers, { "sec-websocket-version": "13" });
  });

  it("the WebSocket converter returns the accept key of RFC 6455's example, and selects an offered protocol", () => {
    const accept = (protocols: string) =>
      route.converter?.accept(
        exchangeOf({ headers: { "sec-websocket-key": key, "sec-websocket-protocol": protocols } }),
      );
    assert.deepEqual(accept("x, binary"), {
      "sec-websocket-accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
      "sec-websocket-protocol": "binary",
    });
    assert.equal(accept("base64")?.["sec-websocket-protocol"], "base64");
    assert.equal(accept("")?.["sec-websocket-protocol"], undefined);
  });

  it("the WebSocket converter turns binary messages into bytes and bytes into binary messages, including large and fragmented ones", async (context) => {
    const port = await start(context, (socket) => void socket.pipe(socket));
    const client = await open(port, ["binary"]);
    const sent = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at % 251));
    const received: Buffer[] = [];
    let bytes = 0;
    const all = new Promise<void>((resolve) => {
      client.on("message", (data: Buffer, isBinary) => {
        assert.equal(isBinary, true);
        received.push(data);
        if ((bytes += data.length) === sent.length) resolve();
      });
    });
    client.send(sent.subarray(0, 10));
    client.send(sent.subarray(10, 10));
    client.send(sent.subarray(10, 1000), { fin: false });
    client.send(sent.subarray(1000, 70_000), { fin: true });
    client.send(sent.subarray(70_000));
    await all;
    assert.deepEqual(Buffer.concat(received), sent);
    client.close(4001, "bye");
    const [code] = (await once(client, "close")) as [number];
    assert.equal(code, 4001);
  });

  it("the WebSocket converter answers pings and passes the end of each side to the other", async (context) => {
    let ended = (): void => {};
    const end = new Promise<void>((resolve) => (ended = resolve));
    const port = await start(context, (socket) => {
      socket.on("data", (data) => void (String(data) === "quit" && socket.end("last")));
      socket.on("end", ended);
    });
    const first = await open(port);
    first.ping("p");
    assert.equal(String((await once(first, "pong"))[0]), "p");
    first.close();
    await end;
    const second = await open(port);
    second.send(Buffer.from("quit"));
    const [data] = (await once(second, "message")) as [Buffer];
    assert.equal(String(data), "last");
    assert.equal((await once(second, "close"))[0], 1000);
  });

  it("the WebSocket converter rejects text with 1003", async (context) => {
    const client = await open(await start(context, () => {}));
    client.send("text");
    assert.equal((await once(client, "close"))[0], 1003);
  });

  it("D3: the WebSocket converter reads no more from a side than the other accepts", async (context) => {
    let service: Socket | undefined;
    const port = await start(context, (socket) => {
      service = socket;
      socket.pause();
    });
    const client = await open(port);
    const chunk = Buffer.alloc(1024 * 1024);
    for (let count = 0; count < 32; count += 1) client.send(chunk);
    // The kernel's buffers and one window fill up, then nothing moves.
    let last = -1;
    while (client.bufferedAmount !== last) {
      last = client.bufferedAmount;
      for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate);
    }
    assert.ok(client.bufferedAmount > 8 * chunk.length, `${client.bufferedAmount} bytes wait at the client`);
    let bytes = 0;
    const all = new Promise<void>((resolve) => {
      service?.on("data", (data: Buffer) => void ((bytes += data.length) === 32 * chunk.length && resolve()));
    });
    service?.resume();
    await all;
    client.terminate();
  });

  it("W6: the WebSocket converter closes protocol violations with the right code", () => {
    const close = (code: number, reason = Buffer.alloc(0)) =>
      Buffer.concat([Buffer.from([code >> 8, code & 255]), reason]);
    const cases: [string, Buffer, number][] = [
      ["an unmasked frame", frame(0x82, Buffer.from("x"), { masked: false }), 1002],
      ["text", frame(0x81, Buffer.from("x")), 1003],
      ["a reserved bit", frame(0xc2, Buffer.from("x")), 1002],
      ["an unknown opcode", frame(0x83, Buffer.from("x")), 1002],
      ["a continuation of nothing", frame(0x80, Buffer.from("x")), 1002],
      [
        "a message within a message",
        Buffer.concat([frame(0x02, Buffer.from("x")), frame(0x82, Buffer.from("x"))]),
        1002,
      ],
      ["a fragmented ping", frame(0x09, Buffer.from("x")), 1002],
      ["a long ping", frame(0x89, Buffer.alloc(126)), 1002],
      ["a length in a longer form than needed", frame(0x82, Buffer.alloc(125), { form: 126 }), 1002],
      ["a length in the longest form", frame(0x82, Buffer.alloc(200), { form: 127 }), 1002],
      [
        "a length beyond all numbers",
        Buffer.concat([Buffer.from([0x82, 0xff]), Buffer.alloc(8, 0xff), Buffer.alloc(4)]),
        1002,
      ],
      ["half a close code", frame(0x88, Buffer.from([3])), 1002],
      ["a close code that nobody may send", frame(0x88, close(1005)), 1002],
      ["a close code out of range", frame(0x88, close(999)), 1002],
      ["a close reason that is no UTF-8", frame(0x88, close(1000, Buffer.from([0xff]))), 1007],
    ];
    for (const [what, bytes, code] of cases) {
      const reader = new FrameReader({ binary() {}, ping() {}, closed: () => assert.fail(what) });
      assert.equal(reader.push(bytes), code, what);
    }
  });

  it("the WebSocket converter reads frames the same for every split of the bytes", () => {
    const random = seededRandom(8);
    for (let round = 0; round < 200; round += 1) {
      const payload = Buffer.from(Array.from({ length: random.below(400) }, () => random.below(256)));
      const stream = Buffer.concat([
        frame(0x02, payload),
        frame(0x89, Buffer.from("p")),
        frame(0x80, payload),
        frame(0x8a, Buffer.from("ignored")),
        frame(0x88, Buffer.from([0x0f, 0xa1])),
        frame(0x82, Buffer.from("after the close")),
      ]);
      const data: Buffer[] = [];
      const said: string[] = [];
      const reader = new FrameReader({
        binary: (bytes) => data.push(bytes),
        ping: (bytes) => said.push(`ping ${bytes.toString()}`),
        closed: (code) => said.push(`closed ${code}`),
      });
      for (let at = 0; at < stream.length;) {
        const length = 1 + random.below(random.pick([1, 10, 1000]));
        assert.equal(reader.push(stream.subarray(at, at + length)), undefined);
        at += length;
      }
      assert.deepEqual(Buffer.concat(data), Buffer.concat([payload, payload]));
      assert.deepEqual(said, ["ping p", "closed 4001"]);
    }
  });
});
