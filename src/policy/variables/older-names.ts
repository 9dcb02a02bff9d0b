/** Names of variables as they were until 2024: `conn.ClientIP`, `req.Method`, `conn.Geo.CountryCode`. */

const older = /^(?:conn|endpoint|req|res|time)(?:\.[A-Z][A-Za-z0-9]*)+$/;

/**
 * Gives the present name of an older one. Capitals after the first of a part, which acronyms have more of, do not count:
 * `conn.ClientIp` is `conn.client_ip`, too.
 *
 * @param declared present names
 */
export function presentNames(declared: Iterable<string>): (name: string) => string | undefined {
  const byKey = new Map(Array.from(declared, (name) => [keyOf(name), name] as const));
  return (name) => (older.test(name) ? byKey.get(keyOf(name)) : undefined);
}

function keyOf(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}
