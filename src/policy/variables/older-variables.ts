/** Names of variables until 2024: `conn.ClientIP`, `req.Method`, `conn.Geo.CountryCode`. */

const older = /^(?:conn|endpoint|req|res|time)(?:\.[A-Z][A-Za-z0-9]*)+$/;

/**
 * Returns the present name of an older one. Capitals after the first letter of a part are ignored, because acronyms
 * differ: `conn.ClientIp` is `conn.client_ip`, too.
 *
 * @param declared present names
 */
export function findPresentNames(declared: Iterable<string>): (name: string) => string | undefined {
  const byKey = new Map(Array.from(declared, (name) => [keyOf(name), name] as const));
  return (name) => (older.test(name) ? byKey.get(keyOf(name)) : undefined);
}

function keyOf(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}
