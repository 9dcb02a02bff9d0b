import { totalmem } from "node:os";
import { constrainedMemory } from "node:process";

/** A context takes 22 KiB. With its generated certificate and all references it takes 30 KiB. */
const bytesEach = 32 * 1024;
const partOfMemory = 1 / 16;
const least = 2000;

/**
 * Returns the maximum number of TLS contexts of a process, which take a sixteenth of the memory. A connection to a host
 * without a cached context costs twice as much.
 * @param memory of the machine, or the limit of the process, bytes
 */
export function contextRoom(memory = memoryThereIs()): number {
  return Math.max(least, Math.floor((memory * partOfMemory) / bytesEach));
}

function memoryThereIs(): number {
  // 0, or more than the machine has, if there is no limit.
  const confined = constrainedMemory();
  return confined > 0 ? Math.min(confined, totalmem()) : totalmem();
}
