import { fileURLToPath } from "node:url";
import { isExecutable } from "../../lib/io/own-file.ts";

/** Returns the program and first arguments with which Postern was started, as absolute paths. */
export function posternProgram(): readonly string[] {
  return isExecutable
    ? [process.execPath]
    : [process.execPath, fileURLToPath(new URL("../../../bin/postern.js", import.meta.url))];
}
