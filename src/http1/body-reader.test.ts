import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BodyReader } from "./body-reader.ts";

interface Outcome {
  readonly body: string;
  readonly trailers: readonly (readonly [string, string])[];
  /** Bytes after the message; undefined if the message was incomplete or refused. */
  readonly rest: string | undefined;
  readonly refused: boolean;
}

/** Reads `pieces` as one body of length `length`, or of unknown length. */
function read(pieces: readonly Buffer[], length?: number): Outcome {
  const reader = new BodyReader();
  if (length === undefined) reader.startChunked();
  else reader.startLength(length);
  let body = "";
  let rest = "";
  for (const piece of pieces) {
    let at = 0;
    while (at < piece.length && !reader.done) {
      at = reader.step(piece, at);
      if (at < 0) return { body, trailers: [], rest: undefined, refused: true };
      body += piece.toString("latin1", reader.pieceStart, reader.pieceEnd);
    }
    rest += piece.toString("latin1", at);
  }
  const trailers = reader.trailers?.entries() ?? [];
  return { body, trailers, rest: reader.done ? rest : undefined, refused: false };
}

const whole = (text: string, length?: number): Outcome => read([Buffer.from(text, "latin1")], length);

const good: readonly (readonly [text: string, body: string])[] = [
  ["5\r\nhello\r\n0\r\n\r\nNEXT", "hello"],
  ["0\r\n\r\nNEXT", ""],
  ["000A\r\n0123456789\r\n1\r\nx\r\n00\r\n\r\nNEXT", "0123456789x"],
  ["3;a=b;c\r\nabc\r\n0;z\r\n\r\nNEXT", "abc"],
  ["3\r\n\r\n0\r\n0\r\n\r\nNEXT", "\r\n0"],
  ["2\r\nok\r\n0\r\nX-Sum: 1\r\nx-other:\r\n\r\nNEXT", "ok"],
];

const refused: readonly (readonly [what: string, text: string])[] = [
  ["W1: no size", "\r\nabc\r\n0\r\n\r\n"],
  ["W1: a size that is no number", "g\r\nabc\r\n0\r\n\r\n"],
  ["W1: a size with 0x", "0x3\r\nabc\r\n0\r\n\r\n"],
  ["W1: a negative size", "-3\r\nabc\r\n0\r\n\r\n"],
  ["W1: a size with a sign", "+3\r\nabc\r\n0\r\n\r\n"],
  ["W1: a blank before the size", " 3\r\nabc\r\n0\r\n\r\n"],
  ["W1: a blank behind the size", "3 \r\nabc\r\n0\r\n\r\n"],
  ["W1: a size beyond what a number holds", "FFFFFFFFFFFFFFFFF\r\nabc"],
  ["W1: a size that wraps 64 bits", "10000000000000003\r\nabc\r\n0\r\n\r\n"],
  ["W1: a size line ended by LF", "3\nabc\r\n0\r\n\r\n"],
  ["W1: a size line ended by CR", "3\rabc\r\n0\r\n\r\n"],
  ["W1: data longer than its size", "3\r\nabcd\r\n0\r\n\r\n"],
  ["W1: data ended by LF", "3\r\nabc\n0\r\n\r\n"],
  ["W1: data followed by other than CR LF", "3\r\nabcXX0\r\n\r\n"],
  ["W7: an extension over the cap", `3;${"a".repeat(300)}\r\nabc\r\n0\r\n\r\n`],
  ["W7: extensions over the cap in sum", `${`1;${"a".repeat(200)}\r\nx\r\n`.repeat(30)}0\r\n\r\n`],
  ["W1: LF in an extension", "3;a\nb\r\nabc\r\n0\r\n\r\n"],
  ["W1: NUL in an extension", "3;a\0\r\nabc\r\n0\r\n\r\n"],
  ["W7: trailers over the cap", `0\r\nX: ${"a".repeat(9000)}\r\n\r\n`],
  ["W7: too many trailers", `0\r\n${"X: a\r\n".repeat(40)}\r\n`],
  ["W1: Content-Length in the trailers", "0\r\nContent-Length: 5\r\n\r\n"],
  ["W1: Transfer-Encoding in the trailers", "0\r\nTransfer-Encoding: chunked\r\n\r\n"],
  ["W1: Host in the trailers", "0\r\nHost: b\r\n\r\n"],
  ["W1: folded trailers", "0\r\nX: a\r\n b\r\n\r\n"],
  ["W1: bare LF in the trailers", "0\r\nX: a\n\r\n"],
  ["W1: no colon in the trailers", "0\r\nGET / HTTP/1.1\r\n\r\n"],
];

describe("a chunked body", () => {
  it("a chunked body is returned without framing, and the bytes after it are left alone", () => {
    for (const [text, body] of good) {
      const outcome = whole(text);
      assert.deepEqual([outcome.body, outcome.rest, outcome.refused], [body, "NEXT", false], text);
    }
  });

  it("a chunked body ends with its trailers", () => {
    assert.deepEqual(whole("0\r\nX-Sum: 1\r\nx-other:\r\n\r\n").trailers, [
      ["x-sum", "1"],
      ["x-other", ""],
    ]);
  });

  for (const [what, text] of refused)
    it(`a chunked body: ${what} is refused`, () => assert.equal(whole(text).refused, true));

  it("a chunked body has the same meaning however it is split into pieces", () => {
    for (const text of [...good.map(([text]) => text), ...refused.map(([, text]) => text)]) {
      const bytes = Buffer.from(text, "latin1");
      const expected = whole(text);
      const step = bytes.length > 500 ? 61 : 1;
      for (let cut = 1; cut < bytes.length; cut += step) {
        const outcome = read([bytes.subarray(0, cut), bytes.subarray(cut)]);
        assert.deepEqual(outcome.refused, expected.refused, `${text} cut at ${cut}`);
        if (!expected.refused) assert.deepEqual(outcome, expected, `${text} cut at ${cut}`);
      }
      const single = read(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)));
      assert.equal(single.refused, expected.refused, text);
      if (!expected.refused) assert.deepEqual(single, expected, text);
    }
  });

  it("a chunked body ends only with its last line", () => {
    assert.equal(whole("5\r\nhello\r\n0\r\n").rest, undefined);
  });
});

describe("a body with a length", () => {
  it("a body with a length ends after that length", () => {
    assert.deepEqual(whole("helloNEXT", 5), { body: "hello", trailers: [], rest: "NEXT", refused: false });
    assert.equal(whole("hell", 5).rest, undefined);
    assert.equal(whole("NEXT", 0).rest, "NEXT");
  });
});
