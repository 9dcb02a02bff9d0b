/** Names resolved once, checked, and only then connected to: a second look-up could say something else (security I7). */
import { lookup } from "node:dns";
import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import type { LookupFunction } from "node:net";

/** Whether this server may connect to an IP address. */
export type AddressRule = (address: string) => boolean;

/** What is wrong when every address of `host` is refused. */
export type Refused = (host: string, found: readonly LookupAddress[]) => Error;

/**
 * Calls `done` once with the addresses of `host`, a name or an address, that may be connected to; with an error when
 * there are none.
 */
export function resolveAllowed(
  host: string,
  mayConnect: AddressRule,
  refused: Refused,
  done: (found: LookupAddress[] | Error) => void,
): void {
  const check = (found: readonly LookupAddress[]): void => {
    const allowed = found.filter(({ address }) => mayConnect(address));
    done(allowed.length > 0 ? allowed : refused(host, found));
  };
  const family = isIP(host);
  if (family !== 0) {
    check([{ address: host, family }]);
    return;
  }
  lookup(host, { all: true }, (error, found) => {
    if (error) done(error);
    else check(found);
  });
}

/** For `net.connect` and `https.request`, which do not call it for literal addresses: check those beforehand. */
export function checkedLookup(mayConnect: AddressRule, refused: Refused): LookupFunction {
  return (host, { all }, answer) =>
    resolveAllowed(host, mayConnect, refused, (found) => {
      if (found instanceof Error) answer(found, "");
      else if (all) answer(null, found);
      else answer(null, (found[0] as LookupAddress).address, (found[0] as LookupAddress).family);
    });
}
