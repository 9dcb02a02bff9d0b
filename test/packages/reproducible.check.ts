/** A second build of the same sources, in another folder, has the same bytes. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { hashFile } from "../../scripts/release/notes.ts";
import { distFolder, root } from "../../scripts/release/paths.ts";

describe("a release", { timeout: 1_200_000 }, () => {
  it("a release lists the checksum of every file in SHA256SUMS, except executables that are listed in their compressed form", () => {
    const listed = checksums(distFolder);
    for (const [name, sum] of listed) assert.equal(hashFile(join(distFolder, name)), sum, name);
    const files = readdirSync(distFolder).filter((name) => !name.startsWith("."));
    const unlisted = files.filter(
      (name) => !listed.has(name) && !/^postern-[\d.]+-(linux|darwin|win)-\w+(\.exe)?$/.test(name),
    );
    assert.deepEqual(unlisted, ["SHA256SUMS"]);
  });

  it("a release has the same bytes when it is built again in another folder", () => {
    const folder = mkdtempSync(join(tmpdir(), "postern-second-build-"));
    try {
      const env = { ...process.env, POSTERN_RELEASE_FOLDER: folder };
      const { status, stderr } = spawnSync(process.execPath, ["scripts/release.ts"], {
        cwd: root,
        env,
        encoding: "utf8",
      });
      assert.equal(status, 0, stderr);
      const [first, second] = [checksums(distFolder), checksums(folder)];
      assert.deepEqual(
        [...second].filter(([name, sum]) => first.get(name) !== sum).map(([name]) => name),
        [],
      );
      assert.deepEqual([...second.keys()], [...first.keys()]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

function checksums(folder: string): ReadonlyMap<string, string> {
  const lines = readFileSync(join(folder, "SHA256SUMS"), "utf8").trim().split("\n");
  return new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
}
