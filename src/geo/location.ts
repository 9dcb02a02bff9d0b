/** What databases say about an address, in the names of traffic policies. Unknown texts are "". */
import { continentNameOf, countryNameOf, isCountryCode, isInEuropeanUnion } from "../lib/countries.ts";
import type { RecordValue } from "./mmdb-record.ts";

export interface GeoPlace {
  readonly city: string;
  readonly continent: string;
  readonly country: string;
  /** ISO 3166-1 alpha-2, upper case. */
  readonly countryCode: string;
  readonly metroCode: string;
  readonly subdivision: string;
  readonly timezone: string;
  readonly isInEu: boolean;
}

export interface Location extends GeoPlace {
  /** Degrees. */
  readonly latitude: number | undefined;
  readonly longitude: number | undefined;
  readonly postalCode: string;
  /** Kilometers around the coordinates. */
  readonly radius: number | undefined;
  /** Where the network is registered. */
  readonly registered: GeoPlace;
  /** 0 if it is unknown. */
  readonly asNumber: number;
  readonly asOrganization: string;
}

const noPlace: GeoPlace = Object.freeze({
  city: "",
  continent: "",
  country: "",
  countryCode: "",
  metroCode: "",
  subdivision: "",
  timezone: "",
  isInEu: false,
});

export const unknownLocation: Location = Object.freeze({
  ...noPlace,
  latitude: undefined,
  longitude: undefined,
  postalCode: "",
  radius: undefined,
  registered: noPlace,
  asNumber: 0,
  asOrganization: "",
});

/** The location of an address of which only the country is known. */
export function locationIn(countryCode: string): Location {
  return Object.freeze({ ...unknownLocation, ...countryPlace(countryCode) });
}

/** Names of a record's members that `locationOf` reads. Other members are skipped. */
export const readMembers: ReadonlySet<string> = new Set(
  (
    "country country_code country_name registered_country iso_code names en name code continent continent_name " +
    "city subdivisions region state1 location latitude longitude lat lng accuracy_radius metro_code time_zone timezone " +
    "postal postal_code postcode autonomous_system_number autonomous_system_organization asn as_name traits"
  ).split(" "),
);

/**
 * Reads a record in the structure of MaxMind and DB-IP, of ip-location-db, or of IPinfo. Values of an unexpected type
 * count as unknown.
 */
export function locationOf(record: RecordValue): Location {
  const of = membersOf(record);
  const traits = membersOf(of["traits"]);
  const spot = membersOf(of["location"]);
  const country = placeOf(of["country"], of["country_code"], of["country_name"]);
  const registered = placeOf(of["registered_country"], undefined, undefined);
  const subdivision = Array.isArray(of["subdivisions"]) ? of["subdivisions"][0] : undefined;
  const organization = of["autonomous_system_organization"] ?? traits["autonomous_system_organization"];
  const location: Location = {
    ...country,
    continent: nameOf(of["continent"]) || textOf(of["continent_name"]) || country.continent,
    city: nameOf(of["city"]),
    subdivision: nameOf(subdivision) || textOf(of["region"]) || textOf(of["state1"]),
    metroCode: digitsOf(spot["metro_code"]),
    timezone: textOf(spot["time_zone"]) || textOf(of["timezone"]),
    latitude: degreesOf(spot["latitude"] ?? of["latitude"] ?? of["lat"], 90),
    longitude: degreesOf(spot["longitude"] ?? of["longitude"] ?? of["lng"], 180),
    radius: degreesOf(spot["accuracy_radius"], 40_000),
    postalCode: textOf(membersOf(of["postal"])["code"]) || textOf(of["postal_code"]) || textOf(of["postcode"]),
    registered: registered.countryCode === "" ? country : registered,
    asNumber: numberOfAs(of["autonomous_system_number"] ?? traits["autonomous_system_number"] ?? of["asn"]),
    asOrganization: textOf(organization) || textOf(of["as_name"]),
  };
  return Object.freeze(location);
}

/** Fields of both locations; those of `first` where both have a value. */
export function joinLocations(first: Location, second: Location): Location {
  const joined: Record<string, unknown> = { ...first };
  for (const [name, value] of Object.entries(second)) if (isUnknown(joined[name])) joined[name] = value;
  // Fields of a country belong together.
  if (first.countryCode !== "") {
    const { country, continent, isInEu, registered } = first;
    Object.assign(joined, { country, continent, isInEu, registered });
  }
  return Object.freeze(joined) as unknown as Location;
}

/** Returns the names of the fields that have a value. */
export function knownFields(location: Location): string[] {
  return Object.entries(location).flatMap(([name, value]) => (isUnknown(value) ? [] : [name]));
}

function isUnknown(value: unknown): boolean {
  return value === "" || value === undefined || value === 0 || value === false || value === noPlace;
}

function placeOf(value: unknown, code: unknown, name: unknown): GeoPlace {
  const of = membersOf(value);
  // IPinfo's smaller databases have the name as `country` and the code as `country_code`, others the code as `country`.
  const given = textOf(of["iso_code"]) || textOf(code) || (textOf(value).length === 2 ? textOf(value) : "");
  const place = countryPlace(given.toUpperCase());
  if (place === noPlace) return noPlace;
  const named = nameOf(value).length > 2 ? nameOf(value) : textOf(name);
  return named === "" ? place : { ...place, country: named };
}

function countryPlace(countryCode: string): GeoPlace {
  if (!isCountryCode(countryCode)) return noPlace;
  const country = countryNameOf(countryCode);
  const continent = continentNameOf(countryCode);
  return { ...noPlace, country, countryCode, continent, isInEu: isInEuropeanUnion(countryCode) };
}

const none: Readonly<Record<string, RecordValue>> = Object.freeze({});

function membersOf(value: unknown): Readonly<Record<string, RecordValue>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, RecordValue>>)
    : none;
}

/** Returns a text, or the English name of an object. */
function nameOf(value: unknown): string {
  const of = membersOf(value);
  return textOf(value) || textOf(membersOf(of["names"])["en"]) || textOf(of["name"]);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function digitsOf(value: unknown): string {
  return typeof value === "number" ? String(value) : textOf(value);
}

function degreesOf(value: unknown, most: number): number | undefined {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Math.abs(number) <= most ? number : undefined;
}

function numberOfAs(value: unknown): number {
  const number = typeof value === "string" ? Number(/^(?:AS)?(\d{1,10})$/i.exec(value)?.[1] ?? 0) : value;
  return typeof number === "number" && Number.isInteger(number) && number > 0 && number <= 0xffffffff ? number : 0;
}
