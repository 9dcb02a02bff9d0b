import type { bindings } from "../xml-names.ts";

export type BindingName = keyof typeof bindings;

/** An identity provider's metadata, as far as a route needs it. Plain data: it is stored, and crosses threads. */
export interface IdpMetadata {
  readonly entityId: string;
  readonly signOn: Partial<Record<BindingName, string>>;
  readonly signOut: Partial<Record<BindingName, LogoutService>>;
  /** DER in base64, at least one with an accepted key. All of them are tried. */
  readonly certificates: readonly string[];
  /** Earliest end of validity stated around the entity, milliseconds since 1970. */
  readonly validUntilMs?: number;
  /** Seconds until the next refresh, as the document requests. */
  readonly cacheSeconds?: number;
  /** Advice for the operator, one clause each. Not reasons to refuse. */
  readonly warnings: readonly string[];
}

export interface LogoutService {
  readonly location: string;
  /** Where responses are sent: the same address unless the metadata state another. */
  readonly responseLocation: string;
}

/** Range and default of the refresh interval, seconds, whatever the document requests. */
const refreshSeconds = { least: 5 * 60, usual: 60 * 60, most: 24 * 60 * 60 };

/** Seconds between two fetches of the metadata. */
export function refreshAfter(metadata: IdpMetadata): number {
  const { cacheSeconds = refreshSeconds.usual } = metadata;
  return Math.min(Math.max(cacheSeconds, refreshSeconds.least), refreshSeconds.most);
}
