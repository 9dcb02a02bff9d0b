import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { canonicalPath } from "./canonical-path.ts";

const canonical: readonly (readonly [sent: string, canonical: string])[] = [
  ["/", "/"],
  ["/a/b.html", "/a/b.html"],
  ["/a//b", "/a//b"],
  ["/%61%7e%2D%5f", "/a~-_"],
  ["/%3a%C3%A9", "/%3A%C3%A9"],
  ["/a%20b", "/a%20b"],
  ["/{a}|b", "/%7Ba%7D%7Cb"],
  ["/.", "/"],
  ["/..", "/"],
  ["/../../a", "/a"],
  ["/a/./b/../c", "/a/c"],
  ["/a/b/..", "/a/"],
  ["/a/b/.", "/a/b/"],
  ["/...", "/..."],
  ["/.well-known/x", "/.well-known/x"],
  ["/a.b/%2ec", "/a.b/.c"],
  ["/a%2e", "/a."],
  ["/%252e%252e", "/%252e%252e"],
  ["/a;b=c/d", "/a;b=c/d"],
];

const refused = [
  "/%00",
  "/a%2fb",
  "/a%2Fb",
  "/a%5cb",
  "/a\\b",
  "/%2e%2e/a",
  "/%2e/a",
  "/.%2e",
  "/%2E.",
  "/..;/a",
  "/.;x",
  "/..%3b/a",
  "/%2e%2e;/a",
  "/%",
  "/%4",
  "/%zz",
  "/%c0%af",
  "/%ff",
  "/%ed%a0%80",
  "/%e9",
];

describe("a path", () => {
  for (const [sent, path] of canonical) {
    it(`R1: ${sent} is ${path}, and stays so`, () => {
      assert.equal(canonicalPath(sent), path);
      assert.equal(canonicalPath(path), path);
    });
  }
  for (const path of refused) it(`R1: ${path} is refused`, () => assert.equal(canonicalPath(path), undefined));
});
