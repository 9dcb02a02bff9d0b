import { readFileSync } from "node:fs";
import { Failure } from "../process/exit.ts";
import { dataFiles, readPublic } from "./data-files.ts";

/**
 * Returns the PEM of the CAs in `--ca`, or undefined for the system's CAs.
 *
 * @param directory data directory from which the server's address was read. Without one, a CA that is found by its
 * place must not replace the system's.
 */
export function readTrustedAuthorities(path: string | undefined, directory: string | undefined): string | undefined {
  if (path === "system") return undefined;
  if (path === undefined) return directory === undefined ? undefined : readPublic(directory, dataFiles.caCertificate);
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new Failure("usage", `--ca: cannot read "${path}": ${(error as Error).message}`, { cause: error });
  }
}
