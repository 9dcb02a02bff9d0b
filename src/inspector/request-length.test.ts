import assert from "node:assert/strict";
import { it } from "node:test";
import { requestLength } from "./request-length.ts";

const lengthOf = (text: string): number => requestLength(Buffer.from(text, "latin1"));

it("a request's length covers its head and the body that the head declares", () => {
  const heads = [
    ["GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", 0],
    ["GET / HTTP/1.1\r\n\r\n", 0],
    ["GET / HTTP/1.1\r\nUser-Agent: Upgrade\r\nUpgrade-Insecure-Requests: 1\r\nTE: trailers\r\nCookie: a=b\r\n\r\n", 0],
    ["POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 12\r\n\r\n", 12],
    ["POST / HTTP/1.1\r\ncontent-length:7\r\nHost: a.test\r\n\r\n", 7],
    ["POST / HTTP/1.1\r\nX: content-length: 5\r\nCONTENT-LENGTH:  0\r\n\r\n", 0],
  ] as const;
  for (const [head, body] of heads) {
    assert.equal(lengthOf(head), head.length + body, head);
    assert.equal(lengthOf(`${head}Upgrade: x\r\n\r\n`), head.length + body, head);
  }
});

it("the length is unknown when the head must be parsed to find it", () => {
  for (const field of [
    "Transfer-Encoding: chunked",
    "transfer-encoding: gzip",
    "Upgrade: websocket",
    "Content-Length: 5\r\nContent-Length: 5",
    "Content-Length: 5 ",
    "Content-Length: 5, 5",
    "Content-Length: ",
    "Content-Length : 5",
    "Content-Length: 1234567890",
  ]) {
    assert.equal(lengthOf(`POST / HTTP/1.1\r\nHost: a.test\r\n${field}\r\nX: 1\r\n\r\n`), -1, field);
  }
  assert.equal(lengthOf("CONNECT a.test:1 HTTP/1.1\r\n\r\n"), -1);
  assert.equal(lengthOf("GET / HTTP/1.1\r\nHost: a.test\r\n"), -1);
  assert.equal(lengthOf(`GET / HTTP/1.1\r\nX: ${"x".repeat(8_192)}\r\n\r\n`), -1);
});
