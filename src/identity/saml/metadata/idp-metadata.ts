import type { bindings } from "../names.ts";

export type BindingName = keyof typeof bindings;

/** What a route needs to know of its identity provider. Plain data: it is stored, and crosses threads. */
export interface IdpMetadata {
  readonly entityId: string;
  readonly signOn: Partial<Record<BindingName, string>>;
  readonly signOut: Partial<Record<BindingName, LogoutService>>;
  /** DER in base64; at least one with a key that is admitted. All are tried. */
  readonly certificates: readonly string[];
  /** Milliseconds since 1970; the earliest around the entity. */
  readonly validUntilMs?: number;
  /** Seconds to the next look, as the document wishes. */
  readonly cacheSeconds?: number;
  /** For the operator, not reasons to refuse: a clause each. */
  readonly warnings: readonly string[];
}

export interface LogoutService {
  readonly location: string;
  /** Where answers go: the same address unless the metadata has another. */
  readonly responseLocation: string;
}

/** Seconds: how often metadata with an address of its own is looked for, whatever the document wishes. */
const refreshSeconds = { least: 5 * 60, usual: 60 * 60, most: 24 * 60 * 60 };

/** Seconds from one look at the metadata's address to the next. */
export function refreshAfter(metadata: IdpMetadata): number {
  const { cacheSeconds = refreshSeconds.usual } = metadata;
  return Math.min(Math.max(cacheSeconds, refreshSeconds.least), refreshSeconds.most);
}
