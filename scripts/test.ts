/** `npm test [-- FILE …]`: every test, or the named files. `-- --changed[=REV]`: those that the change touches. */
import { spawnSync } from "node:child_process";
import "./bundle.ts";
import { allTests, changedSince, testsFor } from "./changed-tests.ts";

const given = process.argv.slice(2);
const lane = given.find((one) => one.startsWith("--changed"));
const named = given.filter((one) => one !== lane && !one.startsWith("--static"));
let files = named.length > 0 ? named : allTests();
if (lane !== undefined) {
  const all = allTests();
  files = testsFor(changedSince(lane.split("=")[1]), all);
  process.stdout.write(`${files.length} of ${all.length} test files; \`npm test\` runs all of them\n`);
}
const run = spawnSync(process.execPath, ["--test", "--test-timeout=120000", "--test-concurrency=4", ...files], {
  stdio: "inherit",
});
process.exitCode = run.status ?? 1;
