import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../test/support/random.ts";
import { binaryHead, closeFrame, pongFrame } from "./websocket-frames.ts";
import { FrameBoundary } from "./frame-boundary.ts";

const masked = Buffer.from([0x82, 0x83, 1, 2, 3, 4, 5, 6, 7]);
const frames: readonly Buffer[] = [
  ...[0, 1, 125, 126, 65_535, 65_536, 200_000].map((length) =>
    Buffer.concat([binaryHead(length), Buffer.alloc(length, 0x88)]),
  ),
  pongFrame(Buffer.alloc(0)),
  masked,
  Buffer.from([0x01, 0]),
  Buffer.from([0x80, 1, 0x88]),
];
const stream = Buffer.concat(frames);
const ends = new Set<number>();
for (let at = 0, end = 0; at < frames.length; at += 1) ends.add((end += (frames[at] as Buffer).length));

describe("the boundary between a server's frames", () => {
  it("the boundary between a server's frames is known for every split of the bytes", () => {
    const random = seededRandom(5);
    for (let round = 0; round < 40; round += 1) {
      const boundary = new FrameBoundary();
      for (let at = 0; at < stream.length;) {
        const piece = stream.subarray(at, at + 1 + random.below(random.pick([2, 20, 70_000])));
        at += piece.length;
        boundary.pass(piece);
        assert.equal(boundary.isBetween, ends.has(at), `at ${at}`);
      }
      assert.equal(boundary.isClosing, false);
      boundary.pass(closeFrame(1000).subarray(0, 1));
      assert.deepEqual([boundary.isClosing, boundary.isBetween], [true, false]);
    }
  });

  it("the boundary between a server's frames is found inside a piece, and nothing is read beyond it", () => {
    let begin = 0;
    for (const frame of frames) {
      for (let split = 1; split < Math.min(frame.length, 20); split += 1) {
        const boundary = new FrameBoundary();
        boundary.pass(frame.subarray(0, split));
        assert.equal(boundary.passFrame(stream.subarray(begin + split)), frame.length - split);
        assert.equal(boundary.isBetween, true);
      }
      begin += frame.length;
    }
  });
});
