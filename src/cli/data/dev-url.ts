/** The public URL that `postern dev` had the last time: it stays the same from run to run. */
import { dataFiles, readPublic, writeWhole } from "./data-files.ts";

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
