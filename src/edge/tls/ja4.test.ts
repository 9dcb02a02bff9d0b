import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ja4Of } from "./ja4.ts";
import type { HelloOffer } from "./ja4.ts";

const numbers = (hex: string): number[] => hex.split(",").map((one) => Number.parseInt(one, 16));

/** The example of JA4's description, with inserted values of RFC 8701. */
const chrome: HelloOffer = {
  namesServer: true,
  alpn: ["h2", "http/1.1"],
  versions: numbers("4a4a,0304,0303"),
  cipherSuites: numbers("2a2a,1301,1302,1303,c02b,c02f,c02c,c030,cca9,cca8,c013,c014,009c,009d,002f,0035"),
  extensions: numbers("dada,001b,0000,0033,0010,4469,0017,002d,000d,0005,0023,0012,002b,ff01,000b,000a,0015"),
  signatureAlgorithms: numbers("0403,0804,0401,0503,0805,0501,0806,0601"),
};

describe("JA4", () => {
  it("JA4 of the published example is the published fingerprint", () => {
    assert.equal(ja4Of(chrome), "t13d1516h2_8daaf6152771_e5627efa2ab1");
  });

  it("JA4 depends on the order of signature algorithms, but not on that of suites and extensions", () => {
    const turned = {
      ...chrome,
      cipherSuites: chrome.cipherSuites.toReversed(),
      extensions: chrome.extensions.toReversed(),
    };
    assert.equal(ja4Of(turned), ja4Of(chrome));
    const other = { ...chrome, signatureAlgorithms: chrome.signatureAlgorithms.toReversed() };
    assert.equal(ja4Of(other).slice(0, -12), "t13d1516h2_8daaf6152771_");
    assert.notEqual(ja4Of(other), ja4Of(chrome));
  });

  const heads: readonly (readonly [what: string, offer: Partial<HelloOffer>, head: string])[] = [
    ["without a server name", { namesServer: false }, "t13i1516h2"],
    ["without ALPN", { alpn: [] }, "t13d151600"],
    ["with a protocol of one character", { alpn: ["x"] }, "t13d1516xx"],
    ["with a protocol that is no text", { alpn: ["\xab\xcd"] }, "t13d1516ad"],
    ["with a protocol that ends in a sign", { alpn: ["a-"] }, "t13d15166d"],
    ["of TLS 1.2", { versions: [0x0303] }, "t12d1516h2"],
    ["of an unknown version", { versions: [0x0505] }, "t00d1516h2"],
    ["with more suites than two digits", { cipherSuites: Array.from({ length: 120 }, (_, at) => at) }, "t13d9916h2"],
  ];
  for (const [what, offer, head] of heads) {
    it(`JA4 of a hello ${what} begins with ${head}`, () => {
      assert.equal(ja4Of({ ...chrome, ...offer }).split("_", 1)[0], head);
    });
  }

  it("JA4 of a hello with neither suites nor extensions has zeros instead of hashes", () => {
    const bare = { ...chrome, cipherSuites: [], extensions: [], signatureAlgorithms: [], alpn: [], namesServer: false };
    assert.equal(ja4Of(bare), "t13i000000_000000000000_000000000000");
  });
});
