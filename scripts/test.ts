/** `npm test [-- FILE …]`: every test, or the named files. */
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";

const named = process.argv.slice(2);
const files = named.length > 0 ? named : globSync(["src/**/*.test.ts", "test/**/*.test.ts"]).sort();
const run = spawnSync(process.execPath, ["--test", "--test-timeout=120000", "--test-concurrency=4", ...files], {
  stdio: "inherit",
});
process.exitCode = run.status ?? 1;
