/** How the heaps of a server's threads begin (decision 37). */
import { setFlagsFromString } from "node:v8";

/** Below this, V8 does not collect a thread's whole heap; MiB. */
const initialOldSpaceMiB = 64;

/** For threads that are started from here on. Takes no memory by itself. */
export function giveHeapsRoom(): void {
  setFlagsFromString(`--initial-old-space-size=${initialOldSpaceMiB}`);
}
