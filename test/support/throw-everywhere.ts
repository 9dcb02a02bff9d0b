/**
 * Makes every function that a visit of the busy edge calls throw once. Prints a JSON line for each fault that harmed
 * more than its own visitor: `node test/support/throw-everywhere.ts [--calls N] [--part K/N] [--only NAME]`. The last
 * line has the counts.
 *
 * `--calls`: how many calls of each function throw, one after another. Default: only the first. `--only`: only
 * functions whose `file:line` begins with this, with the errors that their units report. `--part`: every N-th function,
 * starting with the K-th.
 */
import { parseArgs } from "node:util";
import { logFailuresTo } from "../../src/lib/boundary.ts";
import { faults } from "./thrown-faults.ts";

const { startBusyEdge } = await import("./busy-edge.ts");

/** A visitor without an outcome after this time counts as forgotten. */
const patienceMs = 5000;
const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "1" },
    part: { type: "string", default: "0/1" },
    only: { type: "string" },
  },
});
const mostCalls = Number(values.calls);
const [part = 0, parts = 1] = values.part.split("/").map(Number);

/** Uncaught errors of the process. Outside of these tests each would end a thread. */
const escaped: string[] = [];
process.on("uncaughtException", (error) => escaped.push(error.stack ?? String(error)));
process.on("unhandledRejection", (error) => escaped.push(error instanceof Error ? (error.stack ?? "") : String(error)));

const busy = await startBusyEdge();
await busy.ready();
if (values.only !== undefined) {
  logFailuresTo({ error: (event, { stack }) => void process.stderr.write(`${event}: ${String(stack)}\n`) });
}

/**
 * Runs a visit.
 * @returns "hung", or the outcome of the visit
 */
async function visitOnce(run: () => Promise<string>): Promise<string> {
  const hung = Promise.withResolvers<string>();
  const timer = setTimeout(() => hung.resolve("hung"), patienceMs);
  const ended = run().catch((error: unknown) => `failed: ${String(error)}`);
  const outcome = await Promise.race([ended, hung.promise]);
  clearTimeout(timer);
  return outcome;
}

/** Each function with the first visit that always calls it, and the number of calls in that visit. */
const reached = new Map<number, { readonly visit: number; readonly calls: number }>();
// The first round fills the caches.
for (const visit of busy.visits) await visitOnce(visit.run);
for (const [index, visit] of busy.visits.entries()) {
  faults.reset();
  await visitOnce(visit.run);
  for (let number = 0; number < faults.names.length; number += 1) {
    const calls = faults.calls(number);
    if (calls > 0 && !reached.has(number)) reached.set(number, { visit: index, calls });
  }
}

const counts = { functions: reached.size, tried: 0, thrown: 0, escaped: 0, hung: 0 };
for (const [number, { visit: index, calls }] of reached) {
  const isWanted = values.only === undefined ? number % parts === part : faults.names[number]?.startsWith(values.only);
  if (isWanted !== true) continue;
  const visit = busy.visits[index];
  if (visit === undefined) continue;
  counts.tried += 1;
  for (let call = 0; call < Math.min(calls, mostCalls); call += 1) {
    process.stdout.write(`${JSON.stringify({ throws: faults.names[number], call })}\n`);
    faults.arm(number, call);
    const outcome = await visitOnce(visit.run);
    if (faults.disarm()) counts.thrown += 1;
    // The edge serves the next visitors over either version of HTTP, and tunnels of every kind.
    const next = await visitOnce(async () => (await busy.ready(), "served"));
    if (escaped.length > 0) counts.escaped += 1;
    if (outcome === "hung" || next === "hung") counts.hung += 1;
    if (escaped.length > 0 || outcome === "hung" || next === "hung") {
      const line = {
        function: faults.names[number],
        call,
        visit: visit.name,
        outcome,
        next,
        escaped: escaped.splice(0),
      };
      process.stdout.write(`${JSON.stringify(line)}\n`);
    }
  }
}
process.stdout.write(`${JSON.stringify(counts)}\n`);
process.exit(0);
