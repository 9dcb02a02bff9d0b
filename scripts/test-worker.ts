/**
 * One of the processes in which `npm test` runs most test files. Each takes the next file from the queue that
 * `scripts/test-queue.ts` created: `node scripts/test-worker.ts DIRECTORY`.
 */
import { describe } from "node:test";
import { pathToFileURL } from "node:url";
import { noteCost, processorSeconds } from "./test-costs.ts";
import { openQueue } from "./test-queue.ts";

const directory = process.argv[2] as string;
const queue = openQueue(directory);
// A test may wait for something that does not keep the process alive. Its timeout then ends it.
const alive = setInterval(() => {}, 60_000);
for (let file = queue.take(); file !== undefined; file = queue.take()) {
  const { href } = pathToFileURL(file);
  const before = processorSeconds();
  // A separate suite runs the file's cleanup hooks before the next file is loaded.
  await describe(file, async () => void (await import(href)));
  noteCost(directory, file, processorSeconds() - before);
  queue.done(file);
}
clearInterval(alive);
// Resources that a test did not release would keep the process and the run alive forever.
setTimeout(() => {
  process.stderr.write(`tests have left running: ${[...new Set(process.getActiveResourcesInfo())].join(", ")}\n`);
  process.exit(1);
}, 60_000).unref();
