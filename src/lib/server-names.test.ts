import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { namesAbove, wildcardsOver } from "./host-cover.ts";
import { isPublicSuffix } from "./public-suffix.ts";
import { isServerName } from "./server-names.ts";

describe("names of the server", () => {
  it("names of the server are its domain, the login host, the names below it, and every wildcard that covers one of them", () => {
    const own = ["tunnels.example", "idp.tunnels.example", "*.idp.tunnels.example", "a.idp.tunnels.example"];
    for (const name of [...own, "*.tunnels.example", "*.example"]) {
      assert.equal(isServerName(name, { domain: "tunnels.example" }), true, name);
    }
    const others = ["a.tunnels.example", "*.a.tunnels.example", "xidp.tunnels.example", "idp.example", "example"];
    for (const name of [...others, "*.other.example", "idp.a.tunnels.example"]) {
      assert.equal(isServerName(name, { domain: "tunnels.example" }), false, name);
    }
    assert.equal(isServerName("idp.localhost", { domain: "localhost" }), true);
  });
});

describe("the login host", () => {
  it("the login host belongs to the server at any configured name, with the names below it and wildcards over it", () => {
    const names = { domain: "tunnels.example", idpHost: "login.acme.example" };
    for (const name of [
      "login.acme.example",
      "*.acme.example",
      "a.login.acme.example",
      "*.example",
      "tunnels.example",
    ]) {
      assert.equal(isServerName(name, names), true, name);
    }
    for (const name of ["acme.example", "idp.tunnels.example", "*.login.tunnels.example", "a.acme.example"]) {
      assert.equal(isServerName(name, names), false, name);
    }
  });
});

describe("public suffixes", () => {
  const none = { more: [], allowed: [] };
  it("public suffixes are those of both sections of the list, and wildcards below them", () => {
    for (const name of [
      "com",
      "*.com",
      "co.uk",
      "*.co.uk",
      "github.io",
      "*.github.io",
      "foo.ck",
      "*.test",
      "xn--p1ai",
    ]) {
      assert.equal(isPublicSuffix(name, none), true, name);
    }
    for (const name of ["example.com", "*.example.com", "a.github.io", "*.a.github.io", "www.ck", "nas", "*.v.test"]) {
      assert.equal(isPublicSuffix(name, none), false, name);
    }
  });

  it("public suffixes include those that the operator adds, and exclude those that the operator allows", () => {
    const rules = { more: ["customers.example"], allowed: ["test", "github.io"] };
    for (const name of ["customers.example", "*.customers.example"]) assert.equal(isPublicSuffix(name, rules), true);
    for (const name of ["a.customers.example", "*.test", "test", "*.github.io"]) {
      assert.equal(isPublicSuffix(name, rules), false, name);
    }
  });
});

describe("wildcards", () => {
  it("wildcards cover names below them on any level", () => {
    assert.deepEqual(wildcardsOver("a.b.c"), ["*.b.c", "*.c"]);
    assert.deepEqual(wildcardsOver("*.b.c"), ["*.c"]);
    assert.deepEqual(wildcardsOver("c"), []);
    assert.deepEqual(namesAbove("*.a.b.c"), ["b.c", "c"]);
  });
});
