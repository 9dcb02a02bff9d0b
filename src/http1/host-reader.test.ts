import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HostReader } from "./host-reader.ts";
import { readRequestHead } from "./read-request.ts";
import type { RequestRead } from "./read-request.ts";

const limits = { maxHeadBytes: 4096, maxTargetBytes: 1024, maxFields: 20 };

function fieldsWith(host: string): RequestRead["fields"] {
  const read = readRequestHead(Buffer.from(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`, "latin1"), 0, limits);
  assert.ok(read !== undefined && !("outcome" in read));
  return read.fields;
}

describe("the reader of a connection's Host fields", () => {
  it("the reader of a connection's Host fields parses each field, whatever the previous one was", () => {
    const reader = new HostReader();
    const said = [
      "a.example.com",
      "a.example.com",
      "b.example.com",
      "A.example.com",
      "a.example.co",
      "a.example.com:8",
    ];
    for (const text of [...said, ...said.toReversed()]) {
      const [host, port = "0"] = text.toLowerCase().split(":");
      assert.deepEqual(reader.read(fieldsWith(text)), { host, port: Number(port), text });
    }
  });

  it("the reader of a connection's Host fields accepts none because the previous one was valid", () => {
    const reader = new HostReader();
    for (const text of ["a.example.com", "a.example..com", "a.example.com", "", "a.example.com"]) {
      assert.equal(reader.read(fieldsWith(text))?.text, text === "a.example.com" ? text : undefined);
    }
  });
});
