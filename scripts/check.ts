/** `npm run check`: types, lint, format, dead code, then the tests. `-- --static` leaves out the tests. */
import { spawnSync } from "node:child_process";

const steps: readonly (readonly [name: string, ...command: string[]])[] = [
  ["types", "tsc", "--noEmit"],
  ["types of the pages", "tsc", "--noEmit", "-p", "console"],
  ["lint", "oxlint", "--quiet"],
  ["format", "oxfmt", "--check"],
  ["dead code", "knip"],
];
for (const [name, command, ...args] of steps) {
  const started = performance.now();
  const run = spawnSync(`node_modules/.bin/${command}`, args, { encoding: "utf8" });
  if (run.status !== 0) {
    process.stdout.write(`${name}: failed\n${run.stdout}${run.stderr}`);
    process.exit(1);
  }
  process.stdout.write(`${name}: ok (${((performance.now() - started) / 1000).toFixed(1)} s)\n`);
}
if (!process.argv.includes("--static")) await import("./test.ts");
