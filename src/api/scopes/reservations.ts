/** Public names that a write claims, and the reservations that contain them. */
import type { Reader, StoredObject } from "../../storage/store.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import { wildcardsOver } from "../../lib/host-cover.ts";

/** Yields the names that `after` claims and `before` did not, each with the account's reservation that applies. */
export function* reservationsUnder(
  before: StoredObject | undefined,
  after: StoredObject,
  reader: Pick<Reader, "holder">,
): Iterable<readonly [name: string, holder: StoredObject]> {
  const held = new Set(before && claimsOf(before).map(({ space, name }) => `${space} ${name}`));
  const claims = claimsOf(after);
  // TCP has no names, so the port determines the address.
  const hasPort = claims.some(({ space }) => space === "tcp port");
  for (const { space, name } of claims) {
    if (held.has(`${space} ${name}`) || (hasPort && space === "hostport")) continue;
    const holder = reservationOf(space, name, after, reader);
    if (holder && holder.id !== after.id) yield [name, holder];
  }
}

function claimsOf({ kind, doc }: StoredObject) {
  return resourceNamed(kind).claims?.(doc as never) ?? [];
}

/** Returns the most specific reservation of the account. */
function reservationOf(
  space: string,
  name: string,
  { account_id }: StoredObject,
  reader: Pick<Reader, "holder">,
): StoredObject | undefined {
  const own = (where: string, what: string): StoredObject | undefined => {
    const found = reader.holder(account_id, where, what);
    return found?.account_id === account_id ? found : undefined;
  };
  if (space === "tcp port") return own("address", name);
  if (space !== "hostport" && space !== "domain") return undefined;
  const host = space === "domain" ? name : name.slice(0, name.lastIndexOf(":"));
  const above = wildcardsOver(host).map((one) => own("domain", one));
  return [space === "domain" ? undefined : own("domain", host), ...above].find((found) => found !== undefined);
}
