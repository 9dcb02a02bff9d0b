import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../../test/support/random.ts";
import { pathOfRequest, sanitizePath } from "./return-path.ts";

/** Building blocks of malicious addresses, each literal, encoded once and encoded twice. */
const pieces = [
  ..."/ \\ // \\\\ . .. : @ ? # ; % \t \r \n \0 \u00a0 \u3002 \uff0f \u2215 \u0131".split(" "),
  " ",
  "https:",
  "javascript:alert(1)",
  "data:,x",
  "evil.example",
  "user:pass@evil.example",
  "host.invalid",
  "[::1]",
  "a",
  "a=1&b=2",
];
const forms = [
  (text: string) => text,
  (text: string) => encodeURIComponent(text),
  (text: string) => encodeURIComponent(encodeURIComponent(text)),
  (text: string) => text.replaceAll("/", "%2f").replaceAll("\\", "%5c"),
];

/** Where a browser goes that reads "\" as "/", drops control characters, and takes two slashes for a host. */
function leadsAway(path: string): boolean {
  const visible = path.split("").filter((one) => one > " ");
  const read = visible.join("").replaceAll("\\", "/");
  return (
    !read.startsWith("/") || read.startsWith("//") || new URL(path, "https://app.example/x").host !== "app.example"
  );
}

describe("I3: a return path", () => {
  it("I3: a return path stays on its own host, whatever it is made of", () => {
    const random = seededRandom(3);
    for (let round = 0; round < 4_000; round += 1) {
      const count = random.below(6) + 1;
      const made = Array.from({ length: count }, () => random.pick(forms)(random.pick(pieces))).join("");
      for (const text of [made, `/${made}`]) {
        const path = sanitizePath(text);
        assert.ok(!leadsAway(path), `${JSON.stringify(text)} leads to ${path}`);
        assert.match(path, /^\/[\x21-\x7e]*$/, JSON.stringify(text));
        assert.equal(sanitizePath(path), path, "and the same once more");
        assert.ok(!leadsAway(pathOfRequest(`/${made}`, "")), text);
      }
    }
  });

  it("I3: a return path is the start page if the text could be read as another place", () => {
    const evil = "evil.example/x";
    for (const text of [
      ...[
        "//",
        "///",
        "/\\",
        "\\/",
        "\\\\",
        "/\t/",
        "/\n/",
        "/.//",
        "/..//",
        "/a/..//",
        "/%2e//",
        "/%2E%2e//",
        "@",
        "",
      ].map((start) => start + evil),
      ...["https:", "https:/", "https://", "javascript:", "data:,"].map((start) => start + evil),
      "/a\\b",
      "/a b",
      "/a\tb",
      "/a\r\nset-cookie:b=1",
      "/\0",
      "/\u00fc",
      "/a\u2028b",
      "a",
      "./a",
      "?a",
      "#a",
    ]) {
      assert.equal(sanitizePath(text), "/", JSON.stringify(text));
    }
  });

  it("I3: a harmless return path is preserved", () => {
    for (const path of [
      "/",
      "/a",
      "/a/b?c=d&e=%2F%2Fevil.example",
      "/%2f%2fevil.example",
      "/a?u=https://evil.example",
      "/a//b",
    ]) {
      assert.equal(sanitizePath(path), path);
    }
    const [longest, longer] = [1024, 1025].map((length) => `/${"a".repeat(length - 1)}`);
    assert.deepEqual([sanitizePath(longest), sanitizePath(longer)], [longest, "/"]);
    for (const nothing of [undefined, null, ""]) assert.equal(sanitizePath(nothing), "/");
  });
});
