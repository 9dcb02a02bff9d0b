/** Certificate authorities in the operator's order. The next one is asked if one does not answer or limits requests. */
import { AcmeProblem } from "../../acme/problem.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Authority } from "./acme-authority.ts";
import { failureOf } from "./attempt-failure.ts";

export interface AcmeAuthorities {
  /** Returns the authority with this directory, otherwise the first. */
  of(directory: string | null): Authority;
  /**
   * Calls `use` with one authority after another until it resolves. Skips an authority that limits requests for
   * `domain`, until the time that it has named. Rejects with the last error, or with the first error that another
   * authority would have as well, such as that of a failed check.
   */
  first<T>(domain: string, use: (authority: Authority) => Promise<T>): Promise<T>;
}

/** Faults of one authority. Other codes are the domain's or this server's. */
const ofAuthority = /^(?:AUTHORITY_|ACCOUNT_|RATE_LIMITED$)/;
/** Bounds memory. An authority whose limit is forgotten answers with it again. */
const maxLimits = 10_000;

/** @param all at least one */
export function makeAuthorities(all: readonly Authority[], clock: Clock, log: Log): AcmeAuthorities {
  /** When an authority may be asked for a domain again, by directory and domain, monotonic time. */
  const limits = new Map<string, number>();
  const keyOf = ({ directoryUrl }: Authority, domain: string): string => `${directoryUrl} ${domain}`;
  return {
    of: (directory) => all.find(({ directoryUrl }) => directoryUrl === directory) ?? (all[0] as Authority),
    async first(domain, use) {
      let last: unknown;
      for (const authority of all) {
        const key = keyOf(authority, domain);
        const restMs = (limits.get(key) ?? 0) - clock.monotonic();
        if (restMs > 0 && all.length > 1) {
          last ??= new AcmeProblem("rateLimited", `the authority at ${authority.directoryUrl} limits requests`, {
            retryAfterMs: restMs,
          });
          continue;
        }
        limits.delete(key);
        try {
          return await use(authority);
        } catch (error) {
          const { code, message, retryAfterMs } = failureOf(error);
          if (!ofAuthority.test(code)) throw error;
          // Drop cached data of the authority, so that an outdated copy does not make the next attempt fail.
          if (code !== "RATE_LIMITED") authority.forget();
          else if (retryAfterMs !== undefined) {
            if (limits.size >= maxLimits) limits.clear();
            limits.set(key, clock.monotonic() + retryAfterMs);
          }
          if (all.length > 1) log.warn("certificate authority failed", { domain, code, reason: message });
          last = error;
        }
      }
      throw last;
    },
  };
}
