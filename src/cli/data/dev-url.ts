/** Values that the next run reuses: the public URL of `postern dev`, and the identity of the development provider. */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { dataFiles, readPublic, readSecret, writeWhole } from "./data-files.ts";

export function keepDevUrl(directory: string, url: string): void {
  writeWhole(directory, dataFiles.dev, JSON.stringify({ url }), 0o644);
}

/** Undefined if the file is missing or invalid. */
export function readDevUrl(directory: string): string | undefined {
  try {
    return (JSON.parse(readPublic(directory, dataFiles.dev) ?? "null") as { url?: string } | null)?.url;
  } catch {
    return undefined;
  }
}

/** What makes a restarted development identity provider the same one for servers and routes. */
export interface KeptProvider {
  /** Undefined if it cannot be stored. */
  readonly clientSecret: string | undefined;
  /** PEM of the signing key and its certificate; undefined on the first start. */
  readonly signingKey: string | undefined;
  keepSigningKey(pem: string): void;
}

/** Creates the secret on the first call. Throws `Failure` (usage) if other users can read the files. */
export function openProvider(directory: string): KeptProvider {
  const keep = (file: string, content: string): string | undefined => {
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      writeWhole(directory, file, content, 0o600);
      return content;
    } catch {
      // The start reports why the directory is unusable. Without it, the provider works until its restart.
      return undefined;
    }
  };
  return {
    clientSecret:
      readSecret(directory, dataFiles.devLogin) ?? keep(dataFiles.devLogin, randomBytes(24).toString("base64url")),
    signingKey: readSecret(directory, dataFiles.devLoginKey),
    keepSigningKey: (pem) => void keep(dataFiles.devLoginKey, pem.trim()),
  };
}
