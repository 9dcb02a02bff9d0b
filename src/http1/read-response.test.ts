import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readResponseHead } from "./read-response.ts";

const limits = { maxHeadBytes: 1024, maxFields: 10 };

function read(text: string): ReturnType<typeof readResponseHead> {
  return readResponseHead(Buffer.from(text, "latin1"), 0, limits);
}

const refused: readonly (readonly [what: string, text: string])[] = [
  [
    "W4: Content-Length and Transfer-Encoding",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
  ],
  ["W4: two Content-Length", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"],
  ["W4: another transfer coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"],
  ["W4: Transfer-Encoding in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"],
  ["W4: folded line", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n"],
  ["W4: bare LF", "HTTP/1.1 200 OK\nX: a\n\n"],
  ["W4: bare CR in a value", "HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\n\r\n"],
  ["W4: NUL", "HTTP/1.1 200 OK\r\nX: a\0\r\n\r\n"],
  ["W4: control character in the reason", "HTTP/1.1 200 O\x01K\r\n\r\n"],
  ["W4: status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
  ["W4: status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
  ["W4: status 600", "HTTP/1.1 600 OK\r\n\r\n"],
  ["W4: status 099", "HTTP/1.1 099 OK\r\n\r\n"],
  ["W4: HTTP/0.9", "<html>hello</html>"],
  ["W4: HTTP/2.0", "HTTP/2.0 200 OK\r\n\r\n"],
  ["W4: HTTP/1.2", "HTTP/1.2 200 OK\r\n\r\n"],
  ["W4: a length on 103", "HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n"],
  ["W4: a transfer coding on 101", "HTTP/1.1 101 Switching Protocols\r\nTransfer-Encoding: chunked\r\n\r\n"],
  ["W4: a head without end", `HTTP/1.1 200 OK\r\nX: ${"a".repeat(2000)}`],
  ["W4: too many fields", `HTTP/1.1 200 OK\r\n${"X: a\r\n".repeat(11)}\r\n`],
];

describe("a response head", () => {
  for (const [what, text] of refused) {
    it(`a response head: ${what} is refused`, () => {
      const result = read(text);
      assert.ok(result !== undefined && "outcome" in result, `read as ${JSON.stringify(result)}`);
    });
  }

  it("a response head is returned as sent", () => {
    const result = read("HTTP/1.1 404 Not here\r\nContent-Length: 3\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\nabc");
    assert.ok(result !== undefined && !("outcome" in result));
    assert.deepEqual([result.status, result.reason, result.fields.contentLength], [404, "Not here", 3]);
    assert.deepEqual(result.fields.getAll("set-cookie"), ["a", "b"]);
    assert.equal(result.fields.bytes.toString("latin1", result.end), "abc");
  });

  it("a response head may omit the reason phrase", () => {
    for (const text of ["HTTP/1.1 200 \r\n\r\n", "HTTP/1.1 200\r\n\r\n"]) {
      const result = read(text);
      assert.ok(result !== undefined && !("outcome" in result));
      assert.equal(result.reason, "");
    }
  });

  it("an incomplete response head is awaited", () => {
    const text = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
    for (let length = 0; length < text.length; length += 1) assert.equal(read(text.slice(0, length)), undefined);
  });
});
