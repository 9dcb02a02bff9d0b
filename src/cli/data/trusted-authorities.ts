import { readFileSync } from "node:fs";
import { Failure } from "../process/exit.ts";
import { dataFiles, readPublic } from "./data-files.ts";

/**
 * Returns the PEM of the CAs in `--ca`, or undefined for the system's CAs.
 *
 * @param directory data directory from which the server's address was read. Without one, a CA that is found by its
 * place must not replace the system's.
 */
export function trustedAuthorities(given: string | undefined, directory: string | undefined): string | undefined {
  if (given === "system") return undefined;
  if (given === undefined) return directory === undefined ? undefined : readPublic(directory, dataFiles.caCertificate);
  try {
    return readFileSync(given, "utf8");
  } catch (error) {
    throw new Failure("usage", `--ca: cannot read "${given}": ${(error as Error).message}`, { cause: error });
  }
}
