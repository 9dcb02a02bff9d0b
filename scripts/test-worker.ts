/**
 * One of the processes in which `npm test` runs most test files: each takes the next one that nobody has taken, one
 * after another. `node scripts/test-worker.ts DIRECTORY`, with the queue that `scripts/test-queue.ts` made there.
 */
import { describe } from "node:test";
import { pathToFileURL } from "node:url";
import { openQueue } from "./test-queue.ts";

const queue = openQueue(process.argv[2] as string);
// What a test waits for need not keep the process alive: its own time-out ends it.
const alive = setInterval(() => {}, 60_000);
for (let file = queue.take(); file !== undefined; file = queue.take()) {
  const { href } = pathToFileURL(file);
  // A suite of its own ends what the file began, by its hooks, before the next file is loaded.
  await describe(file, async () => void (await import(href)));
  queue.done(file);
}
clearInterval(alive);
