/**
 * `npm run test:packages [-- FILE …]`: installs each artifact of `npm run release` in an empty environment, runs it,
 * upgrades it from the artifact of the previous commit, and removes it. Builds the artifacts first if the sources have
 * changed.
 */
import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { run as runTests } from "node:test";
import { spec } from "node:test/reporters";
import { skipWithoutPackaging } from "../test/packages/artifacts.ts";
import { distFolder, sourceState } from "./release/paths.ts";

/** One file takes minutes on a busy machine. */
const timeout = 1_200_000;

const given = process.argv.slice(2);
const files = given.length > 0 ? given : globSync("test/packages/*.check.ts").sort();
const reason = skipWithoutPackaging("xz", "strip", "strip for arm64", "mmdebstrap", "root");
if (reason !== false) {
  process.stdout.write(`skipped: every check of packages, ${reason}\n`);
  process.exit(0);
}
const marker = join(distFolder, ".built-from");
if (!existsSync(marker) || readFileSync(marker, "utf8") !== sourceState()) {
  const { status } = spawnSync(process.execPath, ["scripts/release.ts"], { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}
const report = runTests({ files, concurrency: 1, timeout });
const skipped = new Map<string, number>();
report.on("test:pass", ({ skip }) => {
  if (typeof skip === "string") skipped.set(skip, (skipped.get(skip) ?? 0) + 1);
});
report.on("test:summary", ({ file, success }) => {
  if (file === undefined && !success) process.exitCode = 1;
});
const ended = new Promise((resolve) => report.once("end", resolve));
report.compose(spec).pipe(process.stdout);
await ended;
for (const [why, count] of skipped) process.stdout.write(`skipped: ${count} checks of packages, ${why}\n`);
