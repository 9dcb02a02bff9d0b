import { readFileSync } from "node:fs";
import { Failure } from "../process/exit.ts";
import { dataFiles, readPublic } from "./data-files.ts";

/**
 * PEM of the authorities that `--ca` names: a file, or unless it is given those of the server in `directory`, if there
 * is one. Undefined: whom the system trusts.
 */
export function trustedAuthorities(given: string | undefined, directory: string): string | undefined {
  if (given === "system") return undefined;
  if (given === undefined) return readPublic(directory, dataFiles.caCertificate);
  try {
    return readFileSync(given, "utf8");
  } catch (error) {
    throw new Failure("usage", `--ca: cannot read "${given}": ${(error as Error).message}`, { cause: error });
  }
}
