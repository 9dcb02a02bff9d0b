import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { readProxyHeader } from "./proxy-protocol.ts";

const signature2 = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");

function version2(command: number, family: number, body: Buffer): Buffer {
  return Buffer.concat([signature2, Buffer.from([command, family, body.length >> 8, body.length & 255]), body]);
}

const four = Buffer.from([192, 0, 2, 1, 198, 51, 100, 2, 0xdd, 0xd5, 0x01, 0xbb]);
const six = Buffer.concat([
  Buffer.from("20010db8000000000000000000000001", "hex"),
  Buffer.from("20010db8000000000000000000000002", "hex"),
  Buffer.from([0xdd, 0xd5, 0x01, 0xbb]),
]);

const readable: Record<string, { bytes: Buffer; client: object | undefined }> = {
  "version 1 over IPv4": {
    bytes: Buffer.from("PROXY TCP4 192.0.2.1 198.51.100.2 56789 443\r\n"),
    client: { address: "192.0.2.1", port: 56_789 },
  },
  "version 1 over IPv6": {
    bytes: Buffer.from("PROXY TCP6 2001:db8::1 2001:db8::2 56789 443\r\n"),
    client: { address: "2001:db8::1", port: 56_789 },
  },
  "version 1 of an unknown client": { bytes: Buffer.from("PROXY UNKNOWN\r\n"), client: undefined },
  "version 2 over IPv4": { bytes: version2(0x21, 0x11, four), client: { address: "192.0.2.1", port: 56_789 } },
  "version 2 over IPv6": {
    bytes: version2(0x21, 0x21, six),
    client: { address: "2001:db8:0:0:0:0:0:1", port: 56_789 },
  },
  "version 2 with additions": {
    bytes: version2(0x21, 0x11, Buffer.concat([four, Buffer.from([4, 0, 1, 0])])),
    client: { address: "192.0.2.1", port: 56_789 },
  },
  "version 2 of the proxy itself": { bytes: version2(0x20, 0x00, Buffer.alloc(0)), client: undefined },
};

describe("the PROXY protocol header", () => {
  for (const [what, { bytes, client }] of Object.entries(readable)) {
    it(`the PROXY protocol header is parsed in ${what}, without reading further bytes`, () => {
      const followed = Buffer.concat([bytes, Buffer.from([22, 3, 1])]);
      assert.deepEqual(readProxyHeader(followed), { state: "header", length: bytes.length, client });
      for (let length = 0; length < bytes.length; length += 1) {
        const read = readProxyHeader(bytes.subarray(0, length));
        assert.ok(read.state === "more" && read.atLeast > length && read.atLeast <= bytes.length, `at ${length}`);
      }
    });
  }

  it("the PROXY protocol header is rejected in any other form", () => {
    for (const bytes of [
      "GET / HTTP/1.1\r\n",
      "\x16\x03\x01",
      "PROXY TCP5 192.0.2.1 198.51.100.2 1 2\r\n",
      "PROXY TCP4 2001:db8::1 198.51.100.2 1 2\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.2 1\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.2 1 2 3\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.2 70000 2\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.2 01 2\r\n",
      "PROXY TCP4  192.0.2.1 198.51.100.2 1 2\r\n",
      "PROXY TCP6 fe80::1%eth0 2001:db8::2 1 2\r\n",
      "PROXY UNKNOWNX\r\n",
      `PROXY UNKNOWN ${"x".repeat(200)}`,
    ]) {
      assert.equal(readProxyHeader(Buffer.from(bytes, "latin1")).state, "invalid", JSON.stringify(bytes));
    }
    assert.equal(readProxyHeader(version2(0x22, 0x11, four)).state, "invalid");
    assert.equal(readProxyHeader(version2(0x31, 0x11, four)).state, "invalid");
    assert.equal(readProxyHeader(version2(0x21, 0x12, four)).state, "invalid");
    assert.equal(readProxyHeader(version2(0x21, 0x11, four.subarray(0, 8))).state, "invalid");
    assert.equal(readProxyHeader(version2(0x21, 0x31, Buffer.alloc(216))).state, "invalid");
    assert.equal(readProxyHeader(version2(0x21, 0x11, Buffer.alloc(2000))).state, "invalid");
  });

  it("the PROXY protocol header parser never throws", () => {
    for (let round = 0; round < 5000; round += 1) {
      const start = round % 2 === 0 ? signature2 : Buffer.from("PROXY ");
      const bytes = Buffer.concat([start, randomBytes(round % 120)]);
      assert.match(readProxyHeader(bytes).state, /^(more|invalid|header)$/);
    }
  });
});
