/** A TLS client that can insert its own bytes between TLS records. It never closes automatically. */
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import type { ConnectionOptions, TLSSocket } from "node:tls";
import type { Random } from "./random.ts";

export interface BrokenClient {
  /** The TCP connection below TLS. */
  readonly bare: Socket;
  readonly tls: TLSSocket;
  /** Resolves with the alert that the TLS client received, by its name in errors. */
  readonly alert: Promise<string>;
}

/** Opens a half-open connection, so that the test sees only the server's own end or reset. */
export async function bareClient(port: number): Promise<Socket> {
  const bare = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  bare.on("error", () => {});
  await once(bare, "connect");
  return bare;
}

export async function brokenClient(port: number, options: ConnectionOptions): Promise<BrokenClient> {
  const bare = await bareClient(port);
  const between = new Duplex({
    read() {},
    write(bytes: Buffer, _encoding, done) {
      bare.write(bytes);
      done();
    },
  });
  bare.on("data", (bytes) => between.push(bytes));
  const tls = connectTls({ ...options, socket: between });
  const alert = Promise.withResolvers<string>();
  tls.on("error", (error: NodeJS.ErrnoException) => alert.resolve(String(error.code)));
  await once(tls, "secureConnect");
  tls.resume();
  return { bare, tls, alert: alert.promise };
}

/** Returns the first bytes that a TLS client sends. */
export async function helloOf(options: ConnectionOptions): Promise<Buffer> {
  const written = Promise.withResolvers<Buffer>();
  const nowhere = new Duplex({
    read() {},
    write(bytes: Buffer, _encoding, done) {
      written.resolve(bytes);
      done();
    },
  });
  const client = connectTls({ ...options, socket: nowhere });
  client.on("error", () => {});
  const hello = await written.promise;
  client.destroy();
  return hello;
}

/** Resolves when the server has ended or reset the connection. */
export function serverGone(bare: Socket): Promise<void> {
  return new Promise((resolve) => {
    bare.once("end", resolve);
    bare.once("close", resolve);
    bare.resume();
  });
}

/** Returns a whole record that was not encrypted with any key of the connection. */
export function brokenRecord(random: Random, types: readonly number[]): Buffer {
  const body = Buffer.from(Array.from({ length: 1 + random.below(200) }, () => random.below(256)));
  return Buffer.concat([Buffer.from([random.pick(types), 3, 3, body.length >> 8, body.length & 255]), body]);
}
