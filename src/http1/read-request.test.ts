import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { originForm, parseAuthority } from "./authority.ts";
import { HeadBuffer } from "./head-buffer.ts";
import { targetTooLong, tooLarge } from "./read-fields.ts";
import type { HeadLimits } from "./read-fields.ts";
import { readRequestHead } from "./read-request.ts";

const limits: HeadLimits = { maxHeadBytes: 4096, maxFields: 20, maxTargetBytes: 512 };

function read(text: string): ReturnType<typeof readRequestHead> {
  return readRequestHead(Buffer.from(text, "latin1"), 0, limits);
}

function head(text: string): Exclude<ReturnType<typeof readRequestHead>, undefined | { outcome: number }> {
  const result = read(text);
  assert.ok(result !== undefined && !("outcome" in result), JSON.stringify(result));
  return result;
}

/** Heads that must be refused, by reason. */
const refused: readonly (readonly [what: string, text: string])[] = [
  ["W1: Content-Length and Transfer-Encoding", post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n")],
  ["W1: Transfer-Encoding and Content-Length", post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n")],
  ["W1: two equal Content-Length", post("Content-Length: 4\r\nContent-Length: 4\r\n")],
  ["W1: two different Content-Length", post("Content-Length: 4\r\nContent-Length: 5\r\n")],
  ["W1: Content-Length as a list", post("Content-Length: 4, 4\r\n")],
  ["W1: Content-Length with a sign", post("Content-Length: +4\r\n")],
  ["W1: negative Content-Length", post("Content-Length: -4\r\n")],
  ["W1: hexadecimal Content-Length", post("Content-Length: 0x4\r\n")],
  ["W1: Content-Length with a fraction", post("Content-Length: 4.0\r\n")],
  ["W1: empty Content-Length", post("Content-Length: \r\n")],
  ["W1: Content-Length with a blank inside", post("Content-Length: 4 4\r\n")],
  ["W1: Content-Length beyond what a number holds", post("Content-Length: 99999999999999999999\r\n")],
  ["W1: Transfer-Encoding: identity", post("Transfer-Encoding: identity\r\n")],
  ["W1: Transfer-Encoding: gzip, chunked", post("Transfer-Encoding: gzip, chunked\r\n")],
  ["W1: Transfer-Encoding: chunked, chunked", post("Transfer-Encoding: chunked, chunked\r\n")],
  ["W1: Transfer-Encoding: xchunked", post("Transfer-Encoding: xchunked\r\n")],
  ["W1: Transfer-Encoding: chunked;q=1", post("Transfer-Encoding: chunked;q=1\r\n")],
  ["W1: Transfer-Encoding in quotes", post('Transfer-Encoding: "chunked"\r\n')],
  ["W1: Transfer-Encoding with a vertical tab", post("Transfer-Encoding: \x0bchunked\r\n")],
  ["W1: Transfer-Encoding with NUL", post("Transfer-Encoding: chunked\0\r\n")],
  ["W1: empty Transfer-Encoding", post("Transfer-Encoding:\r\n")],
  ["W1: two Transfer-Encoding", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")],
  ["W1: two Transfer-Encoding, one obscure", post("Transfer-Encoding: chunked\r\nTransfer-encoding: cow\r\n")],
  ["W1: Transfer-Encoding in HTTP/1.0", "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"],
  ["W1: folded line", post("X: a\r\n b\r\n")],
  ["W1: folded line with a tab", post("X: a\r\n\tb\r\n")],
  ["W1: folded Transfer-Encoding", post("Transfer-Encoding:\r\n chunked\r\n")],
  ["W1: blank line start before the first field", "GET / HTTP/1.1\r\n Host: a\r\n\r\n"],
  ["W1: blank before the colon", post("Transfer-Encoding : chunked\r\n")],
  ["W1: tab before the colon", post("Content-Length\t: 4\r\n")],
  ["W1: blank in a name", post("Content Length: 4\r\n")],
  ["W1: no name", post(": 4\r\n")],
  ["W1: no colon", post("Content-Length\r\n")],
  ["W1: bare LF behind a field", post("X: a\nY: b\r\n")],
  ["W1: bare LF as the empty line", "GET / HTTP/1.1\r\nHost: a\r\n\n"],
  ["W1: bare LF everywhere", "GET / HTTP/1.1\nHost: a\n\n"],
  ["W1: bare LF behind the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n"],
  ["W1: bare CR in a value", post("X: a\rb\r\n")],
  ["W1: bare CR behind a field", post("X: a\rY: b\r\n")],
  ["W1: CR CR LF", post("X: a\r\r\n")],
  ["W1: bare CR as the empty line", "GET / HTTP/1.1\r\nHost: a\r\n\rX"],
  ["W1: NUL in a value", post("X: a\0b\r\n")],
  ["W1: NUL in a name", post("X\0: a\r\n")],
  ["W1: DEL in a value", post("X: a\x7fb\r\n")],
  ["W1: escape character in a value", post("X: a\x1bb\r\n")],
  ["W1: byte above ASCII in a name", post("X\xe9: a\r\n")],
  ["W1: no Host", "GET / HTTP/1.1\r\nX: a\r\n\r\n"],
  ["W1: no Host in HTTP/1.0", "GET / HTTP/1.0\r\n\r\n"],
  ["W1: two Host", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"],
  ["W1: two equal Host", "GET / HTTP/1.1\r\nHost: a\r\nhOST: a\r\n\r\n"],
  ["W1: HTTP/0.9", "GET /\r\n\r\n"],
  ["W1: HTTP/2.0", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ["W1: HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n"],
  ["W1: HTTP/1.10", "GET / HTTP/1.10\r\nHost: a\r\n\r\n"],
  ["W1: HTTP/01.1", "GET / HTTP/01.1\r\nHost: a\r\n\r\n"],
  ["W1: lower-case http", "GET / http/1.1\r\nHost: a\r\n\r\n"],
  ["W1: blank behind the version", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"],
  ["W1: two blanks before the target", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["W1: two blanks before the version", "GET /  HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["W1: tab as separator", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["W1: blank before the method", " GET / HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["W1: blank in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["W1: fragment in the target", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["W1: byte above ASCII in the target", "GET /\xe9 HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["W1: NUL in the target", "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["W1: separator in the method", "GE(T / HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["W1: method without end", `${"A".repeat(40)} / HTTP/1.1\r\nHost: a\r\n\r\n`],
  ["W1: no method", "/ HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["W1: two empty lines first", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["W1: bare LF first", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["W1: TLS ClientHello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
  ["W5: two Upgrade", post("Upgrade: websocket\r\nUpgrade: h2c\r\n")],
  ["W1: separators in Connection", post("Connection: clo;se\r\n")],
];

function post(fields: string): string {
  return `POST / HTTP/1.1\r\nHost: a\r\n${fields}\r\n`;
}

describe("a request head", () => {
  for (const [what, text] of refused) {
    it(`a request head: ${what} is refused`, () => {
      const result = read(text);
      assert.ok(result !== undefined && "outcome" in result, `read as ${JSON.stringify(result)}`);
    });
  }

  it("a request head is returned as sent", () => {
    const { method, target, minorVersion, fields, end } = head(
      "PUT /a/b?c=%20 HTTP/1.1\r\nHost: App.Example.com:8443\r\nX-One:  two \r\nx-one: three\r\nEmpty:\r\n\r\nbody",
    );
    assert.deepEqual([method, target, minorVersion], ["PUT", "/a/b?c=%20", 1]);
    assert.deepEqual(fields.entries(), [
      ["host", "App.Example.com:8443"],
      ["x-one", "two"],
      ["x-one", "three"],
      ["empty", ""],
    ]);
    assert.equal(fields.get("X-ONE"), "two");
    assert.deepEqual(fields.getAll("x-one"), ["two", "three"]);
    assert.equal(fields.bytes.toString("latin1", end), "body");
  });

  it("a request head may follow one empty line (RFC 9112 §2.2)", () => {
    assert.equal(head("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n").method, "GET");
  });

  it("a request head records how its body is framed", () => {
    assert.equal(head(post("Content-Length: 12\r\n")).fields.contentLength, 12);
    assert.equal(head(post("Content-Length: 007\r\n")).fields.contentLength, 7);
    assert.equal(head(post("Transfer-Encoding: Chunked\r\n")).fields.chunked, true);
    assert.equal(head(post("")).fields.contentLength, -1);
  });

  it("a request head records the options of Connection", () => {
    const { fields } = head(post("Connection: keep-alive, Upgrade\r\nConnection: ,x-mine,\r\n"));
    assert.deepEqual(
      [fields.connectionKeepAlive, fields.connectionUpgrade, fields.connectionClose, fields.connectionNames],
      [true, true, false, true],
    );
  });

  it("W7: a request head larger than allowed is 431, a longer target 414, and too many fields 431", () => {
    const outcome = (text: string): number | undefined => {
      const result = read(text);
      return result !== undefined && "outcome" in result ? result.outcome : undefined;
    };
    assert.equal(outcome(post(`X: ${"a".repeat(5000)}\r\n`)), tooLarge);
    assert.equal(outcome(post("X: a\r\n".repeat(30))), tooLarge);
    assert.equal(outcome(`GET /${"a".repeat(512)} HTTP/1.1\r\nHost: a\r\n\r\n`), targetTooLong);
    assert.equal(outcome(`GET /${"a".repeat(9000)}`), targetTooLong);
    assert.equal(head(`GET /${"a".repeat(511)} HTTP/1.1\r\nHost: a\r\n\r\n`).target.length, 512);
  });

  it("a request head has the same meaning however it is split into pieces", () => {
    const texts = [
      // Some faults are visible in the middle of a line, but in pieces only at its end.
      ...refused.map(([, text]) => `${text}\r\n\r\n`),
      "PUT /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nCookie: x=y\r\n\r\nbody",
      `GET /${"a".repeat(600)} HTTP/1.1\r\nHost: a\r\n\r\n`,
      post(`X: ${"a".repeat(5000)}\r\n`),
    ];
    for (const text of texts) {
      const whole = Buffer.from(text, "latin1");
      const expected = summary(readRequestHead(whole, 0, limits));
      const step = whole.length > 700 ? 97 : 1;
      for (let cut = 1; cut < whole.length; cut += step) {
        assert.deepEqual(inPieces([whole.subarray(0, cut), whole.subarray(cut)]), expected, `${text} cut at ${cut}`);
      }
      assert.deepEqual(inPieces(Array.from(whole, (_, at) => whole.subarray(at, at + 1))), expected, text);
    }
  });

  it("a request head that arrives byte by byte is parsed only a few times", () => {
    const whole = Buffer.from(post(`X: ${"a".repeat(3000)}\r\nY: b\r\n`), "latin1");
    const kept = new HeadBuffer();
    let readings = 0;
    for (const byte of whole) if (kept.add(Buffer.of(byte), limits.maxHeadBytes)) readings += 1;
    assert.equal(readings, 1);
  });
});

/** Like a connection: tries the first piece and collects the rest. */
function inPieces(pieces: readonly Buffer[]): unknown {
  const kept = new HeadBuffer();
  for (const [index, piece] of pieces.entries()) {
    const worth = kept.add(piece, limits.maxHeadBytes);
    if (index > 0 && !worth) continue;
    const result = readRequestHead(kept.bytes(), 0, limits);
    if (result !== undefined) return summary(result);
  }
  return undefined;
}

function summary(result: ReturnType<typeof readRequestHead>): unknown {
  if (result === undefined) return undefined;
  // An incomplete head may be refused for a different reason than the complete one.
  if ("outcome" in result) return { outcome: result.outcome };
  return { method: result.method, target: result.target, fields: result.fields.entries() };
}

describe("an authority", () => {
  it("an authority is returned in lower case, without port and final dot", () => {
    assert.deepEqual(parseAuthority("App.Example.COM"), { host: "app.example.com", port: 0 });
    assert.deepEqual(parseAuthority("a.b.:443"), { host: "a.b", port: 443 });
    assert.deepEqual(parseAuthority("127.0.0.1:80"), { host: "127.0.0.1", port: 80 });
    assert.deepEqual(parseAuthority("[2001:DB8::1]:80"), { host: "[2001:db8::1]", port: 80 });
    assert.deepEqual(parseAuthority("my_app.example.com"), { host: "my_app.example.com", port: 0 });
  });

  for (const text of ["", ":80", ".", "..", "a..b", ".a", "a..", "user@a", "a:b", "a:", "a:0", "a:65536", "a:080808"]) {
    it(`W1: "${text}" is refused as a Host`, () => assert.equal(parseAuthority(text), undefined));
  }
  for (const text of [
    "a b",
    "a,b",
    "a/b",
    "a?b",
    "a\\b",
    "a%2e",
    "[",
    "[]",
    "[::1",
    "[::1]x",
    "[fe80::1%25eth0]",
    "é",
  ]) {
    it(`W1: "${text}" is refused as a Host`, () => assert.equal(parseAuthority(text), undefined));
  }
});

describe("a request target in absolute form", () => {
  const authority = { host: "a.example", port: 0 };

  it("a request target in absolute form is accepted if it names the Host", () => {
    assert.equal(originForm("https://A.example/b?c", authority), "/b?c");
    assert.equal(originForm("HTTP://a.example", authority), "/");
    assert.equal(originForm("http://a.example?c", authority), "/?c");
  });

  for (const target of [
    "http://b.example/",
    "http://u@a.example/",
    "http:///",
    "ftp://a.example/",
    "*",
    "a.example:443",
  ]) {
    it(`W1: a request target in absolute form: ${target} is refused`, () =>
      assert.equal(originForm(target, authority), undefined));
  }
});
