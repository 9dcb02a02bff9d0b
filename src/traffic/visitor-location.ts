/** Location of a visitor. It is looked up when a rule asks for it. */
import { unknownAddresses } from "../geo/address-book.ts";
import type { Location } from "../geo/location.ts";
import type { ConnectionFacts } from "./connection-facts.ts";

export function locationOf({
  source,
  addresses = unknownAddresses,
}: Pick<ConnectionFacts, "source" | "addresses">): Location {
  return addresses.locate(source);
}
