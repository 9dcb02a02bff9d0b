import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runAtOnce } from "../lib/slices.ts";
import { AddressBook } from "./address-book.ts";
import { loadShippedCountries } from "./load-database.ts";
import { locationOf } from "./location.ts";
import { Mmdb } from "./mmdb.ts";
import { packCountries, readShippedCountries, unpackCountries } from "./shipped-countries.ts";

describe("the database of countries that Postern contains", () => {
  it("the database of countries that Postern contains is sound, and knows addresses that rarely move", async () => {
    const database = await loadShippedCountries();
    const { bytes, builtAt, hasCountries } = database;
    assert.ok(hasCountries);
    assert.ok(builtAt > Date.UTC(2026, 0, 1));
    const countries = new Set<string>();
    runAtOnce(new Mmdb(Buffer.from(bytes)).check((record) => countries.add(locationOf(record).countryCode)));
    assert.ok(countries.size > 240, `${countries.size} countries`);
    const book = new AddressBook(() => {});
    book.take({ databases: [database], hasCountries: true, categories: [] });
    const known = [
      ["8.8.8.8", "US"],
      ["193.99.144.80", "DE"],
      ["202.12.27.33", "JP"],
      ["200.160.2.3", "BR"],
      ["2a02:2e0:3fe:1001:302::", "DE"],
      ["2001:4860:4860::8888", "US"],
    ];
    for (const [address = "", code] of known) assert.equal(book.locate(address).countryCode, code, address);
    for (const address of ["127.0.0.1", "10.0.0.1", "192.168.1.1", "::1", "fe80::1", "fd00::1", "not an address"]) {
      assert.equal(book.locate(address).countryCode, "", address);
    }
  });

  it("the database of countries that Postern contains is packed to less than a megabyte, without a change", async () => {
    const file = await readShippedCountries();
    const packed = packCountries(file);
    assert.ok(packed.length < 1_000_000, `${packed.length} bytes`);
    const [before, after] = [new Mmdb(file), new Mmdb(await unpackCountries(packed))];
    assert.equal(after.facts.builtAt, before.facts.builtAt);
    const codes = (database: Mmdb): ((offset: number | undefined) => string) => {
      const known = new Map<number, string>();
      return (offset) => {
        if (offset === undefined) return "";
        const code = known.get(offset) ?? locationOf(database.read(offset)).countryCode;
        known.set(offset, code);
        return code;
      };
    };
    const [codeBefore, codeAfter] = [codes(before), codes(after)];
    const rest = after.leaves()[Symbol.iterator]();
    for (const leaf of before.leaves()) {
      const { value } = rest.next() as { readonly value: typeof leaf };
      if (value.opened !== leaf.opened || codeAfter(value.offset) !== codeBefore(leaf.offset)) assert.fail("differs");
    }
    assert.equal(rest.next().done, true);
  });

  it("a damaged packed database is refused", async () => {
    const packed = packCountries(await readShippedCountries());
    await assert.rejects(unpackCountries(packed.subarray(0, 1_000)));
    await assert.rejects(unpackCountries(Buffer.alloc(100)));
  });
});
