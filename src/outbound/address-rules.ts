/**
 * Resolves a name once, checks its addresses and connects only to them, because a second lookup could return others
 * (security I7).
 */
import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import type { LookupFunction } from "node:net";
import { resolveName } from "./names/resolve-name.ts";

/** Whether this server may connect to an IP address. */
export type AddressRule = (address: string) => boolean;

/** Creates the error if every address of `host` is refused. */
export type Refused = (host: string, found: readonly LookupAddress[]) => Error;

/**
 * Calls `done` once, unless the caller cancels, with the allowed addresses of `host`, a name or an address. Calls it
 * with an error if there are none.
 * @param asker see `NameResolver.resolve`
 * @returns a function that cancels: `done` is not called any more
 */
export function resolveAllowed(
  host: string,
  asker: string,
  mayConnect: AddressRule,
  refused: Refused,
  done: (found: LookupAddress[] | Error) => void,
): () => void {
  const check = (found: readonly LookupAddress[] | Error): void => {
    if (found instanceof Error) {
      done(found);
      return;
    }
    done(allowed(found));
  };
  const allowed = (found: readonly LookupAddress[]): LookupAddress[] | Error => {
    try {
      const allowedOnes = found.filter(({ address }) => mayConnect(address));
      return allowedOnes.length > 0 ? allowedOnes : refused(host, found);
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  };
  const family = isIP(host);
  if (family === 0) return resolveName(host, asker, check);
  check([{ address: host, family }]);
  return () => {};
}

/**
 * For `net.connect` and `https.request`. They do not call it for literal addresses, so check those beforehand.
 * @param asker see `NameResolver.resolve`
 */
export function makeCheckedLookup(asker: string, mayConnect: AddressRule, refused: Refused): LookupFunction {
  return (host, { all }, answer) =>
    void resolveAllowed(host, asker, mayConnect, refused, (found) => {
      if (found instanceof Error) answer(found, "");
      else if (all) answer(null, found);
      else answer(null, (found[0] as LookupAddress).address, (found[0] as LookupAddress).family);
    });
}

/** For connections to addresses from the operator's settings. */
export const lookupName: LookupFunction = makeCheckedLookup(
  "server",
  () => true,
  (host) => new Error(`look up "${host}": the host does not exist`),
);
