import assert from "node:assert/strict";
import { BlockList } from "node:net";
import { describe, it } from "node:test";
import { seededRandom } from "../../test/support/random.ts";
import { formatAddress, readAddress } from "../lib/address.ts";
import { runAtOnce } from "../lib/slices.ts";
import { InvalidList, NetworkSet, packNetworks } from "./network-set.ts";

const words = new Uint32Array(4);

function setOf(text: string): (address: string) => boolean {
  const set = new NetworkSet(runAtOnce(packNetworks(text)));
  return (address) => {
    const family = readAddress(address, words);
    return family !== 0 && set.has(family, words);
  };
}

describe("a list of networks", () => {
  it("a list of networks has networks, addresses, comments and empty lines", () => {
    const has = setOf(
      "# exits\n192.0.2.0/24\r\n\n198.51.100.7 ; SBL1\n 2001:db8::/32 # six\n2001:db8:1::/48\n::ffff:203.0.113.9\n",
    );
    const inside = ["192.0.2.0", "192.0.2.255", "198.51.100.7", "2001:db8:ffff::1", "203.0.113.9", "::ffff:192.0.2.1"];
    for (const address of inside) assert.equal(has(address), true, address);
    for (const address of ["192.0.3.0", "198.51.100.8", "2001:db9::", "::", "0.0.0.0"]) {
      assert.equal(has(address), false, address);
    }
  });

  it("a list of networks agrees with Node's block lists on random networks", () => {
    const random = seededRandom(3);
    for (let round = 0; round < 40; round += 1) {
      const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
      const lines: string[] = [];
      for (let at = 0; at < 30; at += 1) {
        const family = random.below(2) === 0 ? 4 : 6;
        const prefix = 1 + random.below(family === 4 ? 32 : 128);
        const own = Array.from({ length: family === 4 ? 1 : 4 }, (_, word) => {
          const bits = Math.min(Math.max(prefix - 32 * word, 0), 32);
          return bits === 0 ? 0 : (few(random) & (0xffffffff << (32 - bits))) >>> 0;
        });
        if (family === 6 && own[0] === 0 && own[1] === 0) continue;
        const address = formatAddress(family, own);
        lists[`ipv${family}`].addSubnet(address, prefix, `ipv${family}`);
        lines.push(`${address}/${prefix}`);
      }
      const has = setOf(lines.join("\n"));
      for (let probe = 0; probe < 100; probe += 1) {
        const family = random.below(2) === 0 ? 4 : 6;
        const address = formatAddress(family, [few(random) || 1, few(random), few(random), few(random)]);
        assert.equal(
          has(address),
          lists[`ipv${family}`].check(address, `ipv${family}`),
          `${address} in ${lines.join(" ")}`,
        );
      }
    }
  });

  const wrong: readonly (readonly [what: string, text: string, message: RegExp])[] = [
    ["is empty", "", /has no networks/],
    ["has only comments", "# none\n", /has no networks/],
    ["is a page of HTML", "<!doctype html>\n<title>Not found</title>", /line 1 is "<!doctype html>"/],
    ["has bits beyond a mask", "192.0.2.0/24\n192.0.2.1/24", /line 2 is "192\.0\.2\.1\/24"/],
    ["has names of hosts", "example.com", /line 1/],
    ["is too long", "192.0.2.1\n".repeat(500_001), /more than 500000 networks/],
  ];
  for (const [what, text, message] of wrong) {
    it(`D12: a list of networks that ${what} is refused`, () => {
      assert.throws(
        () => runAtOnce(packNetworks(text)),
        (error: Error) => {
          assert.ok(error instanceof InvalidList);
          assert.match(error.message, message);
          return true;
        },
      );
    });
  }
});

/** Words with few distinct values, so that networks contain addresses. */
function few(random: ReturnType<typeof seededRandom>): number {
  return ((random.below(4) << 30) >>> 0) + random.below(4);
}
