/** Variables of an address: its location, its network, and the categories with it. */
import type { VariableDeclaration } from "../../cel/checking/environment.ts";
import { listOf, types } from "../../cel/checking/cel-types.ts";
import type { Type } from "../../cel/checking/cel-types.ts";
import { toInt } from "../../cel/values/cel-values.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import { unknownAddresses } from "../../geo/address-book.ts";
import type { AddressData } from "../../geo/address-book.ts";
import type { Location, GeoPlace } from "../../geo/location.ts";
import type { PolicyContext } from "../language/policy-context.ts";
import { requireSetting, declareVariable } from "./declare.ts";
import type { NeededData, Variables } from "./declare.ts";

type AddressOf = (context: PolicyContext) => string;

/** Without files of the operator, only countries are known. */
const fieldOf = (datum: string): NeededData => ({ setting: "geo-database", datum });
const neededCategories: NeededData = { setting: "ip-category", datum: "categories" };
const torCategory = "proxy.anonymous.tor";
const blockCategory = "blocklist";

/** Returns the names of the data that a server with this data has. */
export function serverDataOf({ fields = [], categories }: AddressData): readonly string[] {
  return categories.length === 0 ? fields : [...fields, neededCategories.datum];
}

const clientAddress: AddressOf = ({ connection }) => connection.source;
const serverAddress: AddressOf = ({ connection }) => connection.local.localAddress ?? "";

/** Whether a variable is read from data about an address. */
export function isOfAddress(name: string): boolean {
  return /^conn\.(?:geo\.|(?:client|server)_ip\.)/.test(name);
}

export const clientAddressVariables: Variables = {
  ...addressVariables("conn.client_ip", clientAddress),
  ...olderVariables(),
};
export const serverAddressVariables: Variables = addressVariables("conn.server_ip", serverAddress);

function addressVariables(of: string, address: AddressOf): Variables {
  const located = (type: Type, read: (location: Location) => Value | undefined) => ofLocation(address, type, read);
  const ofCategories = (type: Type, read: (names: readonly string[]) => Value | undefined) =>
    requireSetting(
      neededCategories,
      declareVariable(
        type,
        (context) => read(categoriesOf(context, address)),
        (context) => categoriesOf(context, address).length,
      ),
    );
  const location = `${of}.geo.location`;
  return {
    ...declarePlaces(
      location,
      fieldOf,
      (read) => located(types.string, read),
      (read) => located(types.bool, read),
    ),
    ...declarePlaces(
      `${of}.geo.registered_location`,
      // Databases have only the country.
      (field) => fieldOf(`registered ${field}`),
      (read) => located(types.string, ({ registered }) => read(registered)),
      (read) => located(types.bool, ({ registered }) => read(registered)),
    ),
    [`${location}.latitude`]: requireSetting(
      fieldOf("latitude"),
      located(types.string, ({ latitude }) => textOf(latitude)),
    ),
    [`${location}.longitude`]: requireSetting(
      fieldOf("longitude"),
      located(types.string, ({ longitude }) => textOf(longitude)),
    ),
    [`${location}.radius`]: requireSetting(
      fieldOf("radius"),
      located(types.string, ({ radius }) => textOf(radius)),
    ),
    [`${location}.postal_code`]: requireSetting(
      fieldOf("postalCode"),
      located(types.string, ({ postalCode }) => postalCode),
    ),
    [`${of}.as.number`]: requireSetting(
      fieldOf("asNumber"),
      located(types.int, ({ asNumber }) => (asNumber === 0 ? undefined : toInt(asNumber))),
    ),
    [`${of}.as.organization`]: requireSetting(
      fieldOf("asOrganization"),
      located(types.string, ({ asOrganization }) => asOrganization),
    ),
    [`${of}.categories`]: ofCategories(listOf(types.string), (names) => (names.length === 0 ? undefined : names)),
    [`${of}.is_on_blocklist`]: ofCategories(types.bool, (names) => names.includes(blockCategory)),
    [`${of}.is_tor_node`]: ofCategories(types.bool, (names) => names.includes(torCategory)),
  };
}

function declarePlaces(
  prefix: string,
  needed: (field: string) => NeededData,
  text: (read: (place: GeoPlace) => string) => VariableDeclaration,
  bool: (read: (place: GeoPlace) => boolean) => VariableDeclaration,
): Variables {
  return {
    [`${prefix}.city`]: requireSetting(
      needed("city"),
      text(({ city }) => city),
    ),
    [`${prefix}.continent`]: text(({ continent }) => continent),
    [`${prefix}.country`]: text(({ country }) => country),
    [`${prefix}.country_code`]: text(({ countryCode }) => countryCode),
    [`${prefix}.metro_code`]: requireSetting(
      needed("metroCode"),
      text(({ metroCode }) => metroCode),
    ),
    [`${prefix}.subdivision`]: requireSetting(
      needed("subdivision"),
      text(({ subdivision }) => subdivision),
    ),
    [`${prefix}.timezone`]: requireSetting(
      needed("timezone"),
      text(({ timezone }) => timezone),
    ),
    [`${prefix}.is_eu`]: bool(({ isInEu }) => isInEu),
  };
}

/** `conn.geo`, which has numbers as numbers. */
function olderVariables(): Variables {
  const client = (type: Type, read: (location: Location) => Value | undefined) => ofLocation(clientAddress, type, read);
  return {
    "conn.geo.city": requireSetting(
      fieldOf("city"),
      client(types.string, ({ city }) => city),
    ),
    "conn.geo.country": client(types.string, ({ country }) => country),
    "conn.geo.country_code": client(types.string, ({ countryCode }) => countryCode),
    "conn.geo.subdivision": requireSetting(
      fieldOf("subdivision"),
      client(types.string, ({ subdivision }) => subdivision),
    ),
    "conn.geo.latitude": requireSetting(
      fieldOf("latitude"),
      client(types.double, ({ latitude }) => latitude),
    ),
    "conn.geo.longitude": requireSetting(
      fieldOf("longitude"),
      client(types.double, ({ longitude }) => longitude),
    ),
    "conn.geo.radius": requireSetting(
      fieldOf("radius"),
      client(types.double, ({ radius }) => radius),
    ),
  };
}

function ofLocation(
  address: AddressOf,
  type: Type,
  read: (location: Location) => Value | undefined,
): VariableDeclaration {
  return declareVariable(type, (context) => {
    const { addresses = unknownAddresses } = context.connection;
    const value = read(addresses.locate(address(context)));
    // Unknown values are absent.
    return value === "" ? undefined : value;
  });
}

function categoriesOf(context: PolicyContext, address: AddressOf): readonly string[] {
  const { addresses = unknownAddresses } = context.connection;
  return addresses.categoriesOf(address(context));
}

function textOf(value: number | undefined): string {
  return value === undefined ? "" : String(value);
}
