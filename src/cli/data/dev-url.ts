/** What `postern dev` had the last time, and has again: its public URL, and the secret of its logins. */
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { dataFiles, readPublic, readSecret, writeWhole } from "./data-files.ts";

export function keepDevUrl(directory: string, url: string): void {
  writeWhole(directory, dataFiles.dev, JSON.stringify({ url }), 0o644);
}

/** Undefined where there is none, or none that can be read. */
export function keptDevUrl(directory: string): string | undefined {
  try {
    return (JSON.parse(readPublic(directory, dataFiles.dev) ?? "null") as { url?: string } | null)?.url;
  } catch {
    return undefined;
  }
}

/** Made when it is first asked for; undefined where it cannot be kept. Throws `Failure` (usage) where others can read it. */
export function keptDevSecret(directory: string): string | undefined {
  const known = readSecret(directory, dataFiles.devLogin);
  if (known !== undefined) return known;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const made = randomBytes(24).toString("base64url");
    writeWhole(directory, dataFiles.devLogin, made, 0o600);
    return made;
  } catch {
    // Why the directory cannot be used is said by the start.
    return undefined;
  }
}
