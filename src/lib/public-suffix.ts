/**
 * Public suffixes such as `com` or `co.uk`, below which anyone may register a name: no account may hold one of them.
 */
import { createRequire } from "node:module";
import type * as Tldts from "tldts";

/**
 * Loads the list at the first lookup, because it takes 1 MB, and a starting server needs no lookups for its existing
 * names.
 */
const suffixList = (): typeof Tldts => createRequire(import.meta.url)("tldts") as typeof Tldts;

export interface SuffixRules {
  /** Names that count as public suffixes in addition to the list, lower case. */
  readonly more: readonly string[];
  /** Names on the list that do not count as public suffixes, lower case. */
  readonly allowed: readonly string[];
}

/**
 * Whether `name`, a host or `*.` and one in lower case, is a suffix of the public suffix list (both sections) or a
 * wildcard directly below one. For a top label that is not on the list, such as `internal`, only the wildcard counts:
 * `nas` may be one machine, but `*.internal` covers every account.
 */
export function isPublicSuffix(name: string, { more, allowed }: SuffixRules): boolean {
  const isWildcard = name.startsWith("*.");
  const bare = isWildcard ? name.slice(2) : name;
  if (allowed.includes(bare)) return false;
  if (more.includes(bare)) return true;
  const found = suffixList().parse(bare, {
    allowPrivateDomains: true,
    extractHostname: false,
    validateHostname: false,
  });
  const isListed = found.isIcann === true || found.isPrivate === true;
  return found.publicSuffix === bare && (isListed || isWildcard);
}
