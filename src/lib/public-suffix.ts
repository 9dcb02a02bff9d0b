/** Names below which anybody may have a name, such as `com` or `co.uk`: no account may hold one of them. */
import { createRequire } from "node:module";
import type * as Tldts from "tldts";

/** Loads it when a name is first looked up: it takes a megabyte, and a server that starts has its names already. */
const suffixList = (): typeof Tldts => createRequire(import.meta.url)("tldts") as typeof Tldts;

export interface SuffixRules {
  /** Names that count as public suffixes besides those of the list, lower case. */
  readonly more: readonly string[];
  /** Names that do not count as such although the list has them, lower case. */
  readonly allowed: readonly string[];
}

/**
 * Whether `name`, a host or `*.` and one in lower case, is a suffix of the public suffix list (both sections) or a
 * wildcard right below one. A top label that the list does not know, such as `internal`, counts below its wildcard
 * only: `nas` may be one machine, `*.internal` is everybody's.
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
