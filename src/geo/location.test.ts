import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countryCodes, countryIssue, countryNameOf, countryText } from "../lib/countries.ts";
import { joinLocations, locationIn, locationOf, unknownLocation } from "./location.ts";
import type { RecordValue } from "./mmdb-record.ts";

const germany = { country: "Germany", countryCode: "DE", continent: "Europe", isInEu: true };

function partOf(record: RecordValue, names: readonly string[]): object {
  const location = locationOf(record) as unknown as Record<string, unknown>;
  return Object.fromEntries(names.map((name) => [name, location[name]]));
}

describe("the record of an address", () => {
  it("the record of an address is read in the structure of MaxMind and DB-IP", () => {
    const record = {
      city: { names: { de: "Köln", en: "Cologne" } },
      continent: { code: "EU", names: { en: "Europe" } },
      country: { iso_code: "DE", is_in_european_union: true, names: { en: "Germany" } },
      location: { accuracy_radius: 20, latitude: 50.9, longitude: 6.9, metro_code: 3, time_zone: "Europe/Berlin" },
      postal: { code: "50667" },
      registered_country: { iso_code: "US", names: { en: "United States" } },
      subdivisions: [{ iso_code: "NW", names: { en: "North Rhine-Westphalia" } }],
      autonomous_system_number: 64500,
      autonomous_system_organization: "Example",
    };
    const place = { ...unknownLocation.registered };
    assert.deepEqual(locationOf(record), {
      ...place,
      ...germany,
      city: "Cologne",
      subdivision: "North Rhine-Westphalia",
      metroCode: "3",
      timezone: "Europe/Berlin",
      latitude: 50.9,
      longitude: 6.9,
      radius: 20,
      postalCode: "50667",
      registered: { ...place, country: "United States", countryCode: "US", continent: "North America" },
      asNumber: 64500,
      asOrganization: "Example",
    });
  });

  it("the record of an address is read in the structures of IPinfo and ip-location-db", () => {
    const names = ["country", "countryCode", "continent", "isInEu"];
    assert.deepEqual(partOf({ country_code: "DE" }, names), germany);
    assert.deepEqual(partOf({ country: "DE" }, names), germany);
    assert.deepEqual(partOf({ country: "Germany", country_code: "DE", continent: "Europe" }, names), germany);
    assert.deepEqual(partOf({ asn: "AS64500", as_name: "Example" }, ["asNumber", "asOrganization"]), {
      asNumber: 64500,
      asOrganization: "Example",
    });
    const city = { city: "Cologne", state1: "NW", postcode: "50667", latitude: "50.9", longitude: 6.9, timezone: "x" };
    assert.deepEqual(partOf(city, ["city", "subdivision", "postalCode", "latitude", "longitude", "timezone"]), {
      city: "Cologne",
      subdivision: "NW",
      postalCode: "50667",
      latitude: 50.9,
      longitude: 6.9,
      timezone: "x",
    });
  });

  it("the record of an address with values of other types is unknown", () => {
    const records: readonly RecordValue[] = [
      undefined,
      "DE",
      7,
      ["DE"],
      { country: 7 },
      { country: { iso_code: "XX" } },
      { country: { iso_code: "<b>" } },
      { country_code: ["DE"], city: 3, location: "here", subdivisions: "all", postal: [] },
      { latitude: 200, longitude: "east", asn: "ASx", autonomous_system_number: -4 },
    ];
    for (const record of records) assert.deepEqual(locationOf(record), unknownLocation, JSON.stringify(record));
  });

  it("locations of several databases complement each other, and the fields of a country stay together", () => {
    const network = locationOf({ asn: "AS64500", country: "US" });
    const joined = joinLocations(locationIn("DE"), network);
    assert.deepEqual([joined.countryCode, joined.country, joined.asNumber], ["DE", "Germany", 64500]);
    const switzerland = joinLocations(locationIn("CH"), locationIn("DE"));
    assert.deepEqual([switzerland.countryCode, switzerland.isInEu], ["CH", false]);
    assert.equal(joinLocations(locationOf({ asn: "AS64500" }), locationIn("DE")).countryCode, "DE");
  });
});

describe("codes of countries", () => {
  it("codes of countries are the 249 of ISO 3166-1 and Kosovo, each with an English name", () => {
    assert.equal(countryCodes.length, 250);
    for (const code of countryCodes) assert.match(countryNameOf(code), /^\p{Lu}.{3,}/u, code);
  });

  it("codes of countries are accepted in any case, and an error names the code that was meant", () => {
    assert.equal(countryIssue("de"), undefined);
    assert.match(countryIssue("UK") ?? "", /United Kingdom is "GB"/);
    assert.match(countryIssue("germany") ?? "", /Germany is "DE"/);
    for (const wrong of ["", "D", "DEU", "XX", "EU", "d€", "constructor"]) {
      assert.match(countryIssue(wrong) ?? "", /^be the two-letter code/, wrong);
    }
  });

  it("codes of countries have a flag and a name", () => {
    assert.equal(countryText("DE"), "🇩🇪 Germany (DE)");
    assert.equal(countryText("??"), "??");
  });
});
