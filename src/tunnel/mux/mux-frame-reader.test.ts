import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../../test/support/random.ts";
import { headerLength, writeHeader, writeUint32 } from "./frame.ts";
import { FrameReader } from "./mux-frame-reader.ts";
import type { FrameHandler } from "./mux-frame-reader.ts";

/** Records frames in a form that does not depend on how chunks were split. */
class Notes implements FrameHandler {
  readonly seen: string[] = [];
  payload = "";
  readonly refused: ReadonlySet<number>;

  constructor(refused: readonly number[] = []) {
    this.refused = new Set(refused);
  }

  dataBegins(streamId: number, flags: number, length: number): boolean {
    this.seen.push(`data ${streamId} flags ${flags} length ${length}`);
    return !this.refused.has(streamId);
  }

  data(bytes: Buffer): void {
    this.payload += bytes.toString("latin1");
  }

  dataEnds(): void {
    this.seen.push(`payload ${this.payload}`);
    this.payload = "";
  }

  reset(streamId: number, code: number): void {
    this.seen.push(`reset ${streamId} ${code}`);
  }

  windowIncrement(streamId: number, increment: number): void {
    this.seen.push(`credit ${streamId} ${increment}`);
  }

  goAway(lastStreamId: number, code: number): void {
    this.seen.push(`goaway ${lastStreamId} ${code}`);
  }

  unknownFrame(length: number): void {
    this.seen.push(`unknown ${length}`);
  }
}

function frame(type: number, flags: number, streamId: number, body: Buffer | string, length?: number): Buffer {
  const bytes = Buffer.from(body as string, "latin1");
  const whole = Buffer.concat([Buffer.alloc(headerLength), bytes]);
  writeHeader(whole, 0, length ?? bytes.length, (type << 4) | flags, streamId);
  return whole;
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, at) => writeUint32(bytes, at * 4, value));
  return bytes;
}

const conversation = Buffer.concat([
  frame(1, 2, 3, "hello"),
  frame(1, 0, 3, ""),
  frame(1, 1, 3, ""),
  frame(2, 0, 3, words(65_536)),
  frame(0, 0, 5, words(8)),
  frame(1, 3, 7, "skipped payload"),
  frame(9, 15, 0, "a frame of the future"),
  frame(12, 0, 9, ""),
  frame(1, 2, 0x7ffffffd, "end"),
  frame(3, 0, 0, Buffer.concat([words(7, 10), Buffer.from("text")]), 4),
]);

const understood = [
  "data 3 flags 2 length 5",
  "payload hello",
  "data 3 flags 0 length 0",
  "payload ",
  "data 3 flags 1 length 0",
  "payload ",
  "credit 3 65536",
  "reset 5 8",
  "data 7 flags 3 length 15",
  "unknown 21",
  "unknown 0",
  "data 2147483645 flags 2 length 3",
  "payload end",
  "goaway 7 10",
];

describe("the frame reader", () => {
  it("the frame reader reads a conversation split in two at any byte", () => {
    for (let cut = 0; cut <= conversation.length; cut += 1) {
      const notes = new Notes([7]);
      const reader = new FrameReader(notes);
      reader.read(conversation.subarray(0, cut));
      reader.read(conversation.subarray(cut));
      assert.deepEqual(notes.seen, understood, `cut at ${cut}`);
    }
  });

  it("the frame reader reads a conversation in pieces of any size", () => {
    const random = seededRandom(1);
    for (let round = 0; round < 300; round += 1) {
      const notes = new Notes([7]);
      const reader = new FrameReader(notes);
      for (let at = 0; at < conversation.length;) {
        const end = at + 1 + random.below(round % 30);
        reader.read(conversation.subarray(at, end));
        at = end;
      }
      assert.deepEqual(notes.seen, understood);
    }
  });

  it("the frame reader passes payloads on without copying them", () => {
    const chunk = Buffer.concat([frame(1, 2, 3, "one"), frame(1, 0, 3, "two")]);
    const parts: Buffer[] = [];
    const notes = new Notes();
    notes.data = (bytes) => parts.push(bytes);
    new FrameReader(notes).read(chunk);
    assert.deepEqual(
      parts.map((part) => [part.buffer === chunk.buffer, part.toString()]),
      [
        [true, "one"],
        [true, "two"],
      ],
    );
  });

  it("the frame reader reads nothing after it is stopped, even within a chunk", () => {
    const notes = new Notes();
    const reader = new FrameReader(notes);
    notes.data = () => reader.stop();
    reader.read(Buffer.concat([frame(1, 2, 3, "one"), frame(1, 0, 3, "two")]));
    reader.read(frame(1, 0, 3, "three"));
    assert.deepEqual(notes.seen, ["data 3 flags 2 length 3"]);
  });

  for (const [what, bytes] of [
    ["DATA on stream 0", frame(1, 2, 0, "x")],
    ["RST on stream 0", frame(0, 0, 0, words(1))],
    ["RST of 3 bytes", frame(0, 0, 3, "abc")],
    ["WNDINC of 8 bytes", frame(2, 0, 3, words(1, 1))],
  ] as const) {
    it(`the frame reader rejects ${what}`, () => {
      assert.throws(() => new FrameReader(new Notes()).read(bytes), { name: "Error" });
    });
  }

  it("G1: the frame reader accepts garbage without storing it", () => {
    const random = seededRandom(2);
    for (let round = 0; round < 200; round += 1) {
      const notes = new Notes();
      const reader = new FrameReader(notes);
      const garbage = Buffer.from(Array.from({ length: 2000 }, () => random.below(256)));
      try {
        reader.read(garbage);
      } catch (error) {
        assert.match((error as Error).message, /stream 0|bytes/);
      }
    }
  });
});
