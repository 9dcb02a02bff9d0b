import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../test/support/random.ts";
import { canonicalPath } from "./canonical-path.ts";
import { encodeCanonicalPath, encodedPathFault, withSlashesDecoded } from "./encoded-path.ts";
import { withoutDotSegments } from "./spelled-path.ts";

const forms: readonly (readonly [sent: string, form: string])[] = [
  ["/api/projects/group%2fname/%41", "/api/projects/group%2Fname/A"],
  ["/@scope%2Fname", "/@scope%2Fname"],
  ["/%ff/%e9%2F", "/%FF/%E9%2F"],
  ["/%F3%B0%82%AF/%2F", "/%F3%B0%82%AF/%2F"],
  ["/a%2Fb/../c%2F%2Fd", "/c%2F%2Fd"],
  ["/a%2F...%2Fb/.c%2F.d", "/a%2F...%2Fb/.c%2F.d"],
];

const refused = [
  "/a%2F..",
  "/a%2f../b",
  "/a%2F%2E%2e/b",
  "/..%2Fa",
  "/.%2fa",
  "/%2e%2e%2Fa",
  "/a%2F.;x",
  "/a%2F..%3bx",
  "/a%2F..%2Fb",
  "/a%2F%00",
  "/a%2F%5c",
  "/a%2F\\",
  "/a%2F%",
  "/a%2F/%2e%2e/b",
  "/a%2F/..;x",
];

const pieces = ["/", "%2F", "%2f", "%FF", "%C3", "%a9", "a", "%61", ".", "%2e", "..", ";", "%3B", "%F3", "%B0"];

describe("a path with encoded slashes", () => {
  it("R1: a path with encoded slashes keeps them and bytes that are not UTF-8, and is canonical otherwise", () => {
    for (const [sent, form] of forms)
      assert.deepEqual([encodeCanonicalPath(sent), encodeCanonicalPath(form)], [form, form], sent);
    assert.equal(withSlashesDecoded("/a%2Fb/%252F%2F"), "/a/b/%252F/");
  });

  it("R1: a path with encoded slashes has no form if a server could resolve dots after decoding them", () => {
    for (const path of refused) assert.equal(encodeCanonicalPath(path), undefined, path);
    assert.equal(encodedPathFault("/a%2F.."), 'a "." or ".." segment beside an encoded slash (%2F)');
    assert.equal(encodedPathFault("/a%2Fb%5c"), "an encoded backslash (%5C)");
    for (const path of ["/%C0%AFadmin", "/x/%C0%AE%c0%ae/admin", "/%E0%80%AFx", "/%F0%80%80%AFx"]) {
      assert.equal(withSlashesDecoded(encodeCanonicalPath(path) as string), undefined, path);
    }
  });

  it("R1: a path with encoded slashes has the form of `canonicalPath` if there is one, and no reader resolves it further", () => {
    const random = seededRandom(11);
    let kept = 0;
    for (let round = 0; round < 20_000; round += 1) {
      const path = `/${Array.from({ length: random.below(8) }, () => random.pick(pieces)).join("")}`;
      const form = encodeCanonicalPath(path);
      const canonical = canonicalPath(path);
      if (canonical !== undefined) assert.equal(form, canonical, path);
      if (form === undefined) continue;
      kept += 1;
      assert.equal(encodeCanonicalPath(form), form, path);
      assert.equal(encodeCanonicalPath(withoutDotSegments(path)), form, path);
      const decoded = Buffer.from(form.replaceAll("%2F", "/"), "latin1").toString("latin1");
      assert.doesNotMatch(decoded, /\/\.{1,2}(?:[/;]|$)/, path);
    }
    assert.ok(kept > 5_000, String(kept));
  });
});

it("D2: a path with encoded slashes takes time in proportion to its length, whatever its content", () => {
  for (const piece of ["%2F", "%ff", "%2e", "..%2F", "/..", "x%2e", "|", "/%2e", "%41"]) {
    const micros = (bytes: number): number => {
      const path = `/a%2F${piece.repeat(bytes / piece.length)}`;
      const before = process.cpuUsage();
      for (let round = 0; round < 200; round += 1) {
        encodeCanonicalPath(path);
        encodedPathFault(`${path.slice(0, 200)}%5C`);
      }
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    micros(1_000);
    // Sixteen times as long; quadratic work would take 256 times as much.
    assert.ok(micros(16_000) < 80 * Math.max(micros(1_000), 1_000), piece);
  }
});

describe("a path without dot segments", () => {
  it("R1: a path without dot segments keeps its spelling and its canonical form", () => {
    const random = seededRandom(12);
    const dots = ["/", "/", ".", "..", "%2E", "a", "%62", "%2B", ";"];
    for (let round = 0; round < 20_000; round += 1) {
      const path = `/${Array.from({ length: random.below(9) }, () => random.pick(dots)).join("")}`;
      const canonical = canonicalPath(path);
      if (canonical === undefined) continue;
      const spelled = withoutDotSegments(path);
      assert.equal(canonicalPath(spelled), canonical, path);
      assert.doesNotMatch(spelled, /\/\.{1,2}(?:\/|$)/, path);
      assert.equal(decodeURIComponent(spelled), decodeURIComponent(canonical), path);
    }
  });
});
