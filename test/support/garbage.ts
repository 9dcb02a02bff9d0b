import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");

/** Collects the whole heap of this thread, which releases objects with only weak references. */
export const collectGarbage = runInNewContext("gc") as () => void;
