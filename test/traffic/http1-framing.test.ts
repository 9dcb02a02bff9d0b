import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { answering, eventually, ok, startFront } from "../support/front.ts";
import type { Front } from "../support/front.ts";

/** Requests that a server behind might read differently: each with the request that they try to smuggle. */
const smuggled = "GET /smuggled HTTP/1.1\r\nHost: a.example.com\r\n\r\n";
const ambiguous: readonly (readonly [what: string, text: string])[] = [
  ["W1: CL.TE", post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", `0\r\n\r\n${smuggled}`)],
  ["W1: TE.CL", post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", `5\r\nhello\r\n0\r\n\r\n${smuggled}`)],
  ["W1: TE.TE", post("Transfer-Encoding: chunked\r\nTransfer-encoding: cow\r\n", `0\r\n\r\n${smuggled}`)],
  ["W1: CL.CL", post("Content-Length: 0\r\nContent-Length: 44\r\n", smuggled)],
  ["W1: space before the colon", post("Transfer-Encoding : chunked\r\n", `0\r\n\r\n${smuggled}`)],
  ["W1: folded TE", post("Transfer-Encoding:\r\n chunked\r\n", `0\r\n\r\n${smuggled}`)],
  ["W1: TE with a tab and more", post("Transfer-Encoding: \tchunked, identity\r\n", `0\r\n\r\n${smuggled}`)],
  ["W1: TE behind a bare LF", post("X: y\nTransfer-Encoding: chunked\r\n", `0\r\n\r\n${smuggled}`)],
  ["W1: TE behind a bare CR", post("X: y\rTransfer-Encoding: chunked\r\n", `0\r\n\r\n${smuggled}`)],
  ["W1: chunk size with blank", post("Transfer-Encoding: chunked\r\n", `0 \r\n\r\n${smuggled}`)],
  ["W1: chunk size with 0x", post("Transfer-Encoding: chunked\r\n", `0x0\r\n\r\n${smuggled}`)],
  ["W1: chunk line ended by LF", post("Transfer-Encoding: chunked\r\n", `0\n\r\n${smuggled}`)],
  ["W1: chunk data not ended by CR LF", post("Transfer-Encoding: chunked\r\n", `1\r\nAA0\r\n\r\n${smuggled}`)],
  ["W1: chunk data ended by LF alone", post("Transfer-Encoding: chunked\r\n", `1\r\nA\n\n0\r\n\r\n${smuggled}`)],
  ["W1: chunk data ended by CR alone", post("Transfer-Encoding: chunked\r\n", `1\r\nA\r\r0\r\n\r\n${smuggled}`)],
  ["W1: chunk line ended by CR alone", post("Transfer-Encoding: chunked\r\n", `1\r\rA\r\n0\r\n\r\n${smuggled}`)],
  ["W7: endless chunk extension", post("Transfer-Encoding: chunked\r\n", `1;${"a".repeat(5000)}`)],
  ["W1: HTTP/0.9", "GET /\r\n\r\n"],
  ["W1: no Host", "GET / HTTP/1.1\r\n\r\n"],
  ["W1: two Host", "GET / HTTP/1.1\r\nHost: a.example.com\r\nHost: b.example.com\r\n\r\n"],
  ["W1: Host with user information", "GET / HTTP/1.1\r\nHost: x@a.example.com\r\n\r\n"],
  ["W1: Host and another absolute target", "GET http://b.example.com/ HTTP/1.1\r\nHost: a.example.com\r\n\r\n"],
  ["W1: asterisk form", "OPTIONS * HTTP/1.1\r\nHost: a.example.com\r\n\r\n"],
  ["R1: NUL in the path", get("/a%00b")],
  ["R1: encoded slash beside dot-dot", get("/a%2f..")],
  ["R1: encoded backslash", get("/a%5Cb")],
  ["R1: backslash", get("/a\\b")],
  ["R1: encoded dot-dot", get("/a/%2e%2e/b")],
  ["R1: half-encoded dot-dot", get("/a/.%2E/b")],
  ["R1: dot-dot with parameters", get("/a/..;x/b")],
  ["R1: bytes that are not UTF-8, and a NUL", get("/a%c0%afb%00")],
  ["R1: broken encoding", get("/a%2")],
  ["W5: HTTP/2 with prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ["garbage", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"],
];

function post(fields: string, body: string): string {
  return `POST /first HTTP/1.1\r\nHost: a.example.com\r\n${fields}\r\n${body}`;
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: a.example.com\r\nConnection: close\r\n\r\n`;
}

describe("ambiguous requests", () => {
  let front: Front;
  let seen: string[];
  before(async () => {
    seen = [];
    front = await startFront(
      answering((request) => {
        seen.push(request);
        return ok("hello");
      }),
    );
  });
  after(() => front.stop());

  for (const [what, text] of ambiguous) {
    it(`ambiguous requests: ${what} gets 400, the connection closes, and nothing after it is served`, async () => {
      seen.length = 0;
      const client = front.connect().send(text);
      const received = await client.untilEnd();
      assert.match(received, /^HTTP\/1\.1 400 Bad Request\r\n/);
      assert.match(received, /\r\nConnection: close\r\n/);
      assert.match(received, new RegExp(String.raw`\r\npostern-error-code: ${errorCode("bad_request")}\r\n`));
      assert.equal(received.split("HTTP/1.1 ").length, 2);
      assert.equal(seen.join("").includes("smuggled"), false);
    });
  }

  it("W7: a request whose head is too large is answered 431, whose target is too long 414, and the connection is closed", async () => {
    const large = await front
      .connect()
      .send(`GET / HTTP/1.1\r\nHost: a.example.com\r\nX: ${"a".repeat(40_000)}`)
      .untilEnd();
    assert.match(large, /^HTTP\/1\.1 431 /);
    const many = await front
      .connect()
      .send(`GET / HTTP/1.1\r\nHost: a.example.com\r\n${"X: a\r\n".repeat(200)}\r\n`)
      .untilEnd();
    assert.match(many, /^HTTP\/1\.1 431 /);
    const long = await front
      .connect()
      .send(`GET /${"a".repeat(20_000)} HTTP/1.1\r\nHost: a.example.com\r\n\r\n`)
      .untilEnd();
    assert.match(long, /^HTTP\/1\.1 414 /);
  });

  for (const method of ["CONNECT", "TRACE"]) {
    it(`W5: ${method} ends at the edge`, async () => {
      seen.length = 0;
      const target = method === "CONNECT" ? "a.example.com:443" : "/";
      const client = front
        .connect()
        .send(`${method} ${target} HTTP/1.1\r\nHost: a.example.com\r\nConnection: close\r\n\r\n`);
      assert.match(await client.untilEnd(), /^HTTP\/1\.1 405 [^]*\r\nallow: GET, /);
      assert.deepEqual(seen, []);
    });
  }

  for (const expectations of [
    ["the-unexpected"],
    ["the-unexpected", "100-continue"],
    ["100-continue", "the-unexpected"],
    ["100-continue", "100-continue"],
    ["100-continue, 100-continue"],
    ["100-continue, the-unexpected"],
    ["100-continue;q=1"],
    [""],
  ]) {
    it(`expectations of ${JSON.stringify(expectations)} are refused`, async () => {
      seen.length = 0;
      const lines = expectations.map((value) => `Expect: ${value}\r\n`).join("");
      const text = `GET / HTTP/1.1\r\nHost: a.example.com\r\n${lines}Connection: close\r\n\r\n`;
      assert.match(await front.connect().send(text).untilEnd(), /^HTTP\/1\.1 417 /);
      assert.deepEqual(seen, []);
    });
  }

  it("an expectation of 100-continue is met in any spelling, and ignored over HTTP/1.0", async () => {
    for (const value of ["100-Continue", "100-continue, ", ",100-continue"]) {
      const text = `GET / HTTP/1.1\r\nHost: a.example.com\r\nExpect: ${value}\r\nConnection: close\r\n\r\n`;
      assert.match(await front.connect().send(text).untilEnd(), /HTTP\/1\.1 200 /);
    }
    seen.length = 0;
    const text = "GET / HTTP/1.0\r\nHost: a.example.com\r\nExpect: 100-continue\r\n\r\n";
    assert.match(await front.connect().send(text).untilEnd(), /^HTTP\/1\.1 200 /);
    assert.doesNotMatch(seen[0] as string, /expect/i);
  });

  it("W5: h2c is not forwarded: the request is served as an ordinary one", async () => {
    seen.length = 0;
    const fields =
      "Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n";
    const received = await front.connect().send(`GET / HTTP/1.1\r\nHost: a.example.com\r\n${fields}\r\n`).untilEnd();
    assert.match(received, /^HTTP\/1\.1 200 /);
    assert.doesNotMatch(seen[0] as string, /upgrade|h2c|http2-settings/i);
  });

  it("W1: forwarded messages are rewritten from their parsed form", async () => {
    seen.length = 0;
    const text =
      "\r\nPOST http://a.example.com/x/./y/%7e HTTP/1.1\r\nHost:a.example.com\r\nX-Odd:  \t value \t\r\n" +
      "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    front.connect().send(`${text}3;ext=1\r\nabc\r\n0\r\n\r\n`);
    await eventually(() => seen.length > 0);
    const raw = seen[0] as string;
    assert.match(raw, /^POST \/x\/y\/%7e HTTP\/1\.1\r\nHost: a\.example\.com\r\nX-Odd: value\r\n/);
    assert.match(raw, /\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n$/);
  });

  it("the connection survives a refusal that is not about framing", async () => {
    const client = front.connect().send("GET /nowhere HTTP/1.1\r\nHost: a.example.com\r\n\r\n");
    await client.until(errorCode("no_route"));
    client.clear().send("GET / HTTP/1.1\r\nHost: a.example.com\r\n\r\n");
    assert.match(await client.until("hello"), /^HTTP\/1\.1 200 OK\r\n/);
  });
});
