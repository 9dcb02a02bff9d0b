/** `npm test [-- FILE …]`: every test, or the named files. `-- --changed[=REV]`: those that the change touches. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import "./bundle.ts";
import { allTests, changedSince, isShared, testsFor } from "./changed-tests.ts";

const given = process.argv.slice(2);
const lane = given.find((one) => one.startsWith("--changed"));
const named = given.filter((one) => one !== lane && !one.startsWith("--static"));
let files = named.length > 0 ? named : allTests();
if (lane !== undefined) {
  const all = allTests();
  files = testsFor(changedSince(lane.split("=")[1]), all);
  process.stdout.write(`${files.length} of ${all.length} test files; \`npm test\` runs all of them\n`);
}

const shared = files.filter(isShared);
const own = files.filter((file) => !isShared(file));
// Two reports at once could not be read: that of the shared process is printed last.
const [shares, owns] = await Promise.all([
  run(["--test-isolation=none", ...shared], shared.length > 0, own.length > 0),
  run(["--test-concurrency=4", ...own], own.length > 0, false),
]);
process.stdout.write(shares.report);
process.exitCode = owns.code || shares.code;

/** Runs test files, if there are any. @param held whether to give the report back instead of printing it */
async function run(args: readonly string[], any: boolean, held: boolean): Promise<{ code: number; report: string }> {
  if (!any) return { code: 0, report: "" };
  const child = spawn(process.execPath, ["--test", "--test-timeout=120000", ...args], {
    stdio: ["ignore", held ? "pipe" : "inherit", "inherit"],
  });
  let report = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => (report += chunk));
  const [code] = (await once(child, "close")) as [number | null];
  return { code: code ?? 1, report };
}
