import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { readCertificates } from "../../lib/certificates/x509.ts";
import type { Kind } from "./kind.ts";

/** A directory. The value is its absolute path. */
export const directory: Kind<string> = {
  placeholder: "DIR",
  parse(given) {
    if (given === "") throw new Error("must not be empty");
    return resolve(given);
  },
};

/** A file. The value is its absolute path. */
export const file: Kind<string> = { placeholder: "FILE", parse: directory.parse };

/** A file with certificates. The value is their PEM. */
export const certificates: Kind<string> = {
  placeholder: "FILE",
  parse(given) {
    try {
      const pem = readFileSync(given, "utf8");
      readCertificates(pem);
      return pem;
    } catch (error) {
      throw new Error(`must be a file with PEM certificates (${(error as Error).message})`, { cause: error });
    }
  },
};
