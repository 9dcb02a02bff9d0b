import { readFileSync } from "node:fs";

/** Postern's version, as package.json says. */
export function posternVersion(): string {
  const manifest = readFileSync(new URL("../../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
