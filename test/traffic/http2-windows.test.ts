/** How much of a request body a client of HTTP/2 may send ahead (RFC 9113 §5.2). */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, it } from "node:test";
import { uploadReserveBytes } from "../../src/edge/http/http-context.ts";
import { createServer } from "../../src/lib/http.ts";
import { flags, frame, RawH2, types } from "../support/h2-frames.ts";
import { startH2Server } from "../support/h2-server.ts";
import type { H2Server } from "../support/h2-server.ts";

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
const first = 64 * kibibyte;

let server: H2Server;
const held: ServerResponse[] = [];
before(async () => {
  const upstream = createServer((request, response) => {
    request.resume().on("end", () => {
      if (request.url === "/held") held.push(response);
      else response.end("taken");
    });
  });
  server = await startH2Server(upstream);
});
after(() => server.stop());

/** A body sent as fast as the windows allow. */
class Upload {
  readonly client: RawH2;
  stream = first;
  connection = 64 * kibibyte - 1;

  private constructor(client: RawH2) {
    this.client = client;
  }

  /** Of a client that answers `roundTripMs` after it was greeted. */
  static async begin(roundTripMs: number, path = "/"): Promise<Upload> {
    const client = await RawH2.open(server);
    client.socket.setNoDelay(true);
    await client.takeType(types.settings);
    server.clock.pass(roundTripMs);
    client.send(frame(types.settings, flags.ack, 0));
    const upload = new Upload(client);
    await upload.#credited(0);
    client.request(1, client.fields("POST", path), false);
    return upload;
  }

  /** Sends as much as the window allows, which takes a round trip, and waits until most of it was read. */
  async round(roundTripMs: number): Promise<void> {
    const size = Math.min(this.stream, this.connection);
    const left = this.stream - size;
    server.clock.pass(roundTripMs);
    this.#send(size);
    while (this.stream < left + (size * 3) / 4) await this.#credited(1);
    while (this.client.rest.some(({ type }) => type === types.windowUpdate)) await this.#credited(0);
  }

  /** Sends this many bytes after this time, at least a quarter of the window, and waits until they were read. */
  async part(byteCount: number, afterMs: number): Promise<void> {
    server.clock.pass(afterMs);
    this.#send(byteCount);
    await this.#credited(1);
  }

  /** Waits until the connection's window has room for as much as the stream's, and for other streams besides. */
  async leavesRoom(): Promise<void> {
    while (this.connection < this.stream + mebibyte / 2) await this.#credited(0);
  }

  #send(byteCount: number): void {
    for (let left = byteCount; left > 0; left -= 16 * kibibyte) {
      this.client.send(frame(types.data, 0, 1, Buffer.alloc(Math.min(left, 16 * kibibyte))));
    }
    this.stream -= byteCount;
    this.connection -= byteCount;
  }

  async end(): Promise<void> {
    this.client.send(frame(types.data, flags.endStream, 1));
    await this.client.take(({ type, id }) => type === types.headers && id === 1);
    await this.client.settled();
    this.client.destroy();
  }

  async #credited(id: number): Promise<void> {
    const update = await this.client.take((one) => one.type === types.windowUpdate && (id === 0 || one.id === id));
    assert.ok(update, "the connection has ended");
    const increment = update.payload.readUInt32BE(0);
    if (update.id === 0) this.connection += increment;
    else this.stream += increment;
  }
}

it("an upload over HTTP/2 that distance holds up is given a larger window, of 8 MiB in the end", async () => {
  const upload = await Upload.begin(50);
  for (let round = 0; round < 12; round += 1) await upload.round(50);
  assert.ok(upload.stream <= 8 * mebibyte, `${upload.stream} bytes`);
  await upload.leavesRoom();
  assert.equal(uploadReserveBytes - server.context.uploadWindows.left, 8 * mebibyte - first);
  await upload.end();
  assert.equal(server.context.uploadWindows.left, uploadReserveBytes);
});

it("D1: an upload over HTTP/2 that has ended holds no window while it waits for its answer", async () => {
  const upload = await Upload.begin(50, "/held");
  for (let round = 0; round < 4; round += 1) await upload.round(50);
  assert.ok(server.context.uploadWindows.left < uploadReserveBytes);
  upload.client.send(frame(types.data, flags.endStream, 1));
  while (held.length === 0) await new Promise(setImmediate);
  assert.equal(server.context.uploadWindows.left, uploadReserveBytes);
  held.pop()?.end();
  upload.client.destroy();
});

it("D1: an upload over HTTP/2 whose client took long to answer the greeting does not count as distant", async () => {
  const upload = await Upload.begin(60_000);
  await upload.part(first / 4, 0);
  for (let nth = 0; nth < 8; nth += 1) await upload.part(first / 2, 2_000);
  assert.equal(upload.stream, 2 * first);
  await upload.end();
});

it("an upload over HTTP/2 that is slow for another reason keeps its window", async () => {
  const upload = await Upload.begin(50);
  // The speed of the first bytes is unknown.
  await upload.part(first / 4, 0);
  for (let nth = 0; nth < 32; nth += 1) await upload.part(first / 2, 250);
  assert.equal(upload.stream, 2 * first);
  await upload.end();
});

it("D1: all uploads over HTTP/2 together have at most 64 MiB beyond their initial windows", async () => {
  const { uploadWindows } = server.context;
  uploadWindows.left = 100 * kibibyte;
  const upload = await Upload.begin(50);
  for (let round = 0; round < 8; round += 1) await upload.round(50);
  assert.ok(upload.stream <= 2 * first, `${upload.stream} bytes`);
  assert.equal(uploadWindows.left, 36 * kibibyte);
  upload.client.destroy();
  while (uploadWindows.left < 100 * kibibyte) await new Promise(setImmediate);
  uploadWindows.left = uploadReserveBytes;
});
