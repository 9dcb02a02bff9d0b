import { totalmem } from "node:os";
import { constrainedMemory } from "node:process";

/** A context takes 22 KiB; with its certificate as it was made, and all that leads to both, 30. */
const bytesEach = 32 * 1024;
const partOfMemory = 1 / 16;
const least = 2000;

/**
 * How many TLS contexts a process has room for: as many as take a sixteenth of the memory that there is. A connection to
 * a host whose context is not kept costs twice as much.
 * @param memory of the machine, or of what the process is confined to; bytes
 */
export function contextRoom(memory = memoryThereIs()): number {
  return Math.max(least, Math.floor((memory * partOfMemory) / bytesEach));
}

function memoryThereIs(): number {
  // 0, or more than the machine has, where nothing confines it
  const confined = constrainedMemory();
  return confined > 0 ? Math.min(confined, totalmem()) : totalmem();
}
