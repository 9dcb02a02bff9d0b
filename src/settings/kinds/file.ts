import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { readCertificates } from "../../lib/certificates/x509.ts";
import type { SettingKind } from "./kind.ts";

/** A directory. The value is its absolute path. */
export const directory: SettingKind<string> = {
  placeholder: "DIR",
  parse(text) {
    if (text === "") throw new Error("must not be empty");
    return resolve(text);
  },
};

/** A file. The value is its absolute path. */
export const file: SettingKind<string> = { placeholder: "FILE", parse: directory.parse };

/** A file with certificates. The value is their PEM. */
export const certificates: SettingKind<string> = {
  placeholder: "FILE",
  parse(text) {
    try {
      const pem = readFileSync(text, "utf8");
      readCertificates(pem);
      return pem;
    } catch (error) {
      throw new Error(`must be a file with PEM certificates (${(error as Error).message})`, { cause: error });
    }
  },
};
