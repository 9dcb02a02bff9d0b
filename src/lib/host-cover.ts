/**
 * Wildcards and the host names that they cover: `*.a.com` covers every name below `a.com`, on any level, but not
 * `a.com`.
 */

/** Returns the wildcards that cover `name`, without `name`, the longest first: `a.b.c` → `*.b.c`, `*.c`. */
export function wildcardsOver(name: string): string[] {
  return namesAbove(name).map((above) => `*.${above}`);
}

/** Returns the names above `name`, which may be a wildcard: `a.b.c` → `b.c`, `c`; `*.b.c` → `c`. */
export function namesAbove(name: string): string[] {
  const labels = name.replace(/^\*\./, "").split(".");
  return labels.slice(1).map((_, index) => labels.slice(index + 1).join("."));
}

/** Returns the name after the `*.` of a wildcard; undefined for a plain name. */
export function wildcardBase(name: string): string | undefined {
  return name.startsWith("*.") ? name.slice(2) : undefined;
}
