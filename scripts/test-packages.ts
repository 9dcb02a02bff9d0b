/**
 * `npm run test:packages [-- FILE …]`: installs each artifact of `npm run release` in an empty place, runs it and removes
 * it. Builds the artifacts first if they are missing or of another commit.
 */
import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commit, distFolder } from "./release/paths.ts";

const given = process.argv.slice(2);
const files = given.length > 0 ? given : globSync("test/packages/*.check.ts").sort();
const marker = join(distFolder, ".built-from");
const isBuilt = existsSync(marker) && readFileSync(marker, "utf8") === commit();
if (!isBuilt) {
  run(["scripts/release.ts"]);
  writeFileSync(marker, commit());
}
run(["--test", "--test-concurrency=1", "--test-timeout=600000", ...files]);

function run(words: readonly string[]): void {
  const { status } = spawnSync(process.execPath, words, { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}
