import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { proxiesOf } from "./way-out.ts";

const server = { host: "t.example.com", port: 4443 };
const proxyOf = (env: Record<string, string>, at = server, given?: string) => proxiesOf(given, env)?.(at)?.href;

describe("proxy selection", () => {
  it("proxy selection uses --proxy, else HTTPS_PROXY, ALL_PROXY or http_proxy", () => {
    assert.equal(proxyOf({}), undefined);
    assert.equal(proxyOf({ HTTPS_PROXY: "http://a:3128", ALL_PROXY: "socks5://b" }), "http://a:3128/");
    assert.equal(proxyOf({ all_proxy: "socks5://b:1080" }), "socks5://b:1080");
    assert.equal(proxyOf({ http_proxy: "c:8080" }), "http://c:8080/");
    assert.equal(proxyOf({ HTTPS_PROXY: "http://a" }, server, "http://d:1"), "http://d:1/");
    assert.equal(proxyOf({ HTTPS_PROXY: "http://a" }, server, "none"), undefined);
    assert.throws(() => proxyOf({ HTTPS_PROXY: "ftp://a" }), /HTTPS_PROXY must be/);
  });

  for (const [list, host, isExempt] of [
    ["t.example.com", "t.example.com", true],
    ["example.com", "t.example.com", true],
    [".example.com", "t.example.com", true],
    ["*.example.com", "t.example.com", true],
    ["ample.com", "t.example.com", false],
    ["a.example, t.example.com:4443", "t.example.com", true],
    ["t.example.com:443", "t.example.com", false],
    ["*", "t.example.com", true],
    ["192.0.2.0/24", "192.0.2.7", true],
    ["192.0.2.0/24", "192.0.3.7", false],
    ["2001:db8::/32", "2001:db8::1", true],
    ["2001:db8::1", "2001:db8::1", true],
    ["192.0.2.7", "192.0.2.7", true],
    ["", "127.0.0.1", true],
    ["", "localhost", true],
    ["", "t.example.com", false],
  ] as const) {
    it(`proxy selection for ${host} finds ${isExempt ? "no" : "a"} proxy if NO_PROXY is "${list}"`, () => {
      const found = proxyOf({ HTTPS_PROXY: "http://a", NO_PROXY: list }, { host, port: 4443 });
      assert.equal(found === undefined, isExempt);
    });
  }
});
