/**
 * One of the processes in which `npm test` runs most test files: each takes the next one that nobody has taken, one
 * after another. `node scripts/test-worker.ts DIRECTORY`, with the queue that `scripts/test-queue.ts` made there.
 */
import { describe } from "node:test";
import { pathToFileURL } from "node:url";
import { noteCost, processorSeconds } from "./test-costs.ts";
import { openQueue } from "./test-queue.ts";

const directory = process.argv[2] as string;
const queue = openQueue(directory);
// What a test waits for need not keep the process alive: its own time-out ends it.
const alive = setInterval(() => {}, 60_000);
for (let file = queue.take(); file !== undefined; file = queue.take()) {
  const { href } = pathToFileURL(file);
  const before = processorSeconds();
  // A suite of its own ends what the file began, by its hooks, before the next file is loaded.
  await describe(file, async () => void (await import(href)));
  noteCost(directory, file, processorSeconds() - before);
  queue.done(file);
}
clearInterval(alive);
// What a test has left running would keep the process, and the run, for ever.
setTimeout(() => {
  process.stderr.write(`tests have left running: ${[...new Set(process.getActiveResourcesInfo())].join(", ")}\n`);
  process.exit(1);
}, 60_000).unref();
