import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readProxyHeader } from "../listeners/proxy-protocol.ts";
import { proxyPreamble } from "./proxy-preamble.ts";

const four = { source: "192.0.2.1", sourcePort: 4711, local: { localAddress: "::ffff:198.51.100.2" }, localPort: 5432 };
const six = { source: "2001:db8::7", sourcePort: 4711, local: { localAddress: "fe80::1%eth0" }, localPort: 5432 };
const mixed = { ...six, local: { localAddress: "198.51.100.2" } };

describe("the PROXY protocol's header", () => {
  it("the PROXY protocol's header is omitted by default", () => {
    assert.equal(proxyPreamble(0, four), undefined);
  });

  it("the PROXY protocol's header is one line in version 1, with both addresses of one family", () => {
    const line = (ends: typeof four): string | undefined => proxyPreamble(1, ends)?.toString("latin1");
    assert.equal(line(four), "PROXY TCP4 192.0.2.1 198.51.100.2 4711 5432\r\n");
    assert.equal(line(six), "PROXY TCP6 2001:db8::7 fe80::1 4711 5432\r\n");
    assert.equal(line(mixed), "PROXY TCP6 2001:db8::7 ::ffff:198.51.100.2 4711 5432\r\n");
  });

  it("the PROXY protocol's header has the bytes of the specification in version 2", () => {
    assert.equal(
      proxyPreamble(2, four)?.toString("hex"),
      ["0d0a0d0a000d0a515549540a", "2111000c", "c0000201", "c6336402", "1267", "1538"].join(""),
    );
    assert.equal(
      proxyPreamble(2, mixed)?.toString("hex"),
      [
        "0d0a0d0a000d0a515549540a",
        "21210024",
        "20010db8000000000000000000000007",
        "00000000000000000000ffffc6336402",
        "1267",
        "1538",
      ].join(""),
    );
  });

  for (const version of [1, 2] as const) {
    it(`the PROXY protocol's header of version ${version} is readable by the listener's parser`, () => {
      for (const ends of [four, six, mixed]) {
        const bytes = proxyPreamble(version, ends) as Buffer;
        const read = readProxyHeader(bytes);
        assert.ok(read.state === "header");
        assert.equal(read.length, bytes.length);
        assert.equal(read.client?.port, 4711);
      }
    });
  }
});
