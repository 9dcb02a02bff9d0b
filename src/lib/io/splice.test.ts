import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { discardingReceiver } from "./byte-stream.ts";
import { socketStream } from "./socket-stream.ts";
import { spliceStreams } from "./splice.ts";
import type { SpliceWatch } from "./splice.ts";

const server: Server = createServer({ allowHalfOpen: true, pauseOnConnect: true });

/** Returns the two ends of a TCP connection. */
async function pair(): Promise<readonly [Socket, Socket]> {
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const near = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
  near.on("error", () => {});
  return [near, (await accepted)[0]];
}

async function joined(watch?: SpliceWatch): Promise<readonly [Socket, Socket]> {
  const [[left, first], [right, second]] = [await pair(), await pair()];
  spliceStreams(socketStream(first, discardingReceiver, true), socketStream(second, discardingReceiver, true), watch);
  first.resume();
  second.resume();
  return [left, right];
}

async function readAll(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  if (!socket.readableEnded) await once(socket, "end");
  return text;
}

describe("a splice", () => {
  before(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  after(() => void server.close());

  it("a splice passes on an end while the other direction continues", async () => {
    const [left, right] = await joined();
    left.end("question");
    assert.equal(await readAll(right), "question");
    right.write("an");
    right.end("swer");
    assert.equal(await readAll(left), "answer");
  });

  it("a splice reports the bytes in both directions, and both ends", async () => {
    const told: string[] = [];
    const over = Promise.withResolvers<void>();
    const [left, right] = await joined({
      forth: (bytes) => told.push(`> ${bytes.toString()}`),
      back: (bytes) => told.push(`< ${bytes.toString()}`),
      closed: (error) => {
        told.push(`closed ${error?.message ?? "well"}`);
        if (told.length === 4) over.resolve();
      },
    });
    left.end("one");
    await readAll(right);
    right.end("two");
    await readAll(left);
    await over.promise;
    assert.deepEqual(told, ["> one", "< two", "closed well", "closed well"]);
  });

  it("a splice aborts one side when the other is reset", async () => {
    const [left, right] = await joined();
    left.write("half of");
    await once(right, "data");
    const failed = once(right, "error");
    left.resetAndDestroy();
    assert.equal(((await failed) as [NodeJS.ErrnoException])[0].code, "ECONNRESET");
  });

  it("D3: a splice reads from one side only as fast as the other side accepts", async () => {
    const [left, right] = await joined();
    right.pause();
    const block = Buffer.alloc(256 * 1024, 97);
    let sent = 0;
    // Many times the kernel's buffers of two connections, and the windows between them.
    while (sent < 256 * 1024 * 1024 && left.writableLength < 4 * block.length) {
      left.write(block);
      sent += block.length;
      if (left.writableLength > 0) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(sent < 64 * 1024 * 1024, `${sent} bytes were taken for a reader that takes none`);
    left.end();
    let got = 0;
    right.on("data", (bytes: Buffer) => (got += bytes.length));
    right.resume();
    await once(right, "end");
    assert.equal(got, sent);
    right.end();
    await once(left, "close");
  });
});
