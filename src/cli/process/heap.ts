/** How the heaps of a server's threads begin (decisions 37 and 43). */
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Below this, V8 does not collect a thread's whole heap; MiB. */
const initialOldSpaceMiB = 64;
/** A thread that is busy for less than this part of the time has little to do. */
const idlePart = 0.1;
const idleMs = 5000;

/** What `--expose-gc` names: V8 collects at once, and with this flavor gives the pages back to the system. */
type Collect = (how: { readonly type: "major"; readonly execution: "sync"; readonly flavor: "last-resort" }) => void;

/** For threads that are started from here on. Takes no memory by itself. */
export function giveHeapsRoom(): void {
  setFlagsFromString(`--initial-old-space-size=${initialOldSpaceMiB}`);
}

/**
 * Gives back what the start of this thread has left behind, once it has had little to do for a while: with so much room V8
 * would keep it for as long as that lasts. @param ms how long, milliseconds
 */
export function giveStartBack(ms = idleMs): void {
  let since = performance.eventLoopUtilization();
  const looking = setInterval(() => {
    const { utilization } = performance.eventLoopUtilization(since);
    since = performance.eventLoopUtilization();
    if (utilization > idlePart) return;
    clearInterval(looking);
    collectSmallHeap();
  }, ms).unref();
}

/** Takes some 30 ms. A heap that is larger than its first room was collected while it grew, and is left alone. */
function collectSmallHeap(): void {
  if (getHeapStatistics().total_heap_size > initialOldSpaceMiB * 2 ** 20) return;
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as Collect;
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
