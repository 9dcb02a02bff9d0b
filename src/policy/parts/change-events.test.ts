import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { EventField } from "./event-message.ts";
import { replaceInMessage } from "./event-replace.ts";
import type { FieldReplacement } from "./event-replace.ts";
import { makeEventStream, maxMessageBytes } from "./change-events.ts";
import { ReplaceFault } from "./replacing.ts";
import { patternFor } from "./shared-patterns.ts";
import { compileReplacement } from "./replacement.ts";

/** Returns the observed messages, and the output. */
async function pass(
  chunks: readonly (string | Buffer)[],
  change = (_message: string): string | undefined => undefined,
) {
  const messages: string[] = [];
  let tooLong = 0;
  const stream = makeEventStream({
    change(bytes) {
      messages.push(bytes.toString("latin1"));
      const changed = change(bytes.toString());
      return changed === undefined ? undefined : Buffer.from(changed);
    },
    tooLong: () => (tooLong += 1),
  });
  const pieces: Buffer[] = [];
  stream.on("data", (piece: Buffer) => pieces.push(piece));
  const ended = new Promise((resolve, reject) => stream.on("end", resolve).on("error", reject));
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  await ended;
  return { messages, out: Buffer.concat(pieces).toString("latin1"), pieces, tooLong };
}

const latin = (text: string): string => Buffer.from(text).toString("latin1");

const streams: readonly (readonly [text: string, messages: readonly string[]])[] = [
  ["data: a\n\ndata: b\n\n", ["data: a\n\n", "data: b\n\n"]],
  ["data: a\r\n\r\ndata: b\r\n\r\n", ["data: a\r\n\r\n", "data: b\r\n\r\n"]],
  ["data: a\r\rdata: b\r\r", ["data: a\r\r", "data: b\r\r"]],
  ["data: a\n\r\ndata: b\r\n\n", ["data: a\n\r\n", "data: b\r\n\n"]],
  ["data: a\r\n\rdata: b\n\r", ["data: a\r\n\r", "data: b\n\r"]],
  ["\n\ndata: a\n\n\n\ndata: b", ["\n", "\n", "data: a\n\n", "\n", "\n", "data: b"]],
  ["data: a\ndata: b\nid: 1\n: note\n\n", ["data: a\ndata: b\nid: 1\n: note\n\n"]],
  ["data: \u{1f9c0}\u{e9}\n\n\u{feff}data\n\n", ["data: \u{1f9c0}\u{e9}\n\n", "\u{feff}data\n\n"]],
  ["", []],
];

describe("an event stream", () => {
  it("an event stream is split at empty lines, and passes byte for byte in any chunks", async () => {
    for (const [text, expected] of streams) {
      const bytes = Buffer.from(text);
      for (let size = 1; size <= bytes.length; size += 1) {
        const chunks = [];
        for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
        const { messages, out } = await pass(chunks);
        assert.equal(out, latin(text), `${JSON.stringify(text)} by ${size}`);
        // An LF after a CR that already ended the message arrives separately.
        const joined = messages.map((one) => one.replaceAll("\r\n", "\r").replaceAll("\n", "\r"));
        assert.deepEqual(
          joined,
          expected.map((one) => latin(one).replaceAll("\r\n", "\r").replaceAll("\n", "\r")),
          `${JSON.stringify(text)} by ${size}`,
        );
      }
    }
  });

  it("an event stream passes on a complete message without waiting for the next one", async () => {
    const stream = makeEventStream({ change: () => undefined });
    const seen: string[] = [];
    stream.on("data", (piece: Buffer) => seen.push(piece.toString()));
    for (const [written, expected] of [
      ["data: a\n", []],
      ["\nda", ["data: a\n\n"]],
      ["ta: b\r\r", ["data: a\n\n", "data: b\r\r"]],
    ] as const) {
      await new Promise((resolve) => stream.write(written, resolve));
      await new Promise(setImmediate);
      assert.deepEqual(seen, expected);
    }
    stream.destroy();
  });

  it("an event stream replaces changed messages in order", async () => {
    const { out } = await pass(["data: a\n\ndata: b\n\nda", "ta: c"], (message) => message.toUpperCase());
    assert.equal(out, "DATA: A\n\nDATA: B\n\nDATA: C");
  });

  it("an event stream buffers at most one message of limited size, passes longer ones unchanged, and then continues to parse", async () => {
    const long = Buffer.from(`data: ${"x".repeat(10 * maxMessageBytes)}\n\n`);
    const chunks = [];
    for (let at = 0; at < long.length; at += 1000) chunks.push(long.subarray(at, at + 1000));
    const { out, messages, tooLong, pieces } = await pass([...chunks, "data: b\n\n"], (message) =>
      message.toUpperCase(),
    );
    assert.equal(out, `${long.toString()}DATA: B\n\n`);
    assert.deepEqual(messages, ["data: b\n\n"]);
    assert.equal(tooLong, 1);
    assert.ok(pieces.every((piece) => piece.length <= maxMessageBytes));
  });

  it("an event stream ends with the error of a failed change", async () => {
    await assert.rejects(
      pass(["data: a\n\n"], () => {
        throw new Error("broken");
      }),
      /broken/,
    );
  });
});

describe("replacements in a message", () => {
  const on = (field: EventField, from: string, to: string): FieldReplacement => {
    const pattern = patternFor(from);
    assert.ok(typeof pattern !== "string");
    return { field, pattern, to: compileReplacement(to) };
  };
  const replace = async (message: string, ...list: readonly FieldReplacement[]): Promise<string> => {
    const result = await replaceInMessage(Buffer.from(message), list, "ac_1");
    return result instanceof ReplaceFault ? `fault: ${result.message}` : result.content.toString();
  };

  const rows: readonly (readonly [message: string, list: readonly FieldReplacement[], result: string])[] = [
    ["data: a secret\n\n", [on("data", "secret", "word")], "data: a word\n\n"],
    ["data:a secret\r\nid: 1\r\n\r\n", [on("data", "secret", "word")], "data: a word\r\nid: 1\r\n\r\n"],
    ["data: a\ndata: b\n\n", [on("data", "a\nb", "c")], "data: c\n\n"],
    [
      "id: 1\ndata: a\n: note\ndata: b\nevent: x\n\n",
      [on("data", "b", "c")],
      "id: 1\ndata: a\ndata: c\n: note\nevent: x\n\n",
    ],
    [
      "data: a\n\n",
      [on("data", "a", "x\nevent: evil\r\n\r\ndata: y")],
      "data: x\ndata: event: evil\ndata: \ndata: data: y\n\n",
    ],
    ["data: a\rid: 1\r\r", [on("data", "a", "x\ny")], "data: x\rdata: y\rid: 1\r\r"],
    ["data\n\n", [on("data", "^$", "x")], "data: x\n\n"],
    ["data:  a\n\n", [on("data", "a", "b")], "data:  b\n\n"],
    ["data: a: b\n\n", [on("data", ": b", "")], "data: a\n\n"],
    ["data: a", [on("data", "a", "b")], "data: b\n"],
    ["\u{feff}data: a\n\n", [on("data", "a", "b")], "\u{feff}data: b\n\n"],
    ["data:a\n\n", [on("data", "x", "y")], "data:a\n\n"],
    [": data secret\n\n", [on("data", "secret", "y")], ": data secret\n\n"],
    ["Data: secret\n\n", [on("data", "secret", "y")], "Data: secret\n\n"],
    ["retry: 10\n\n", [on("retry", "^10$", "5000")], "retry: 5000\n\n"],
    ["retry: 10\ndata: x\n\n", [on("retry", "10", "soon")], "fault: the field retry cannot contain the new value"],
    ["id: 10\n\n", [on("id", "10", "1\n\ndata: evil")], "fault: the field id cannot contain the new value"],
    ["event: a\ndata: a\n\n", [on("event", "a", "b"), on("data", "a", "c")], "event: b\ndata: c\n\n"],
    ["data: a\n\n", [on("data", "a", "b"), on("data", "b", "🧀")], "data: 🧀\n\n"],
    ["\n", [on("data", "a", "b")], "\n"],
  ];
  for (const [message, list, result] of rows) {
    it(`replacements in a message produce ${JSON.stringify(result)} from ${JSON.stringify(message)}`, async () => {
      assert.equal(await replace(message, ...list), result);
    });
  }

  it("replacements in a message leave it unchanged if it is not UTF-8, or would become too long", async () => {
    const wrong = await replaceInMessage(Buffer.from([0x64, 0xff]), [on("data", "a", "b")], "ac_1");
    assert.ok(wrong instanceof ReplaceFault);
    assert.match(
      await replace(`data: ${"a".repeat(60_000)}\n\n`, on("data", "a+", "$0$0$0$0$0$0$0$0")),
      /^fault: .*longer/,
    );
  });
});
