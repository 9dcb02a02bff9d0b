import assert from "node:assert/strict";
import { it } from "node:test";
import { isRegistered, redirectIssue } from "./redirect-uris.ts";

it("I9: a redirect URI that browsers or parsers could read differently is refused", () => {
  const tricks = [
    "",
    "/callback",
    "//evil.example/callback",
    "http://evil.example/callback",
    "http://127.0.0.1.evil.example/callback",
    "http://localhost.evil.example/callback",
    "https://client.example/callback#fragment",
    "https://client.example/a/../callback",
    "https://client.example/./callback",
    "https://client.example:443/callback",
    "https://CLIENT.example/callback",
    "https://client.example\\@evil.example/callback",
    "https://user@evil.example/callback",
    "https://client.example@evil.example/",
    "https://client.example/call back",
    "https://client.example/\ncallback",
    "https://clıent.example/callback",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "blob:https://client.example/x",
    "ws://127.0.0.1/callback",
    `https://client.example/${"a".repeat(512)}`,
  ];
  for (const one of tricks) assert.notEqual(redirectIssue(one), undefined, one);
  for (const one of [
    "https://client.example/cb?x=1",
    "http://127.0.0.1:1/cb",
    "http://[::1]/cb",
    "com.example.app:/cb",
  ]) {
    assert.equal(redirectIssue(one), undefined, one);
  }
});

it("I9: a redirect URI is compared exactly, except for the port of the client's own machine", () => {
  const registered = ["https://client.example/cb", "http://127.0.0.1:4711/cb", "com.example.app:/cb"];
  for (const one of [...registered, "http://127.0.0.1/cb", "http://127.0.0.1:9/cb"]) {
    assert.ok(isRegistered(one, registered), one);
  }
  const others = [
    "https://client.example/cb/",
    "https://client.example/cb?x=1",
    "https://client.example/CB",
    "https://client.example/cb%2f",
    "https://client.example:8443/cb",
    "https://www.client.example/cb",
    "https://client.example.evil.example/cb",
    "http://127.0.0.1:4711/cb/x",
    "http://127.0.0.1:4711/cb?x=1",
    "http://localhost:4711/cb",
    "http://[::1]:4711/cb",
    "https://127.0.0.1:4711/cb",
    "com.example.app:/cb2",
  ];
  for (const one of others) assert.ok(!isRegistered(one, registered), one);
});
