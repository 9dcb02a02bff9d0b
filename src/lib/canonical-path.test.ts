import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../test/support/random.ts";
import { canonicalPath, pathFault } from "./canonical-path.ts";

const canonical: readonly (readonly [sent: string, canonical: string])[] = [
  ["/", "/"],
  ["/a/b.html", "/a/b.html"],
  ["/a//b", "/a//b"],
  ["/%61%7e%2D%5f", "/a~-_"],
  ["/%3a%C3%A9", "/:%C3%A9"],
  ["/%40admin", "/@admin"],
  ["/%21%24%26%27%28%29%2A%2b%2C%3B%3D%3a%40", "/!$&'()*+,;=:@"],
  ["/%3f%23%5B%5d%22%25%7c%09", "/%3F%23%5B%5D%22%25%7C%09"],
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

const slash = 47;
/** Dots, which form segments, and a backslash. */
const unspelt = [46, 92];
/** Visible ASCII without characters that have another meaning unencoded. */
function mayBeRaw(byte: number): boolean {
  return byte > 32 && byte < 127 && !"%?#".includes(String.fromCharCode(byte));
}

describe("a path", () => {
  for (const [sent, path] of canonical) {
    it(`R1: a path: the canonical form of ${sent} is ${path}, and does not change again`, () => {
      assert.equal(canonicalPath(sent), path);
      assert.equal(canonicalPath(path), path);
    });
  }
  for (const path of refused) it(`R1: the path ${path} is refused`, () => assert.equal(canonicalPath(path), undefined));

  it("R1: a path has one canonical form for all spellings of the same bytes", () => {
    const random = seededRandom(16);
    const bytes = [...Array.from({ length: 95 }, (_, at) => at + 32), 1, 9, 127].filter(
      (byte) => !unspelt.includes(byte),
    );
    const hex = (byte: number): string => byte.toString(16).padStart(2, "0");
    const encoded = (byte: number): string => `%${random() < 0.5 ? hex(byte) : hex(byte).toUpperCase()}`;
    const spelled = (byte: number): string =>
      byte === slash || (mayBeRaw(byte) && random() < 0.5) ? String.fromCharCode(byte) : encoded(byte);
    for (let round = 0; round < 5000; round += 1) {
      const path = [slash, ...Array.from({ length: random.below(12) }, () => random.pick([...bytes, slash]))];
      const [one, other] = [path.map(spelled).join(""), path.map(spelled).join("")];
      const form = canonicalPath(one);
      assert.ok(form !== undefined, one);
      assert.equal(canonicalPath(other), form, `${one} ${other}`);
      assert.equal(canonicalPath(form), form, one);
      assert.deepEqual([...Buffer.from(decodeURIComponent(form))], path, one);
      assert.match(form, /^(?:[!$&-;=@-Z_a-z~]|%[0-9A-F]{2})+$/);
    }
  });

  it("R1: a path with dots in it is rejected or equals its canonical form", () => {
    const random = seededRandom(17);
    const parts = ["/", "/", ".", "..", "%2e", "%2E", ";", "%3b", "a", "%40", "@", "%25", "|"];
    for (let round = 0; round < 20_000; round += 1) {
      const path = `/${Array.from({ length: random.below(8) }, () => random.pick(parts)).join("")}`;
      const form = canonicalPath(path);
      assert.equal(form === undefined, pathFault(path) !== undefined);
      if (form === undefined) continue;
      assert.equal(canonicalPath(form), form, path);
      assert.doesNotMatch(form, /\/\.{1,2}(?:\/|;|$)/, path);
    }
  });

  it("a path without a canonical form is rejected with the reason", () => {
    assert.equal(pathFault("/a%2Fb"), "an encoded slash (%2F)");
    assert.equal(pathFault("/..;/a"), 'a "." or ".." segment with parameters');
    assert.equal(pathFault("/a"), undefined);
  });

  it("a path in canonical form is returned as the same string", () => {
    const text = "/a-b_c~d/!$&'()*+,;=:@//x.y/z..";
    assert.equal(canonicalPath(text), text);
  });
});

it("R1: a path takes time in proportion to its length, whatever its segments contain", () => {
  const spent = (segment: string, count: number): number => {
    const path = `/${segment.repeat(count)}`;
    const before = process.cpuUsage();
    for (let round = 0; round < 16_384 / count; round += 1) canonicalPath(path);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  for (const segment of ["%2e", ".%2e", "%2e.a", "..", "%C3%A9", "./", "..;", "a/../"]) {
    spent(segment, 64);
    // The same total number of segments: only their number in one path grows, by 128.
    const [short, long] = [spent(segment, 64), spent(segment, 8192)];
    assert.ok(long < 20 * short + 5_000, `${segment}: ${short} µs grow to ${long} µs`);
  }
});
