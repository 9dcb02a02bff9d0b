/** Which host names wildcards cover: `*.a.com` every name below `a.com`, on any level, and not `a.com` itself. */

/** The wildcards that cover `name` besides itself, the longest first: `a.b.c` → `*.b.c`, `*.c`. */
export function wildcardsOver(name: string): string[] {
  return namesAbove(name).map((above) => `*.${above}`);
}

/** The names that `name`, which may be a wildcard, is below: `a.b.c` → `b.c`, `c`; `*.b.c` → `c`. */
export function namesAbove(name: string): string[] {
  const labels = name.replace(/^\*\./, "").split(".");
  return labels.slice(1).map((_, index) => labels.slice(index + 1).join("."));
}

/** What a wildcard stands before; undefined for one name. */
export function wildcardBase(name: string): string | undefined {
  return name.startsWith("*.") ? name.slice(2) : undefined;
}
