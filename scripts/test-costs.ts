/**
 * Measures the processor time of each test file, including child processes, for `npm test -- --costs`. It is loaded
 * first in each process of the run and records the time at the process's end.
 */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { testsFor } from "./changed-tests.ts";

/** A test file, or a process that runs several, and its seconds. */
export type Cost = readonly [file: string, seconds: number];

let noted = 0;

/** Returns the CPU seconds of this process and its finished children; 0 if the system does not report them. */
export function processorSeconds(): number {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
  } catch {
    return 0;
  }
}

/** Records a cost in the directory that the processes of a run share. */
export function noteCost(directory: string, ...cost: Cost): void {
  noted += 1;
  writeFileSync(join(directory, `${process.pid}-${noted}.cost`), JSON.stringify(cost));
}

/** Returns the recorded costs, highest first. */
export function costsIn(directory: string): Cost[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith(".cost"))
    .map((name) => JSON.parse(readFileSync(join(directory, name), "utf8")) as Cost)
    .sort(([, one], [, other]) => other - one);
}

/** Returns the cost of `npm test -- --changed` after a change of one of these sources, highest first. */
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
