/** A WebSocket client that works with frames, over HTTP/1.1 (RFC 6455) or HTTP/2 (RFC 8441). */
import type { EventEmitter } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import type { IncomingHttpHeaders } from "node:http2";
import type { Duplex } from "node:stream";
import { host as usualHost } from "./edge-with-agent.ts";
import type { EdgeWithAgent } from "./edge-with-agent.ts";
import type { Protocol } from "./http-client.ts";

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface WsFrame {
  readonly opcode: number;
  readonly payload: Buffer;
}

export interface WebSocketClient {
  readonly headers: Readonly<Record<string, unknown>>;
  /** @param isFinal false if more frames of the message follow */
  send(opcode: number, payload?: string | Buffer, isFinal?: boolean): void;
  /** Returns the next frame; rejects if the stream ends first. */
  next(): Promise<WsFrame>;
  /** Returns the joined payloads of binary frames, up to `bytes`. */
  binary(bytes: number): Promise<Buffer>;
  /** Reads nothing from the server until `resume`. */
  pause(): void;
  resume(): void;
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<unknown>;
  destroy(): void;
}

const mask = Buffer.from([0x11, 0x22, 0x33, 0x44]);

/** Throws an error with the status if the server rejects the upgrade. */
export async function openWebSocket(
  fixture: Pick<EdgeWithAgent, "connect">,
  protocol: Protocol,
  {
    host = usualHost,
    path = "/",
    fields = {},
  }: { readonly host?: string; readonly path?: string; readonly fields?: Readonly<Record<string, string>> } = {},
): Promise<WebSocketClient> {
  const socket = await fixture.connect(protocol, { host });
  if (protocol === "h2") {
    const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
    session.on("error", () => {});
    await before(session, "remoteSettings");
    const stream = session.request({
      ":method": "CONNECT",
      ":protocol": "websocket",
      ":path": path,
      ":authority": host,
      "sec-websocket-version": "13",
      ...fields,
    });
    stream.on("error", () => {});
    const [headers] = (await before(stream, "response")) as [IncomingHttpHeaders & { ":status"?: number }];
    if (headers[":status"] !== 200) throw new Error(`status ${headers[":status"]}`);
    return framed(stream, headers, () => socket.destroy(), Buffer.alloc(0));
  }
  socket.on("error", () => {});
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
      `${Object.entries(fields)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join("")}\r\n`,
  );
  let bytes = Buffer.alloc(0);
  while (!bytes.includes("\r\n\r\n")) {
    const [piece] = (await before(socket, "data")) as [Buffer];
    bytes = Buffer.concat([bytes, piece]);
  }
  const end = bytes.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  if (!statusLine.startsWith("HTTP/1.1 101 ")) throw new Error(`status ${statusLine.split(" ")[1]}`);
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  );
  return framed(socket, headers, () => socket.destroy(), bytes.subarray(end + 4));
}

/** Like `once` of Node, but rejects if the server closes first. */
function before(emitter: EventEmitter, event: string): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const gone = (): void => reject(new Error(`the server closed before "${event}"`));
  emitter.once(event, (...given: unknown[]) => resolve(given));
  emitter.once("close", gone);
  emitter.once("end", gone);
  return promise;
}

function framed(
  stream: Duplex,
  headers: Readonly<Record<string, unknown>>,
  destroy: () => void,
  first: Buffer,
): WebSocketClient {
  /** Received data that no one has read, joined when a frame is whole. */
  let pieces = [first];
  let count = first.length;
  /** Known length of the next frame. */
  let wanted = 2;
  let over = false;
  let wake = Promise.withResolvers<void>();
  stream.on("data", (bytes: Buffer) => {
    pieces.push(bytes);
    count += bytes.length;
    if (count >= wanted) wake.resolve();
  });
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      over = true;
      wake.resolve();
      resolve();
    };
    stream.once("end", end);
    stream.once("close", end);
  });
  const waitFor = (bytes: number): undefined => {
    wanted = bytes;
  };
  const take = (): WsFrame | undefined => {
    if (count < wanted) return undefined;
    const held = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
    pieces = [held];
    let length = (held[1] as number) & 127;
    let at = 2;
    if (length === 126) {
      if (count < 4) return waitFor(4);
      length = held.readUInt16BE(2);
      at = 4;
    } else if (length === 127) {
      if (count < 10) return waitFor(10);
      length = Number(held.readBigUInt64BE(2));
      at = 10;
    }
    if (count < at + length) return waitFor(at + length);
    const one = { opcode: (held[0] as number) & 15, payload: held.subarray(at, at + length) };
    pieces = [held.subarray(at + length)];
    count -= at + length;
    wanted = 2;
    return one;
  };
  const next = async (): Promise<WsFrame> => {
    for (;;) {
      const one = take();
      if (one) return one;
      if (over) throw new Error("the stream ended");
      wake = Promise.withResolvers();
      await wake.promise;
    }
  };
  return {
    headers,
    send: (opcode, payload = "", isFinal = true) =>
      void stream.write(clientFrame(opcode, Buffer.from(payload as string), isFinal)),
    next,
    async binary(bytes) {
      const pieces: Buffer[] = [];
      for (let size = 0; size < bytes;) {
        const { opcode, payload } = await next();
        if (opcode !== opcodes.binary) throw new Error(`a frame of opcode ${opcode}`);
        pieces.push(payload);
        size += payload.length;
      }
      return Buffer.concat(pieces);
    },
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
    ended,
    destroy,
  };
}

/** Returns a masked frame, as clients send it. */
export function clientFrame(opcode: number, payload: Buffer, isFinal = true): Buffer {
  const first = (isFinal ? 0x80 : 0) | opcode;
  const { length } = payload;
  const head =
    length < 126
      ? Buffer.from([first, 0x80 | length])
      : length < 65_536
        ? Buffer.from([first, 0x80 | 126, length >> 8, length & 255])
        : Buffer.from([first, 0x80 | 127, 0, 0, 0, 0, ...[24, 16, 8, 0].map((by) => (length >>> by) & 255)]);
  const masked = Buffer.from(payload);
  // A loop is several times faster, and some tests send many megabytes.
  for (let at = 0; at < length; at += 1) masked[at] = (masked[at] as number) ^ (mask[at & 3] as number);
  return Buffer.concat([head, mask, masked]);
}
