/** An agent that sends exactly what the test specifies: frames written and read by hand over a real TLS connection. */
import { once } from "node:events";
import { connect } from "node:tls";
import type { TLSSocket } from "node:tls";
import { rightToken } from "./tunnel-server.ts";

export interface RawFrame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly body: Buffer;
}

export const fin = 1;
export const syn = 2;

export function frame(type: number, flags: number, streamId: number, body: Buffer | string): Buffer {
  const bytes = Buffer.from(body as string);
  const header = Buffer.alloc(8);
  header.writeUIntBE(bytes.length, 0, 3);
  header[3] = (type << 4) | flags;
  header.writeUInt32BE(streamId, 4);
  return Buffer.concat([header, bytes]);
}

export function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Returns the bytes that open a stream of this type, with a message. */
export function question(streamId: number, type: number, message: unknown): Buffer {
  return frame(1, syn, streamId, Buffer.concat([word(type), Buffer.from(JSON.stringify(message))]));
}

export class RawAgent {
  readonly socket: TLSSocket;
  readonly frames: RawFrame[] = [];
  /** Resolves when the server has closed the connection. */
  readonly closed: Promise<unknown>;
  #rest = Buffer.alloc(0);
  readonly #waiting: { readonly holds: () => boolean; readonly go: () => void }[] = [];

  constructor(socket: TLSSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => this.#read(bytes));
  }

  write(...parts: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(parts));
  }

  /** Waits for the first matching frame and returns it. */
  async frame(fits: (frame: RawFrame) => boolean): Promise<RawFrame> {
    await this.until(() => this.frames.some(fits));
    return this.frames.find(fits) as RawFrame;
  }

  /** Returns the JSON response on a stream, once its sender has ended the stream. */
  async answer(streamId: number): Promise<Record<string, unknown>> {
    await this.until(() => this.frames.some((one) => one.streamId === streamId && one.type === 1 && one.flags & fin));
    return JSON.parse(this.payload(streamId)) as Record<string, unknown>;
  }

  payload(streamId: number): string {
    const parts = this.frames.filter((one) => one.type === 1 && one.streamId === streamId).map((one) => one.body);
    return Buffer.concat(parts).toString();
  }

  /** Returns the code of the GOAWAY that ended the session. */
  async goodbye(): Promise<number> {
    const { body } = await this.frame((one) => one.type === 3);
    return body.readUInt32BE(4);
  }

  until(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve();
    return new Promise((go) => this.#waiting.push({ holds, go }));
  }

  /** Authenticates on stream 3. */
  authenticate(
    changes: Record<string, unknown> = {},
    extra: Record<string, unknown> = {},
  ): Promise<Record<string, unknown>> {
    this.write(question(3, 0, auth(changes, extra)));
    return this.answer(3);
  }

  #read(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    while (this.#rest.length >= 8) {
      const end = 8 + this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < end) break;
      this.frames.push({
        type: (this.#rest[3] as number) >> 4,
        flags: (this.#rest[3] as number) & 15,
        streamId: this.#rest.readUInt32BE(4),
        body: this.#rest.subarray(8, end),
      });
      this.#rest = this.#rest.subarray(end);
    }
    for (const one of this.#waiting.filter((waiter) => waiter.holds())) {
      this.#waiting.splice(this.#waiting.indexOf(one), 1);
      one.go();
    }
  }
}

/** Returns the authentication of a current Rust agent. */
export function auth(changes: Record<string, unknown> = {}, extra: Record<string, unknown> = {}): unknown {
  return {
    Version: ["3", "2"],
    ClientId: "",
    Extra: {
      OS: "linux",
      AuthToken: rightToken,
      Version: "0.18.0",
      UserAgent: "test/1 ngrok-javascript/1.7.0 ngrok-rust/0.18.0",
      Metadata: "",
      Cookie: "",
      HeartbeatInterval: 10e9,
      HeartbeatTolerance: 15e9,
      StopUnsupportedError: "",
      RestartUnsupportedError: "no restarts here",
      UpdateUnsupportedError: null,
      ...extra,
    },
    ...changes,
  };
}

export async function connectRaw(server: { readonly port: number }): Promise<RawAgent> {
  const socket = connect({ port: server.port, host: "127.0.0.1", rejectUnauthorized: false });
  const agent = new RawAgent(socket);
  await once(socket, "secureConnect");
  return agent;
}
