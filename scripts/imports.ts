/** Returns the imports of a source file within the repository, read from its text. */
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

export interface Import {
  /** Path from the root. */
  readonly target: string;
  readonly typeOnly: boolean;
  /** Whether it is loaded on demand, by `import()`. */
  readonly isLate: boolean;
}

export function importsOf(file: string, read = (path: string): string => readFileSync(path, "utf8")): Import[] {
  const found: Import[] = [];
  for (const match of read(file).matchAll(
    /^(import|export)( type)? [^;]*?from "(\.[^"]+)";|import\("(\.[^"]+)"\)/gms,
  )) {
    const target = match[3] ?? match[4];
    if (!target) continue;
    const [typeOnly, isLate] = [match[2] !== undefined, match[4] !== undefined];
    found.push({ target: normalize(join(dirname(file), target)), typeOnly, isLate });
  }
  return found;
}
