/** `npm test [-- FILE …]`: every test, or the named files. `-- --changed[=REV]`: those that the change touches. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";
import "./bundle.ts";
import { allTests, changedSince, isAlone, testsFor } from "./changed-tests.ts";
import { makeQueue } from "./test-queue.ts";

/** How many processes run tests at once. Most wait as long as they compute, so that two cores are busy with these. */
const atOnce = 4;

const worker = fileURLToPath(new URL("./test-worker.ts", import.meta.url));

const given = process.argv.slice(2);
const lane = given.find((one) => one.startsWith("--changed"));
const named = given.filter((one) => one !== lane && !one.startsWith("--static"));
let files = named.length > 0 ? named : allTests();
if (lane !== undefined) {
  const all = allTests();
  files = testsFor(changedSince(lane.split("=")[1]), all);
  process.stdout.write(`${files.length} of ${all.length} test files; \`npm test\` runs all of them\n`);
}

const alone = files.filter((file) => files.length === 1 || isAlone(file));
const together = files.filter((file) => !alone.includes(file));
const directory = mkdtempSync(join(tmpdir(), "postern-tests-"));
const queue = makeQueue(directory, together);
// A process that runs several files loads once what they test, which takes longer than most of them do.
const workers = Array.from({ length: Math.min(atOnce, Math.ceil(together.length / 3)) }, () => worker);
// Once there is none left that runs alone, further processes help with the queue.
const begun = [...workers.slice(0, atOnce - 2), ...alone, ...workers.slice(atOnce - 2)];
const report = run({ files: begun, argv: [directory], concurrency: atOnce, timeout: 120_000 });
report.on("test:summary", ({ file, success }) => {
  if (file === undefined && !success) process.exitCode = 1;
});
report.once("end", () => {
  const unfinished = queue.unfinished();
  rmSync(directory, { recursive: true });
  if (unfinished.length === 0) return;
  process.exitCode = 1;
  process.stdout.write(`not run to the end, since their process has ended: ${unfinished.join(", ")}\n`);
});
report.compose(spec).pipe(process.stdout);
