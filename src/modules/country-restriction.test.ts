import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addressesOf, country, mmdbOf } from "../../test/support/mmdb.ts";
import { exchangeOf } from "../../test/support/exchange.ts";
import { httpsSite, tableOf } from "../../test/support/routing.ts";
import { makeManualClock } from "../../test/support/clock.ts";
import { AddressBook, unknownAddresses } from "../geo/address-book.ts";
import type { AddressFacts } from "../geo/address-book.ts";
import { parseFields } from "../schema/parse-fields.ts";
import { defaultsOf } from "../settings/setting.ts";
import { webhookSettings } from "../settings/webhooks.ts";
import type { Step } from "../traffic/step.ts";
import { countryRestrictionWith } from "./country-restriction.ts";
import { modulesWith } from "./index.ts";

const database = mmdbOf({
  "192.0.2.0/24": country("DE"),
  "198.51.100.0/24": country("FR"),
  "2001:db8::/32": country("US"),
});

function stepFor(config: object, source: string, addresses: AddressFacts = addressesOf(database)): Step {
  const { table, put } = tableOf(makeManualClock(), modulesWith(defaultsOf(webhookSettings), { addresses }));
  put({ kind: "https_edge", id: "edge", doc: { hostports: ["h:443"] } });
  const country_restriction = { enabled: true, ...config };
  put({
    kind: "https_edge_route",
    id: "route",
    doc: { edge_id: "edge", match_type: "path_prefix", match: "/", country_restriction },
  });
  const route = httpsSite(table, "h")?.findRoute("/", "h");
  assert.equal(route?.problem, undefined);
  return route?.request[0]?.request?.(exchangeOf({ connection: { source, addresses } })) as Step;
}

describe("the country restriction", () => {
  it("R7: the country restriction allows only listed countries, and denies unknown ones", () => {
    const allow = { allow: ["DE", "US"], deny: [] };
    assert.equal(stepFor(allow, "192.0.2.1").outcome, "passed");
    assert.equal(stepFor(allow, "2001:db8::1").outcome, "passed");
    assert.equal(stepFor(allow, "198.51.100.1").outcome, "denied");
    for (const source of ["203.0.113.1", "127.0.0.1", "10.0.0.1", "::1", "", "no address"]) {
      assert.equal(stepFor(allow, source).outcome, "denied", source);
    }
    assert.equal(stepFor(allow, "192.0.2.1", unknownAddresses).outcome, "denied");
  });

  it("R7: the country restriction denies listed countries, and lets unknown ones pass", () => {
    const deny = { allow: [], deny: ["FR"] };
    assert.equal(stepFor(deny, "198.51.100.1").outcome, "denied");
    assert.equal(stepFor(deny, "192.0.2.1").outcome, "passed");
    assert.equal(stepFor(deny, "127.0.0.1").outcome, "passed");
  });

  it("R7: the country restriction denies everyone while no database of countries is loaded, also if it cannot be", () => {
    const addresses = new AddressBook(() => {});
    const deny = { allow: [], deny: ["FR"] };
    const early = stepFor(deny, "192.0.2.1", addresses);
    assert.deepEqual([early.outcome, early.reason], ["denied", "no database of countries is loaded"]);
    addresses.take({ databases: [], hasCountries: false, categories: [] });
    assert.equal(stepFor(deny, "192.0.2.1", addresses).outcome, "denied");
    addresses.take({ databases: [], hasCountries: true, categories: [] });
    assert.equal(stepFor(deny, "192.0.2.1", addresses).outcome, "passed");
  });

  it("the country restriction says which country an address has, and why it was denied", () => {
    const allow = { allow: ["DE"], deny: [] };
    const reasons = ["192.0.2.1", "198.51.100.1", "127.0.0.1"].map((source) => stepFor(allow, source).reason);
    assert.deepEqual(reasons, [
      "the address is in Germany (DE), and allow lists it",
      "the address is in France (FR), and allow lists only DE",
      "the address is in an unknown country, and allow lists only DE",
    ]);
    assert.deepEqual(stepFor(allow, "198.51.100.1").answer, { error: "country_denied" });
  });

  it("the country restriction accepts codes in any case, and rejects others, duplicates and empty lists", () => {
    const { fields, rules = [] } = countryRestrictionWith(unknownAddresses);
    assert.deepEqual(parseFields(fields, { allow: ["de"] }, "replace").doc, { allow: ["DE"], deny: [] });
    for (const wrong of [{ allow: ["XX"] }, { deny: ["DEU"] }, { allow: ["DE", "de"] }, { allow: "DE" }]) {
      assert.notDeepEqual(parseFields(fields, wrong, "replace").issues, [], JSON.stringify(wrong));
    }
    const issuesOf = (allow: string[], deny: string[]) =>
      rules.flatMap((rule) => rule({ allow, deny }, "https_route")?.message ?? []);
    assert.deepEqual(issuesOf([], []), ["must have a country if `deny` is empty"]);
    assert.deepEqual(issuesOf(["DE"], ["FR", "DE"]), ['must not have "DE", because allow lists it']);
    assert.deepEqual(issuesOf(["DE"], ["FR"]), []);
  });
});
