/** Facts about the address of a visitor. They are looked up when a rule asks for them. */
import { unknownAddresses } from "../geo/address-book.ts";
import type { Location } from "../geo/location.ts";
import type { ConnectionFacts } from "./exchange.ts";

type Visitor = Pick<ConnectionFacts, "source" | "addresses">;

export function locationOf({ source, addresses = unknownAddresses }: Visitor): Location {
  return addresses.locate(source);
}

export function categoriesOf({ source, addresses = unknownAddresses }: Visitor): readonly string[] {
  return addresses.categoriesOf(source);
}
