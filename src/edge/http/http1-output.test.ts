/** Output for an HTTP/1.1 client that reads nothing: few pieces wait, and they retain no shared block. */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { Writable } from "node:stream";
import { describe, it } from "node:test";
import { Http1Output } from "./http1-output.ts";

/** Creates a socket that accepts one write and then nothing until `release` is called. */
function slowSocket() {
  const taken: Buffer[] = [];
  let waiting: (() => void) | undefined;
  let isOpen = false;
  const socket = new Writable({
    highWaterMark: 64 * 1024,
    writev(chunks, done) {
      for (const { chunk } of chunks) taken.push(chunk as Buffer);
      if (isOpen) done();
      else waiting = done;
    },
  });
  const release = (): void => {
    isOpen = true;
    waiting?.();
  };
  return { socket: socket as unknown as Socket, taken, release };
}

describe("the output of HTTP/1.1", () => {
  it("D3: the output of HTTP/1.1 stops after few waiting one-byte pieces and counts the memory of each", async () => {
    const { socket, taken, release } = slowSocket();
    let drains = 0;
    const output = new Http1Output(socket, () => (drains += 1));
    const block = Buffer.alloc(64 * 1024, "0123456789");
    output.write(block.subarray(0, 1));
    await new Promise(setImmediate);
    let written = 1;
    for (let goesOn = true; goesOn; written += 1) {
      goesOn = output.write(block.subarray(written, written + 1));
      await new Promise(setImmediate);
      assert.ok(written < 1000, "the output takes any number of pieces");
    }
    assert.ok(output.waitingBytes >= 64 * 256);
    assert.equal(drains, 0);
    release();
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    assert.equal(drains, 1);
    assert.equal(output.waitingBytes, 0);
    assert.deepEqual(Buffer.concat(taken), block.subarray(0, written));
    assert.ok(
      taken.slice(1).every(({ buffer }) => buffer !== block.buffer),
      "the block is free",
    );
    assert.equal(output.write(block.subarray(0, 1)), true);
  });
});
