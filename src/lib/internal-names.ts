/**
 * Names of internal endpoints (traffic-policy.md §5): each account has its own, which nobody can reach but by its
 * policies. Where names of all accounts are kept, they stand with the account: `api.internal#ac_…`, which is no name
 * that a client could send (RFC 3986 §3.2.2, RFC 6066 §3).
 */
const ending = ".internal";
const mark = "#";

/** @param host lower case; may be a wildcard */
export function isInternalName(host: string): boolean {
  return host.endsWith(ending);
}

/** The name as it is kept among those of all accounts, lower case as they are. */
export function internalKey(host: string, accountId: string): string {
  return `${host}${mark}${accountId.toLowerCase()}`;
}

export function isInternalKey(key: string): boolean {
  return key.includes(mark);
}

/** The name itself. */
export function internalNameOf(key: string): string {
  const at = key.indexOf(mark);
  return at < 0 ? key : key.slice(0, at);
}
