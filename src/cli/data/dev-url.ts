/** Values that `postern dev` reuses in its next run: its public URL, and the secret of its logins. */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { dataFiles, readPublic, readSecret, writeWhole } from "./data-files.ts";

export function keepDevUrl(directory: string, url: string): void {
  writeWhole(directory, dataFiles.dev, JSON.stringify({ url }), 0o644);
}

/** Undefined if the file is missing or invalid. */
export function keptDevUrl(directory: string): string | undefined {
  try {
    return (JSON.parse(readPublic(directory, dataFiles.dev) ?? "null") as { url?: string } | null)?.url;
  } catch {
    return undefined;
  }
}

/**
 * Creates the secret on the first call. Returns undefined if it cannot be stored. Throws `Failure` (usage) if other
 * users can read it.
 */
export function keptDevSecret(directory: string): string | undefined {
  const known = readSecret(directory, dataFiles.devLogin);
  if (known !== undefined) return known;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const made = randomBytes(24).toString("base64url");
    writeWhole(directory, dataFiles.devLogin, made, 0o600);
    return made;
  } catch {
    // The start reports why the directory is unusable.
    return undefined;
  }
}
