import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");

/** Collects the whole heap of this thread, so that what only weak references lead to is gone. */
export const collectGarbage = runInNewContext("gc") as () => void;
