/**
 * `npm test [-- FILE …]`: every test, or the named files. `-- --changed[=REV]`: those that the change touches.
 * `-- --again FILE …`: failed files are tried once more, as when every test is run (decision 26).
 * `-- --costs`: says at the end what each file, and the lane of each source, has cost in processor time.
 */
import { globSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";
import "./bundle.ts";
import { allTests, changedSince, isAlone, testsFor } from "./changed-tests.ts";
import { costsIn, lanesOf } from "./test-costs.ts";
import type { Cost } from "./test-costs.ts";
import { makeQueue } from "./test-queue.ts";
import { skipWithoutPostgres } from "../test/support/programs.ts";

/**
 * How many processes run tests at once. Most wait as long as they compute, so that the cores are busy with two for each; eight
 * at most, since all of them share one PostgreSQL.
 */
const atOnce = Math.min(8, Math.max(4, 2 * availableParallelism()));
/** So many failed files are tried once more, by themselves; where more fail, it is no accident. */
const maxAgain = 3;

const worker = fileURLToPath(new URL("./test-worker.ts", import.meta.url));
const costs = new URL("./test-costs.ts", import.meta.url).href;

const given = process.argv.slice(2);
const lane = given.find((one) => one.startsWith("--changed"));
const named = given.filter((one) => !one.startsWith("--"));
const isTriedAgain = given.includes("--again") || (lane === undefined && named.length === 0);
let files = named.length > 0 ? named : allTests();
if (lane !== undefined) {
  const all = allTests();
  files = testsFor(changedSince(lane.split("=")[1]), all);
  process.stdout.write(`${files.length} of ${all.length} test files; \`npm test\` runs all of them\n`);
}

/** The reason of each skipped test or suite, with how many have it. */
const skipped = new Map<string, number>();

const failed = await runAll();
printSkipped();
if (failed.length > 0) {
  process.exitCode = 1;
  if (isTriedAgain && failed.length <= maxAgain) {
    process.stdout.write(`\nonce more, one by one: ${failed.join(", ")}\n`);
    const failedAgain = await runFiles(failed, [], 1);
    const unstable = failed.filter((file) => !failedAgain.has(resolve(file)));
    if (unstable.length > 0) {
      process.stdout.write(`\nunstable, failed beside others and passed by themselves: ${unstable.join(", ")}\n`);
    }
    if (unstable.length === failed.length) process.exitCode = 0;
  }
}

/** Runs all files; resolves with those that failed, or were not run to their end. */
async function runAll(): Promise<string[]> {
  const alone = files.filter((file) => files.length === 1 || isAlone(file));
  const together = files.filter((file) => !alone.includes(file));
  const directory = mkdtempSync(join(tmpdir(), "postern-tests-"));
  const queue = makeQueue(directory, together);
  // A process that runs several files loads once what they test, which takes longer than most of them do.
  const workers = Array.from({ length: Math.min(atOnce, Math.ceil(together.length / 3)) }, () => worker);
  // Once there is none left that runs alone, further processes help with the queue.
  const begun = [...workers.slice(0, atOnce - 2), ...alone, ...workers.slice(atOnce - 2)];
  const failing = await runFiles(begun, [directory], atOnce);
  const unfinished = queue.unfinished();
  if (given.includes("--costs")) printCosts(costsIn(directory));
  rmSync(directory, { recursive: true });
  if (unfinished.length > 0) {
    process.stdout.write(`not run to the end, since their process has ended: ${unfinished.join(", ")}\n`);
  }
  const found = files.filter((file) => failing.has(resolve(file)) || unfinished.includes(file));
  // What has failed has failed, whatever file it is of.
  return found.length === 0 && failing.size > 0 ? [...failing] : found;
}

/** Runs the files, each in a process. Resolves with the paths of what failed. */
async function runFiles(paths: readonly string[], argv: readonly string[], concurrency: number): Promise<Set<string>> {
  const failing = new Set<string>();
  const execArgv = given.includes("--costs") && argv.length > 0 ? ["--import", costs] : [];
  const report = run({ files: [...paths], argv: [...argv], execArgv, concurrency, timeout: 120_000 });
  report.on("test:fail", ({ name, nesting, file }) => {
    // A process that runs several files has a suite for each, which is called as the file.
    if (nesting === 0) failing.add(resolve(file === worker ? name : (file ?? name)));
  });
  report.on("test:pass", ({ skip }) => {
    if (typeof skip === "string") skipped.set(skip, (skipped.get(skip) ?? 0) + 1);
  });
  report.on("test:summary", ({ file, success }) => {
    if (file === undefined && !success && failing.size === 0) failing.add("the run");
  });
  const ended = new Promise((resolved) => report.once("end", resolved));
  report.compose(spec).pipe(process.stdout);
  await ended;
  return failing;
}

/** Counts what was skipped, with the packages that those tests need. */
function printSkipped(): void {
  for (const [reason, count] of skipped) process.stdout.write(`skipped: ${count} tests or suites, ${reason}\n`);
  if (skipWithoutPostgres) process.stdout.write(`skipped: every test's run on PostgreSQL, ${skipWithoutPostgres}\n`);
}

/** The files that cost something to speak of, and the dearest lanes: those of a whole run say what a change takes. */
function printCosts(noted: readonly Cost[]): void {
  const print = (title: string, rows: readonly Cost[]): void => {
    const lines = rows.map(([file, seconds]) => `${seconds.toFixed(1).padStart(7)}  ${file}\n`);
    process.stdout.write(`\n${title}, in seconds of processor time:\n${lines.join("")}`);
  };
  const tests = noted.filter(([file]) => file.endsWith(".test.ts"));
  const dear = tests.filter(([, seconds]) => seconds >= 1);
  const sources = globSync(["src/**/*.ts", "sdk/src/**/*.ts", "console/src/**/*.{ts,tsx}"], {
    exclude: ["**/*.test.ts"],
  });
  print("test files", dear);
  print("lanes of changes", lanesOf(sources, tests).slice(0, 30));
}
