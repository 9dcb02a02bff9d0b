import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { Reader } from "mmdb-lib";
import { country, mmdbOf } from "../../test/support/mmdb.ts";
import { seededRandom } from "../../test/support/random.ts";
import { formatAddress, readAddress } from "../lib/address.ts";
import { runAtOnce } from "../lib/slices.ts";
import { locationOf } from "./location.ts";
import { Mmdb } from "./mmdb.ts";
import { DamagedDatabase } from "./mmdb-record.ts";
import type { RecordValue } from "./mmdb-record.ts";

const words = new Uint32Array(4);

function lookUp(database: Mmdb, address: string): RecordValue {
  const family = readAddress(address, words);
  assert.notEqual(family, 0, address);
  const offset = database.find(family as 4 | 6, words);
  return offset === undefined ? undefined : database.read(offset);
}

function codeAt(database: Mmdb, address: string): string {
  const record = lookUp(database, address);
  return record === undefined ? "" : locationOf(record).countryCode;
}

function check(bytes: Buffer): Mmdb {
  const database = new Mmdb(bytes);
  runAtOnce(database.check());
  return database;
}

const networks = {
  "192.0.2.0/24": country("DE"),
  "192.0.2.128/25": country("FR"),
  "198.51.100.7/32": country("US"),
  "2001:db8::/32": country("JP"),
  "2001:db8:1::/48": country("BR"),
};

describe("an MMDB file", () => {
  for (const recordSize of [24, 28, 32] as const) {
    it(`an MMDB file with records of ${recordSize} bits has the most specific network of each address`, () => {
      const database = check(mmdbOf(networks, { recordSize }));
      const found = [
        ["192.0.2.1", "DE"],
        ["192.0.2.200", "FR"],
        ["::ffff:192.0.2.200", "FR"],
        ["198.51.100.7", "US"],
        ["198.51.100.8", ""],
        ["127.0.0.1", ""],
        ["2001:db8::1", "JP"],
        ["2001:db8:1::1", "BR"],
        ["2001:db9::1", ""],
      ];
      for (const [address = "", code] of found) assert.equal(codeAt(database, address), code, address);
    });
  }

  it("an MMDB file for IPv4 has no IPv6 addresses", () => {
    const database = check(mmdbOf({ "192.0.2.0/24": country("DE") }, { ipVersion: 4 }));
    assert.equal(codeAt(database, "192.0.2.9"), "DE");
    assert.equal(codeAt(database, "2001:db8::1"), "");
    assert.deepEqual(database.facts, { type: "Test", builtAt: Date.UTC(2026, 10, 1) });
  });

  it("an MMDB file is read as mmdb-lib reads it, for random addresses of the shipped database", () => {
    const file = readFileSync(
      createRequire(import.meta.url).resolve("@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb"),
    );
    const [database, reference] = [new Mmdb(file), new Reader(file)];
    const random = seededRandom(5);
    let known = 0;
    for (let probe = 0; probe < 20_000; probe += 1) {
      const family = probe % 2 === 0 ? 4 : 6;
      const parts = [0, 1, 2, 3].map(() => random.below(2 ** 32));
      if (family === 6) parts[0] = 0x20000000 + (parts[0] as number) / 64;
      const address = formatAddress(family, parts);
      const expected = (reference.get(address) as { country_code?: string } | null)?.country_code;
      const found = lookUp(database, address) as { readonly country_code: string } | undefined;
      assert.equal(found?.country_code, expected, address);
      if (expected !== undefined) known += 1;
    }
    assert.ok(known > 5_000, `${known} addresses have a country`);
  });
});

const whole = mmdbOf(networks);

describe("a damaged MMDB file", () => {
  const damages: readonly (readonly [what: string, bytes: Buffer])[] = [
    ["is empty", Buffer.alloc(0)],
    ["is a page of HTML", Buffer.from("<!doctype html><title>Not found</title>")],
    ["ends early", whole.subarray(0, whole.length - 20)],
    ["begins late", whole.subarray(100)],
    ["has lost its middle", Buffer.concat([whole.subarray(0, 300), whole.subarray(600)])],
    ["has its metadata far from its end", Buffer.concat([whole, Buffer.alloc(200_000)])],
    ["has another version", replaced(whole, "binary_format_major_version", 3)],
    ["has records of 20 bits", replaced(whole, "record_size", 20)],
    ["is for IP version 5", replaced(whole, "ip_version", 5)],
    ["has a tree larger than itself", replaced(whole, "node_count", 0x7fffffff)],
  ];
  for (const [what, bytes] of damages) {
    it(`D12: a damaged MMDB file that ${what} is refused`, () => {
      assert.throws(() => check(bytes), DamagedDatabase);
    });
  }

  it("D12: a damaged MMDB file is refused or answers every address, whatever 3,000 mutations change", () => {
    const random = seededRandom(11);
    let refused = 0;
    for (let round = 0; round < 3_000; round += 1) {
      const bytes = Buffer.from(whole);
      for (let change = 0; change <= random.below(8); change += 1) {
        bytes[random.below(bytes.length)] = random.below(256);
      }
      const cut = random.below(4) === 0 ? bytes.subarray(0, random.below(bytes.length)) : bytes;
      let database: Mmdb;
      try {
        database = new Mmdb(cut);
      } catch (error) {
        assert.ok(error instanceof DamagedDatabase, String(error));
        refused += 1;
        continue;
      }
      for (const address of ["192.0.2.1", "198.51.100.7", "0.0.0.0", "255.255.255.255", "2001:db8::1", "::"]) {
        try {
          locationOf(lookUp(database, address));
        } catch (error) {
          assert.ok(error instanceof DamagedDatabase, String(error));
        }
      }
    }
    assert.ok(refused > 300, `${refused} of 3,000 were refused`);
  });

  const text = (value: string): readonly number[] => [0x40 + value.length, ...Buffer.from(value)];
  /** Databases whose only record begins at offset 0 of these bytes of data. */
  const hostile: readonly (readonly [what: string, data: readonly number[]])[] = [
    ["points to itself", [0x20, 0x00]],
    ["points in a circle", [0x20, 0x02, 0x20, 0x00]],
    ["holds itself", [0xe1, ...text("a"), 0x20, 0x00]],
    [
      "holds itself many times",
      [0x1f, 0x04, 0xff, 0xff, 0xff, ...Array.from({ length: 300 }, () => [0x20, 0x00]).flat()],
    ],
    ["doubles at each of 30 levels", doubling(30)],
    ["claims 16 million members", [0xff, 0xff, 0xff, 0xff, ...text("a"), 0xa1, 1]],
    ["claims a text of 16 MB", [0x5f, 0xff, 0xff, 0xff]],
    ["has a name that is a number", [0xe1, 0xa1, 1, 0xa1, 1]],
    ["has an unknown type", [0x00, 0x09]],
    ["points far away", [0x38, 0xff, 0xff, 0xff, 0xff]],
  ];
  for (const [what, data] of hostile) {
    it(`D12: a damaged MMDB file whose record ${what} is refused, and its addresses are unknown`, () => {
      const bytes = withData(Buffer.from(data));
      assert.throws(() => check(bytes), DamagedDatabase);
      const database = new Mmdb(bytes);
      assert.throws(() => lookUp(database, "192.0.2.1"), DamagedDatabase);
    });
  }

  it("D12: a damaged MMDB file with a node that leads back to the root ends each look-up", () => {
    const bytes = Buffer.from(mmdbOf({ "192.0.2.0/24": country("DE") }, { ipVersion: 4, recordSize: 32 }));
    bytes.writeUInt32BE(0, 0);
    bytes.writeUInt32BE(0, 4);
    assert.equal(codeAt(new Mmdb(bytes), "192.0.2.1"), "");
  });

  it("a record with a member named __proto__ changes no object", () => {
    const bytes = withData(Buffer.from([0xe1, ...text("__proto__"), 0xe1, ...text("polluted"), 0xa1, 1]));
    const record = lookUp(new Mmdb(bytes), "192.0.2.1");
    assert.deepEqual(Object.keys(record as object), ["__proto__"]);
    assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
  });
});

/** Replaces a number of the metadata, which the writer encodes as 32 bits. */
function replaced(bytes: Buffer, name: string, value: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt32BE(value, copy.lastIndexOf(name) + name.length + 1);
  return copy;
}

/** Returns a database for IPv4 whose only record has this encoding. */
function withData(data: Buffer): Buffer {
  const placeholder = "0".repeat(60_000);
  const long = mmdbOf({ "0.0.0.0/1": placeholder, "128.0.0.0/1": placeholder }, { ipVersion: 4 });
  const start = 6 + 16;
  const metadata = long.subarray(long.lastIndexOf(Buffer.from("abcdef4d61784d696e642e636f6d", "hex")));
  const tree = Buffer.from(long.subarray(0, start));
  // Both halves of all addresses have the record at offset 0.
  tree.writeUIntBE(1 + 16, 0, 3);
  tree.writeUIntBE(1 + 16, 3, 3);
  return Buffer.concat([tree, data, metadata]);
}

/** Each level is a list of two pointers to the next one. */
function doubling(levels: number): readonly number[] {
  const bytes: number[] = [];
  for (let level = 0; level < levels; level += 1) {
    const next = (level + 1) * 6;
    bytes.push(0x02, 0x04, 0x20, next, 0x20, next);
  }
  return [...bytes, 0xa1, 1];
}
