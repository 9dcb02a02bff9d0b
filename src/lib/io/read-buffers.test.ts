import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { after, before, it } from "node:test";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { readingIntoShared } from "./read-buffers.ts";
import { createSelfSigned } from "../certificates/x509.ts";

let server: Server;
const accepted: Socket[] = [];
before(async () => {
  server = createServer((socket) => void accepted.push(socket.on("error", () => {}))).listen(0, "127.0.0.1");
  await once(server, "listening");
});
after(() => {
  for (const socket of accepted) socket.destroy();
  server.close();
});

/** Returns both ends of a connection. The first one reads into the shared block. */
async function connected(): Promise<readonly [reads: Socket, writes: Socket]> {
  const other = once(server, "connection") as Promise<[Socket]>;
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true, ...readingIntoShared() });
  await once(socket, "connect");
  return [socket, (await other)[0]];
}

it("bytes that were read stay unchanged while other sockets read into the same block, in any amount", async () => {
  const pairs = [await connected(), await connected(), await connected()];
  const kept = pairs.map(([reads]) => {
    const chunks: Buffer[] = [];
    reads.on("data", (bytes: Buffer) => chunks.push(bytes));
    return chunks;
  });
  const sizes = [3, 200_000, 1, 16_384, 16_385, 1_000_000, 70, 65_536, 65_537, 9];
  const parts = pairs.map((_, nth) => sizes.map((size, at) => Buffer.alloc(size, 1 + nth * sizes.length + at)));
  for (const at of sizes.keys()) {
    const came = pairs.map(([reads], nth) => arrived(reads, kept[nth] as Buffer[], sumOf(sizes.slice(0, at + 1))));
    for (const [nth, [, writes]] of pairs.entries()) writes.write((parts[nth] as Buffer[])[at] as Buffer);
    await Promise.all(came);
  }
  for (const nth of pairs.keys()) {
    assert.ok(Buffer.concat(kept[nth] as Buffer[]).equals(Buffer.concat(parts[nth] as Buffer[])), `connection ${nth}`);
  }
  for (const [reads] of pairs) reads.destroy();
});

it("a socket that reads into the shared block can be paused and resumed, and receives the end", async () => {
  const [reads, writes] = await connected();
  let got = 0;
  reads.on("data", (bytes: Buffer) => {
    got += bytes.length;
    reads.pause();
    setImmediate(() => reads.resume());
  });
  const ended = once(reads, "end");
  writes.end(Buffer.alloc(3_000_000));
  await ended;
  assert.equal(got, 3_000_000);
  reads.destroy();
});

it("reads of TLS between reads into the shared block do not get a block each", async () => {
  const own = await createSelfSigned({ names: ["service.example.com"], now: Date.now(), days: 1 });
  const secure = createTlsServer({ cert: own.certificatePem, key: own.keyPem }).listen(0, "127.0.0.1");
  await once(secure, "listening");
  const far = once(secure, "secureConnection") as Promise<[Socket]>;
  const { port } = secure.address() as AddressInfo;
  const near = connectTls({ port, host: "127.0.0.1", ca: own.certificatePem, servername: "service.example.com" });
  await once(near, "secureConnect");
  const [reads, writes] = await connected();
  const [tells] = await far;
  const blocks = new Set<ArrayBufferLike>();
  near.on("data", (bytes: Buffer) => blocks.add(bytes.buffer));
  for (let nth = 0; nth < 100; nth += 1) {
    const told = once(near, "data");
    tells.write("x".repeat(200));
    await told;
    const came = once(reads, "data");
    writes.write("y".repeat(1000));
    await came;
  }
  assert.ok(blocks.size < 10, `${blocks.size} blocks for 100 reads`);
  for (const socket of [near, reads, tells]) socket.destroy();
  secure.close();
});

function sumOf(sizes: readonly number[]): number {
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Resolves when `chunks` contain this many bytes. */
async function arrived(reads: Socket, chunks: readonly Buffer[], byteCount: number): Promise<void> {
  while (sumOf(chunks.map(({ length }) => length)) < byteCount) await once(reads, "data");
}
