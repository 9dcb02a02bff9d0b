import assert from "node:assert/strict";
import { BlockList } from "node:net";
import { describe, it } from "node:test";
import { httpsSite, tableOf } from "../../test/support/routing.ts";
import { seededRandom } from "../../test/support/random.ts";
import { formatAddress } from "../lib/address.ts";
import { parseFields } from "../schema/parse-fields.ts";
import { ipRestriction } from "./ip-restriction.ts";
import type { Step } from "../traffic/step.ts";

interface Rule {
  readonly id: string;
  readonly cidr: string;
  readonly action: string;
  readonly policy?: string;
}

function setUp(rules: readonly Rule[], policyIds: readonly string[] = ["ipp_1"]) {
  const { table, put } = tableOf();
  for (const id of ["ipp_1", "ipp_2"]) put({ kind: "ip_policy", id, doc: {} });
  for (const { id, cidr, action, policy = "ipp_1" } of rules) {
    put({ kind: "ip_policy_rule", id, doc: { ip_policy_id: policy, cidr, action } });
  }
  const doc = { hostports: ["127.0.0.1:5432"], ip_restriction: { enabled: true, ip_policy_ids: policyIds } };
  put({ kind: "tcp_edge", id: "edgtcp_1", doc });
  const decide = (source: string): Step => {
    const [site] = table.tcpSites();
    assert.ok(site);
    assert.equal(site.problem, undefined);
    const step = site.connection[0]?.connection?.(source);
    assert.ok(step);
    return step;
  };
  return { table, put, decide };
}

describe("IP restriction", () => {
  it("R4: the IP restriction requires a rule that allows and no rule that denies", () => {
    const { decide } = setUp([
      { id: "ipr_1", cidr: "192.0.2.0/24", action: "allow" },
      { id: "ipr_2", cidr: "192.0.2.7/32", action: "deny" },
      { id: "ipr_3", cidr: "2001:db8::/32", action: "allow" },
      { id: "ipr_4", cidr: "2001:db8:1::/48", action: "deny" },
    ]);
    assert.equal(decide("192.0.2.1").outcome, "passed");
    assert.equal(decide("192.0.2.7").outcome, "denied");
    assert.equal(decide("198.51.100.1").outcome, "denied");
    assert.equal(decide("2001:db8::1").outcome, "passed");
    assert.equal(decide("2001:db8:1::1").outcome, "denied");
    assert.equal(decide("2001:db9::1").outcome, "denied");
  });

  it("R4: a deny wins over any allow, even from another policy or for a narrower network", () => {
    const rules = [
      { id: "ipr_1", cidr: "10.0.0.0/8", action: "deny", policy: "ipp_2" },
      { id: "ipr_2", cidr: "10.1.1.1/32", action: "allow" },
    ];
    assert.equal(setUp(rules, ["ipp_1", "ipp_2"]).decide("10.1.1.1").outcome, "denied");
    assert.equal(setUp(rules, ["ipp_1"]).decide("10.1.1.1").outcome, "passed");
  });

  it("R4: policies without rules, or with denies only, admit no client", () => {
    assert.equal(setUp([]).decide("192.0.2.1").outcome, "denied");
    const denies = setUp([{ id: "ipr_1", cidr: "10.0.0.0/8", action: "deny" }]);
    assert.equal(denies.decide("192.0.2.1").outcome, "denied");
  });

  it("R4: an IPv4-mapped source or rule counts as IPv4, and an invalid address is rejected", () => {
    const { decide } = setUp([{ id: "ipr_1", cidr: "::ffff:192.0.2.0/120", action: "allow" }]);
    assert.equal(decide("::ffff:192.0.2.1").outcome, "passed");
    assert.equal(decide("192.0.2.1").outcome, "passed");
    for (const source of ["", "192.0.2.1:80", "192.0.2.01", "localhost", "fe80::1%eth0"]) {
      assert.equal(decide(source).outcome, "denied", source);
    }
  });

  it("the IP restriction names the deciding rule with its revision, the same for requests and connections", () => {
    const { decide, put, table } = setUp([{ id: "ipr_1", cidr: "192.0.2.0/24", action: "allow" }]);
    const step = decide("192.0.2.1");
    const rule = table.object("ip_policy_rule", "ipr_1");
    assert.deepEqual(step.decidedBy, { kind: "ip_policy_rule", id: "ipr_1", revision: rule?.revision });
    assert.equal(step.reason, "allowed by rule ipr_1, 192.0.2.0/24");
    put({ kind: "https_edge", id: "edghts_1", doc: { hostports: ["h:443"] } });
    const ip_restriction = { enabled: true, ip_policy_ids: ["ipp_1"] };
    put({
      kind: "https_edge_route",
      id: "r",
      doc: { edge_id: "edghts_1", match_type: "path_prefix", match: "/", ip_restriction },
    });
    const [module] = httpsSite(table, "h")?.findRoute("/", "h")?.request ?? [];
    assert.equal(module?.request?.({ connection: { source: "192.0.2.1" } } as never), step);
  });

  it("R6: a missing or unreadable policy closes the edge", () => {
    const { table, put } = setUp([]);
    put({ kind: "ip_policy_rule", id: "ipr_1", doc: { ip_policy_id: "ipp_1", cidr: "192.0.2.1/24", action: "allow" } });
    const [site] = table.tcpSites();
    assert.match(site?.problem?.message ?? "", /"192\.0\.2\.1\/24" is not a network/);
    put({ kind: "ip_policy_rule", id: "ipr_1", doc: { ip_policy_id: "ipp_1", cidr: "192.0.2.0/24", action: "allow" } });
    assert.equal([...table.tcpSites()][0]?.problem, undefined);
    put({ kind: "ip_policy", id: "ipp_1", gone: true });
    assert.match([...table.tcpSites()][0]?.problem?.message ?? "", /find IP policy "ipp_1": it does not exist/);
  });

  it("the IP restriction is rejected without a policy", () => {
    assert.notDeepEqual(parseFields(ipRestriction.fields, {}, "replace").issues, []);
    assert.notDeepEqual(parseFields(ipRestriction.fields, { ip_policy_ids: [] }, "replace").issues, []);
    assert.deepEqual(parseFields(ipRestriction.fields, { ip_policy_ids: ["ipp_1"] }, "replace").issues, []);
  });

  it("the IP restriction agrees with Node's block lists on random rules and addresses", () => {
    const random = seededRandom(9);
    for (let round = 0; round < 60; round += 1) {
      // One list per family, because a Node block list treats IPv4 addresses as part of `::/0`.
      const lists = {
        allow4: new BlockList(),
        allow6: new BlockList(),
        deny4: new BlockList(),
        deny6: new BlockList(),
      };
      const rules: Rule[] = [];
      const seen = new Set<string>();
      for (let at = 0; at < 40; at += 1) {
        const family = random() < 0.5 ? 4 : 6;
        const words = randomWords(random, family);
        const prefix = random.below(family === 4 ? 33 : 129);
        const cidr = `${formatAddress(family, masked(words, prefix))}/${prefix}`;
        const action = random() < 0.6 ? "allow" : "deny";
        if (seen.has(cidr)) continue;
        seen.add(cidr);
        rules.push({ id: `ipr_${at}`, cidr, action, policy: random.pick(["ipp_1", "ipp_2"]) });
        const [address, mask] = cidr.split("/") as [string, string];
        lists[`${action}${family}` as "allow4"].addSubnet(address, Number(mask), family === 4 ? "ipv4" : "ipv6");
      }
      const { decide } = setUp(rules, ["ipp_1", "ipp_2"]);
      for (let probe = 0; probe < 100; probe += 1) {
        const family = random() < 0.5 ? 4 : 6;
        const source = formatAddress(family, randomWords(random, family));
        const type = family === 4 ? "ipv4" : "ipv6";
        const expected = lists[`allow${family}`].check(source, type) && !lists[`deny${family}`].check(source, type);
        assert.equal(decide(source).outcome, expected ? "passed" : "denied", `${source} ${JSON.stringify(rules)}`);
      }
    }
  });
});

/** Words with few distinct bits, so that networks nest and addresses match; never IPv4-mapped. */
function randomWords(random: () => number, family: 4 | 6): number[] {
  const word = (): number => (random() < 0.7 ? 0 : (Math.floor(random() * 4) << 30) >>> 0) + Math.floor(random() * 4);
  return family === 4 ? [word()] : [word(), word(), 0, word()];
}

function masked(words: readonly number[], prefix: number): number[] {
  return words.map((word, at) => {
    const kept = Math.min(Math.max(prefix - 32 * at, 0), 32);
    return kept === 0 ? 0 : (word & (0xffffffff << (32 - kept))) >>> 0;
  });
}
