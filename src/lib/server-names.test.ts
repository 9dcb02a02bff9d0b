import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { namesAbove, wildcardsOver } from "./host-cover.ts";
import { isPublicSuffix } from "./public-suffix.ts";
import { isServerName } from "./server-names.ts";

describe("names of the server", () => {
  it("names of the server are its domain, the login host, what is below that, and every wildcard over one of them", () => {
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
  it("the login host is the server's wherever the operator has put it, with what is below it and over it", () => {
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
  it("public suffixes are those of the list, of both its sections, and wildcards below them", () => {
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

  it("public suffixes are also those that the operator names, and not those that the operator allows", () => {
    const rules = { more: ["customers.example"], allowed: ["test", "github.io"] };
    for (const name of ["customers.example", "*.customers.example"]) assert.equal(isPublicSuffix(name, rules), true);
    for (const name of ["a.customers.example", "*.test", "test", "*.github.io"]) {
      assert.equal(isPublicSuffix(name, rules), false, name);
    }
  });
});

describe("wildcards", () => {
  it("wildcards cover what is below them on any level", () => {
    assert.deepEqual(wildcardsOver("a.b.c"), ["*.b.c", "*.c"]);
    assert.deepEqual(wildcardsOver("*.b.c"), ["*.c"]);
    assert.deepEqual(wildcardsOver("c"), []);
    assert.deepEqual(namesAbove("*.a.b.c"), ["b.c", "c"]);
  });
});
