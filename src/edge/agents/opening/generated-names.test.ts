import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { generatedName, hostName } from "./generated-names.ts";

describe("host names of endpoints", () => {
  it("host names of endpoints are equal for equal parts and differ otherwise", () => {
    assert.equal(generatedName(["a", "b"]), generatedName(["a", "b"]));
    assert.notEqual(generatedName(["a", "b"]), generatedName(["ab", ""]));
    assert.match(generatedName(["x"]), /^[a-z]+-[a-z]+-[0-9a-z]{6}$/);
    const many = new Set(Array.from({ length: 5000 }, (_, ordinal) => generatedName(["seed", String(ordinal)])));
    assert.equal(many.size, 5000);
  });

  it("host names of endpoints are accepted in one form only", () => {
    assert.equal(hostName("App.Example.COM."), "app.example.com");
    assert.equal(hostName("xn--bcher-kva.example"), "xn--bcher-kva.example");
    assert.equal(hostName("*.App.example.com"), "*.app.example.com");
    const bad = [
      "",
      ".",
      "a..b",
      "-a.example",
      "a-.example",
      "a_b.example",
      "a.*.example",
      "*a.example",
      "a b",
      "ä.example",
      "a\n.b",
    ];
    for (const text of [...bad, "192.0.2.1", "a.example:443", "x".repeat(64), `${"a.".repeat(127)}ab`]) {
      assert.equal(hostName(text), undefined, JSON.stringify(text));
    }
  });
});
