/** Sets when V8 collects the heaps of a server's threads, and how much they may grow (decision 27). */
import { setFlagsFromString } from "node:v8";
import type { ResourceLimits } from "node:worker_threads";

/** Heap size up to which V8 does not collect a thread's whole heap, MiB. */
const initialOldSpaceMiB = 64;

/** Maximum growth of a thread's heap since the last collection, per cent. */
const growthPercent = 100;

/** Limits of a thread that carries traffic: three semi-spaces of 2 MiB, so that unused buffers are freed soon. */
export const trafficHeap: ResourceLimits = Object.freeze({ maxYoungGenerationSizeMb: 6 });

/** Applies to threads that start later. Allocates no memory. */
export function prepareHeaps(): void {
  setFlagsFromString(`--initial-old-space-size=${initialOldSpaceMiB}`);
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
  // Objects of one connection must not be allocated in the old generation. Few of them survive, so waking helper
  // threads costs more than the helpers save.
  setFlagsFromString("--no-allocation-site-pretenuring");
  setFlagsFromString("--no-parallel-scavenge");
}
