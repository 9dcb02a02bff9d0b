import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseServerAddress } from "./connect.ts";
import { parseUpstream } from "./upstream.ts";

describe("an upstream address", () => {
  for (const [given, text] of [
    ["3000", "http://localhost:3000"],
    ["app:3000", "http://app:3000"],
    ["http://app", "http://app:80"],
    ["http://127.0.0.1:8080/", "http://127.0.0.1:8080"],
    ["https://app.internal", "https://app.internal:443"],
    ["[::1]:3000", "http://[::1]:3000"],
    ["https://", "https://localhost:443"],
    ["h2c://", "h2c://localhost:80"],
  ] as const) {
    it(`the upstream address ${given} is parsed as ${text}`, () => assert.equal(parseUpstream(given).text, text));
  }

  for (const given of ["", "0", "70000", "ftp://app", "http://app/path", "http://user:secret@app", "ftp://", "a b"]) {
    it(`the upstream address "${given}" is refused`, () => assert.throws(() => parseUpstream(given), /must be PORT/));
  }

  it("an IPv6 host has no brackets for the socket", () => assert.equal(parseUpstream("http://[::1]:1").host, "::1"));
});

describe("a server address", () => {
  for (const [given, host, port] of [
    ["t.example.com:4443", "t.example.com", 4443],
    ["t.example.com", "t.example.com", 443],
    ["[2001:db8::1]:4443", "2001:db8::1", 4443],
  ] as const) {
    it(`the server address ${given} is parsed`, () => assert.deepEqual(parseServerAddress(given), { host, port }));
  }

  for (const given of ["", "host:0", "host:70000", "https://host:1", "::1:4443"]) {
    it(`the server address "${given}" is refused`, () =>
      assert.throws(() => parseServerAddress(given), /must be HOST:PORT/));
  }
});
