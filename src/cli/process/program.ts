import { fileURLToPath } from "node:url";
import { isExecutable } from "../../lib/io/own-file.ts";

/** The program and first arguments that start Postern as this process was started, as absolute paths. */
export function posternProgram(): readonly string[] {
  return isExecutable
    ? [process.execPath]
    : [process.execPath, fileURLToPath(new URL("../../../bin/postern.js", import.meta.url))];
}
