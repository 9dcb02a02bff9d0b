/**
 * What each test file of a run costs in processor time, with the processes that it starts and waits for: for
 * `npm test -- --costs`. Loaded first in each process of the run, it notes what that has cost when it ends.
 */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { testsFor } from "./changed-tests.ts";

/** A test file, or a process that runs several, and its seconds. */
export type Cost = readonly [file: string, seconds: number];

let noted = 0;

/** Seconds that this process and those that it has waited for have computed; 0 where the system does not say. */
export function processorSeconds(): number {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
  } catch {
    return 0;
  }
}

/** Notes a cost in the directory that the processes of a run share. */
export function noteCost(directory: string, ...cost: Cost): void {
  noted += 1;
  writeFileSync(join(directory, `${process.pid}-${noted}.cost`), JSON.stringify(cost));
}

/** What was noted, the dearest first. */
export function costsIn(directory: string): Cost[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith(".cost"))
    .map((name) => JSON.parse(readFileSync(join(directory, name), "utf8")) as Cost)
    .sort(([, one], [, other]) => other - one);
}

/** What `npm test -- --changed` costs after a change of one of these sources, the dearest first. */
export function lanesOf(sources: readonly string[], costs: readonly Cost[]): Cost[] {
  const secondsOf = new Map(costs);
  const tests = [...secondsOf.keys()];
  return sources
    .map((source): Cost => {
      const lane = testsFor([source], tests);
      return [source, lane.reduce((sum, test) => sum + (secondsOf.get(test) ?? 0), 0)];
    })
    .sort(([, one], [, other]) => other - one);
}

const [, program = "", directory] = process.argv;
if (process.execArgv.includes(import.meta.url) && directory !== undefined) {
  process.once("exit", () => noteCost(directory, relative(".", program), processorSeconds()));
}
