import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compileAcl } from "./agent-acl.ts";

describe("an agent token's ACL", () => {
  it("an agent token's ACL restricts nothing when it is empty or has a star", () => {
    for (const rules of [[], ["*"], ["bind:a.example", "*"], ["bind:*"]]) {
      const acl = compileAcl(rules);
      assert.equal(acl.allowsHost("anything.example", 443), true);
      assert.equal(acl.allowsLabel("app", "web"), true);
    }
  });

  it("G2: an agent token's ACL allows exactly the listed host, on any port or on the given one", () => {
    const acl = compileAcl(["bind:a.example", "bind:b.example:443"]);
    assert.equal(acl.allowsHost("a.example", 443), true);
    assert.equal(acl.allowsHost("a.example", 8443), true);
    assert.equal(acl.allowsHost("b.example", 443), true);
    assert.equal(acl.allowsHost("b.example", 8443), false);
    assert.equal(acl.allowsHost("xa.example", 443), false);
    assert.equal(acl.allowsHost("a.example.evil", 443), false);
    assert.equal(acl.allowsLabel("app", "web"), false);
  });

  it("G2: a star in an agent token's ACL matches part of one name", () => {
    const acl = compileAcl(["bind:*.example.com", "bind:dev-*.other.example"]);
    assert.equal(acl.allowsHost("x.example.com", 443), true);
    assert.equal(acl.allowsHost("x.y.example.com", 443), false);
    assert.equal(acl.allowsHost("example.com", 443), false);
    assert.equal(acl.allowsHost(".example.com", 443), false);
    assert.equal(acl.allowsHost("dev-7.other.example", 443), true);
    assert.equal(acl.allowsHost("dev-.other.example", 443), false);
    assert.equal(acl.allowsHost("prod.other.example", 443), false);
  });

  it("G2: a label is allowed by name and value", () => {
    const acl = compileAcl(["bind:app=web", "bind:team=*", "bind:dc-*=eu*west"]);
    assert.equal(acl.allowsLabel("app", "web"), true);
    assert.equal(acl.allowsLabel("app", "webs"), false);
    assert.equal(acl.allowsLabel("team", "blue"), true);
    assert.equal(acl.allowsLabel("dc-1", "eu-north-west"), true);
    assert.equal(acl.allowsLabel("dc-1", "eu-north"), false);
    assert.equal(acl.allowsHost("app=web", 443), false);
  });

  it("G2: an invalid ACL rule allows nothing", () => {
    const acl = compileAcl(["connect:a.example", "bind:"]);
    assert.equal(acl.allowsHost("a.example", 443), false);
    assert.equal(acl.allowsLabel("", ""), false);
  });

  it("D7: an agent token's ACL matches hostile patterns in bounded time", () => {
    const acl = compileAcl([`bind:${"*a".repeat(60)}b`]);
    assert.equal(acl.allowsHost("a".repeat(250), 443), false);
  });
});
