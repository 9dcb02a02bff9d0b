/** Sets when V8 collects the heaps of a server's threads, and how much they may grow (decision 27). */
import { setFlagsFromString } from "node:v8";
import type { ResourceLimits } from "node:worker_threads";

/** Below this, V8 does not collect a thread's whole heap; MiB. */
const initialOldSpaceMiB = 64;

/** By how much a thread's heap may be larger than what the last collection of it left, before the next; per cent. */
const growthPercent = 100;

/** Of a thread that carries traffic: three times a semi-space of 2 MiB, so that buffers are let go of soon. */
export const trafficHeap: ResourceLimits = Object.freeze({ maxYoungGenerationSizeMb: 6 });

/** For threads that are started from here on. Takes no memory by itself. */
export function prepareHeaps(): void {
  setFlagsFromString(`--initial-old-space-size=${initialOldSpaceMiB}`);
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
  // What comes and goes with a connection must not be born old, and so little of it is left over that other threads cost
  // more to be woken than they take over.
  setFlagsFromString("--no-allocation-site-pretenuring");
  setFlagsFromString("--no-parallel-scavenge");
}
