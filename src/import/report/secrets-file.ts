/** Secrets of an import. Documents refer to them by name. Their values are in a separate file. */
import { parseEnv } from "node:util";
import type { ImportedSecret } from "./report.ts";
import { variableName } from "./unique-names.ts";

/** Collects secrets and gives each a unique name. */
export class Secrets {
  readonly #found: ImportedSecret[] = [];
  readonly #taken = new Set<string>();

  /** Returns the reference to write into the document. */
  add(parts: readonly string[], usedBy: string, value?: string): { readonly $env: string } {
    const base = variableName(parts);
    let name = base;
    for (let number = 2; this.#taken.has(name); number += 1) name = `${base}_${number}`;
    this.#taken.add(name);
    this.#found.push({ name, value, usedBy });
    return { $env: name };
  }

  get found(): readonly ImportedSecret[] {
    return this.#found;
  }
}

/** Returns a file for `postern plan --env-file`. Secrets that the source does not reveal are empty lines to fill in. */
export function secretsFile(secrets: readonly ImportedSecret[]): string {
  const lines = secrets.map(({ name, value, usedBy }) => {
    const line = value === undefined ? undefined : quoteForEnv(name, value);
    return `# ${usedBy}${line === undefined ? ": fill in" : ""}\n${line ?? `${name}=`}\n`;
  });
  return lines.join("");
}

/** Returns the line that `parseEnv` reads back to the same value; undefined if no quote can contain the value. */
function quoteForEnv(name: string, value: string): string | undefined {
  return ["'", "`", '"']
    .map((quote) => `${name}=${quote}${value}${quote}`)
    .find((line) => parseEnv(line)[name] === value && Object.keys(parseEnv(line)).length === 1);
}
