/** Handmade HTTP/2 frames that only a faulty client sends, and all frames of the response. */
import { once } from "node:events";
import { connect } from "node:tls";
import type { TLSSocket } from "node:tls";
import { flag, frameType as types, preface } from "../../src/http2/http2-frames.ts";

export { errorCode as codes, frameType as types, preface } from "../../src/http2/http2-frames.ts";
export const flags = { none: 0, ...flag } as const;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly id: number;
  readonly payload: Buffer;
}

export function frame(type: number, frameFlags: number, id: number, ...payload: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(payload);
  const header = Buffer.alloc(9);
  header.writeUIntBE(body.length, 0, 3);
  header[3] = type;
  header[4] = frameFlags;
  header.writeUInt32BE(id, 5);
  return Buffer.concat([header, body]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

export function settings(...pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  return Buffer.concat(pairs.map(([id, value]) => Buffer.concat([Buffer.from([0, id]), uint32(value)])));
}

/** Returns a header block of literals, without Huffman code and without indexing. */
export function block(fields: readonly (readonly [name: string, value: string])[], representation = 0): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([representation]), text(name), text(value)]));
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  const length: number[] = [];
  if (bytes.length < 127) {
    length.push(bytes.length);
  } else {
    length.push(127);
    let rest = bytes.length - 127;
    for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}

export interface H2Target {
  readonly port: number;
  readonly host: string;
  readonly ca: string;
}

/** One raw connection. It stores received frames until the test takes them. */
export class RawH2 {
  readonly socket: TLSSocket;
  readonly #frames: Frame[] = [];
  readonly #wanted: { readonly fits: (frame: Frame) => boolean; readonly done: (frame: Frame | undefined) => void }[] =
    [];
  #bytes: Buffer = Buffer.alloc(0);
  #ended = false;
  #pings = 0;
  readonly host: string;

  private constructor(socket: TLSSocket, host: string) {
    this.socket = socket;
    this.host = host;
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#ended = true;
      for (const { done } of this.#wanted.splice(0)) done(undefined);
    });
  }

  /** Connects and sends nothing. `greet` sends the client's preface. */
  static async connect({ port, host, ca }: H2Target): Promise<RawH2> {
    const socket = connect({ port, host: "127.0.0.1", servername: host, ca, ALPNProtocols: ["h2"] });
    await once(socket, "secureConnect");
    return new RawH2(socket, host);
  }

  static async open(target: H2Target, ...pairs: readonly (readonly [number, number])[]): Promise<RawH2> {
    const raw = await RawH2.connect(target);
    raw.greet(...pairs);
    return raw;
  }

  greet(...pairs: readonly (readonly [number, number])[]): void {
    this.send(preface, frame(types.settings, 0, 0, settings(...pairs)));
  }

  send(...frames: readonly Uint8Array[]): void {
    this.socket.write(Buffer.concat(frames));
  }

  /** Fields of an ordinary request. */
  fields(method = "GET", path = "/"): [string, string][] {
    return [
      [":method", method],
      [":scheme", "https"],
      [":authority", this.host],
      [":path", path],
    ];
  }

  request(id: number, fields: readonly (readonly [string, string])[] = this.fields(), ended = true): void {
    this.send(frame(types.headers, flags.endHeaders | (ended ? flags.endStream : 0), id, block(fields)));
  }

  /** Returns the next matching frame, past or future; undefined if the connection ends first. */
  take(fits: (frame: Frame) => boolean): Promise<Frame | undefined> {
    const at = this.#frames.findIndex(fits);
    if (at >= 0) return Promise.resolve(this.#frames.splice(at, 1)[0]);
    if (this.#ended) return Promise.resolve(undefined);
    return new Promise((done) => this.#wanted.push({ fits, done }));
  }

  takeType(type: number, id?: number): Promise<Frame | undefined> {
    return this.take((one) => one.type === type && (id === undefined || one.id === id));
  }

  /** Received frames that the test has not taken. */
  get rest(): readonly Frame[] {
    return this.#frames;
  }

  /** Returns the code of the GOAWAY that ends the connection. */
  async goawayCode(): Promise<number | undefined> {
    const goaway = await this.takeType(types.goaway);
    return goaway?.payload.readUInt32BE(4);
  }

  /** Returns the code of the server's stream reset; undefined if the connection ends first. */
  async resetCode(id: number): Promise<number | undefined> {
    const reset = await this.take((one) => one.id === id && one.type === types.rstStream);
    return reset?.payload.readUInt32BE(0);
  }

  /** Resolves with true when the server has read everything sent before, or with false if the connection ends first. */
  async settled(): Promise<boolean> {
    this.#pings += 1;
    const mark = Buffer.alloc(8, this.#pings);
    this.send(frame(types.ping, 0, 0, mark));
    const answer = await this.take(
      (one) => one.type === types.ping && one.flags === flags.ack && one.payload.equals(mark),
    );
    return answer !== undefined;
  }

  async closed(): Promise<void> {
    if (!this.socket.closed) await once(this.socket, "close");
  }

  destroy(): void {
    this.socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    while (this.#bytes.length >= 9) {
      const length = this.#bytes.readUIntBE(0, 3);
      if (this.#bytes.length < 9 + length) return;
      const one: Frame = {
        type: this.#bytes[3] as number,
        flags: this.#bytes[4] as number,
        id: this.#bytes.readUInt32BE(5),
        payload: this.#bytes.subarray(9, 9 + length),
      };
      this.#bytes = this.#bytes.subarray(9 + length);
      const waiter = this.#wanted.findIndex(({ fits }) => fits(one));
      if (waiter >= 0) this.#wanted.splice(waiter, 1)[0]?.done(one);
      else this.#frames.push(one);
    }
  }
}
