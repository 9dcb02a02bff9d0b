import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hostCodeOf, hostOfCode } from "./host-code.ts";
import { placeOfName } from "./own-name.ts";

const hosts = ["app.example.com", "other.example.com", "*.example.com", "*.team.example.com", "*.example.net"];

describe("the host code in RelayState", () => {
  it("leads back to the host, named exactly or matched by a wildcard", () => {
    for (const host of ["app.example.com", "other.example.com", "a.example.com", "a.b.example.com", "a.example.net"]) {
      const code = hostCodeOf(host, hosts);
      assert.ok(code !== undefined && code.length <= 36, host);
      assert.match(code, /^[a-z0-9._-]+$/);
      assert.equal(hostOfCode(code, hosts), host);
    }
  });

  it("leads to no host that the edge does not have, or no longer has", () => {
    assert.equal(hostCodeOf("app.example.org", hosts), undefined);
    for (const host of ["app.example.com", "a.example.net"]) {
      const left = hosts.filter((one) => one !== host && one !== "*.example.net");
      assert.equal(hostOfCode(hostCodeOf(host, hosts) as string, left), undefined, host);
    }
    for (const code of ["", "none", "zzzzzz", "evil.example.zzz", "a."]) {
      assert.equal(hostOfCode(code, hosts), undefined, code);
    }
  });

  it("the host code in RelayState works for labels of any length under a wildcard", () => {
    const host = `${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(48)}.example.net`;
    const code = hostCodeOf(host, hosts);
    assert.ok(code);
    assert.equal(hostOfCode(code, hosts), host);
  });
});

describe("the name of a SAML login in its addresses", () => {
  it("the name of a SAML login in its addresses distinguishes routes and hosts, with or without a rule", () => {
    for (const [name, place] of [
      ["edghtsrt_2abc", { id: "edghtsrt_2abc" }],
      ["edghtsrt_2abc-rule", { id: "edghtsrt_2abc" }],
      ["edghtsrt_2abc-rule-staff_1", { id: "edghtsrt_2abc" }],
      ["app.example.com-abcdefgh", { host: "app.example.com" }],
      ["app.example.com-abcdefgh-rule-staff", { host: "app.example.com" }],
      ["_.example.com-abcdefgh", { host: "*.example.com" }],
      ["a._.example.com-abcdefgh", undefined],
      // A host of one label has no "." to distinguish it.
      ["app-abcdefgh", { host: "app" }],
      ["app.example.com", undefined],
      ["app.example.com-abc", undefined],
      ["x_".repeat(60), undefined],
      ["", undefined],
    ] as const) {
      assert.deepEqual(placeOfName(name), place, name);
    }
  });
});
