/**
 * `npm run check`: checks types, lint, format, dead code and language, then runs the tests. `-- --static` skips the
 * tests.
 */
import { spawnSync } from "node:child_process";

const binPath = (name: string): string => `node_modules/.bin/${name}`;
const steps: readonly (readonly [name: string, command: string, ...args: string[]])[] = [
  ["types", binPath("tsc"), "--noEmit"],
  ["types of the pages", binPath("tsc"), "--noEmit", "-p", "console"],
  ["lint", binPath("oxlint"), "--quiet"],
  ["format", binPath("oxfmt"), "--check"],
  ["dead code", binPath("knip")],
  ["language", process.execPath, "scripts/language.ts"],
];
for (const [name, command, ...args] of steps) {
  const started = performance.now();
  const run = spawnSync(command, args, { encoding: "utf8" });
  if (run.status !== 0) {
    process.stdout.write(`${name}: failed\n${run.stdout}${run.stderr}`);
    process.exit(1);
  }
  process.stdout.write(`${name}: ok (${((performance.now() - started) / 1000).toFixed(1)} s)\n`);
}
if (!process.argv.includes("--static")) await import("./test.ts");
