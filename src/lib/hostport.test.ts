import assert from "node:assert/strict";
import { test } from "node:test";
import { hostIssue, hostMatches, hostportIssue, parseHostport } from "./hostport.ts";

test("a hostport is a name and a port, the name in lower case", () => {
  assert.deepEqual(parseHostport("App.Example.com:443"), { host: "app.example.com", port: 443 });
  assert.deepEqual(parseHostport("*.a.localhost:8443"), { host: "*.a.localhost", port: 8443 });
});

test("text that is not a hostport is rejected with the reason", () => {
  const bad = ["", ":", "a", "a:", ":443", "a:0", "a:65536", "a:0443", "a:1e3", "a b:1", "a:443 ", "a..b:1", "-a.b:1"];
  for (const text of [
    ...bad,
    "a_b.c:1",
    "ä.de:1",
    "*:1",
    "a.*.b:1",
    "*a.b:1",
    "1.2.3.4:1",
    "[::1]:1",
    `${"a".repeat(64)}.b:1`,
  ]) {
    assert.equal(parseHostport(text), undefined, text);
    assert.ok(hostportIssue(text), text);
  }
  assert.match(hostIssue("a_b.c") ?? "", /underscore/);
});

test("a wildcard covers names below its base at any depth, not the base", () => {
  assert.ok(hostMatches("*.a.com", "x.y.a.com"));
  assert.ok(!hostMatches("*.a.com", "a.com"));
  assert.ok(!hostMatches("*.a.com", "xa.com"));
});
