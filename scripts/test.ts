/**
 * `npm test [-- FILE …]`: runs every test, or the named files. `-- --changed[=REV]`: tests that the change affects. `--
 * --again FILE …`: retries failed files once, as a full run does (decision 26). `-- --costs`: prints the processor time
 * of each file, and of each source's lane, at the end.
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
 * Number of concurrent test processes. Most wait as long as they compute, so two per core keep the cores busy. Maximum
 * eight, because all of them share one PostgreSQL.
 */
const atOnce = Math.min(8, Math.max(4, 2 * availableParallelism()));
/** Maximum number of failed files that are retried separately. More failures are not random. */
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

/** Number of skipped tests or suites by reason. */
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

/** Runs all files. Resolves with the files that failed or did not finish. */
async function runAll(): Promise<string[]> {
  const alone = files.filter((file) => files.length === 1 || isAlone(file));
  const together = files.filter((file) => !alone.includes(file));
  const directory = mkdtempSync(join(tmpdir(), "postern-tests-"));
  const queue = makeQueue(directory, together);
  // A process for several files loads the tested code once, which takes longer than most files run.
  const workers = Array.from({ length: Math.min(atOnce, Math.ceil(together.length / 3)) }, () => worker);
  // When no separate test is left, additional processes take files from the queue.
  const begun = [...workers.slice(0, atOnce - 2), ...alone, ...workers.slice(atOnce - 2)];
  const failing = await runFiles(begun, [directory], atOnce);
  const unfinished = queue.unfinished();
  if (given.includes("--costs")) printCosts(costsIn(directory));
  rmSync(directory, { recursive: true });
  if (unfinished.length > 0) {
    process.stdout.write(`not run to the end, since their process has ended: ${unfinished.join(", ")}\n`);
  }
  const found = files.filter((file) => failing.has(resolve(file)) || unfinished.includes(file));
  // A failure without a known file still fails the run.
  return found.length === 0 && failing.size > 0 ? [...failing] : found;
}

/** Runs each file in a process. Resolves with the paths of failed files. */
async function runFiles(paths: readonly string[], argv: readonly string[], concurrency: number): Promise<Set<string>> {
  const failing = new Set<string>();
  const execArgv = given.includes("--costs") && argv.length > 0 ? ["--import", costs] : [];
  const report = run({ files: [...paths], argv: [...argv], execArgv, concurrency, timeout: 120_000 });
  report.on("test:fail", ({ name, nesting, file }) => {
    // A process for several files has a suite for each, named after the file.
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

/** Prints the skipped tests with the packages that they need. */
function printSkipped(): void {
  for (const [reason, count] of skipped) process.stdout.write(`skipped: ${count} tests or suites, ${reason}\n`);
  if (skipWithoutPostgres) process.stdout.write(`skipped: every test's run on PostgreSQL, ${skipWithoutPostgres}\n`);
}

/**
 * Prints the files with significant costs and the most expensive lanes. The costs of a full run show the cost of a
 * change.
 */
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
