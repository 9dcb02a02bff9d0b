import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startBind } from "../../../test/support/bind.ts";
import type { TestBind } from "../../../test/support/bind.ts";
import { skipWithout } from "../../../test/support/programs.ts";
import { systemClock } from "../../lib/clock.ts";
import { AcmeProblem } from "../problem.ts";
import { makeDnsChallenges } from "./challenges.ts";
import type { DnsChallenges, DnsChallengeOptions } from "./challenges.ts";
import { makeDnsLookups } from "./lookups.ts";
import { openDnsProvider } from "./providers/open.ts";
import type { ProviderAccess } from "./dns-provider.ts";

const signal = new AbortController().signal;
const problem =
  (type: string, words: RegExp) =>
  (error: unknown): boolean =>
    error instanceof AcmeProblem && error.type === type && words.test(error.message);

describe("DNS challenges at BIND", { skip: skipWithout("named") }, () => {
  let bind: TestBind;

  before(async () => {
    bind = await startBind({
      zones: {
        "example.test": [
          "_acme-challenge.shop CNAME shop.acme.test.",
          "_acme-challenge.far CNAME elsewhere.invalid.",
          "_acme-challenge.round CNAME _acme-challenge.trip",
          "_acme-challenge.trip CNAME _acme-challenge.round",
          "alias CNAME other.test.",
        ],
        "acme.test": [],
        "other.test": [],
      },
    });
  });
  after(() => bind.stop());

  const access = (): ProviderAccess => ({
    server: { host: bind.host, port: bind.port },
    key: bind.key.name,
    secret: bind.key.secret,
  });
  const challenges = (more: Partial<DnsChallengeOptions> = {}): DnsChallenges =>
    makeDnsChallenges({
      provider: openDnsProvider("rfc2136", access(), systemClock),
      lookups: makeDnsLookups({ resolvers: [bind.address], servers: [], authoritativePort: bind.port }),
      zones: ["example.test", "acme.test"],
      timeoutMs: 30_000,
      clock: systemClock,
      ...more,
    });

  it("a DNS challenge is set at all authoritative servers, beside other values, and removed again", async () => {
    const dns = challenges();
    const one = await dns.locate("*.example.test", "token.one");
    const two = await dns.locate("example.test", "token.two");
    assert.deepEqual([one.name, one.zone], ["_acme-challenge.example.test", "example.test"]);
    assert.equal(one.name, two.name);
    const { agreed, silent } = await dns.present(one, signal);
    assert.deepEqual([agreed.toSorted(), silent], [[bind.address, bind.secondary].toSorted(), []]);
    assert.ok(
      (await makeDnsLookups({ resolvers: [], servers: [] }).textsAt(bind.secondary, one.name))?.includes(one.value),
    );
    await dns.present(two, signal);
    assert.deepEqual((await bind.texts(one.name)).toSorted(), [one.value, two.value].toSorted());
    await dns.cleanup(one);
    assert.deepEqual(await bind.texts(one.name), [two.value]);
    await dns.cleanup(two);
    await dns.cleanup(two);
    assert.deepEqual(await bind.texts(one.name), []);
  });

  it("a DNS challenge follows CNAME records to another zone, and finds the zone of the target", async () => {
    const record = await challenges().locate("shop.example.test", "token.key");
    assert.deepEqual([record.name, record.zone], ["shop.acme.test", "acme.test"]);
    // The SOA record of an alias's target is not the zone of the alias.
    assert.equal((await challenges().locate("a.alias.example.test", "token.key")).zone, "example.test");
  });

  it("a DNS challenge with CNAME records in a loop is refused", async () => {
    await assert.rejects(challenges().locate("round.example.test", "t.k"), problem("dnsZone", /form a loop/));
  });

  it("I11: a DNS challenge sets no record outside the operator's zones, also not through CNAME records", async () => {
    const dns = challenges({ zones: ["example.test"] });
    await assert.rejects(dns.locate("other.test", "t.k"), problem("dnsZone", /--acme-dns-zone/));
    await assert.rejects(dns.locate("badexample.test", "t.k"), problem("dnsZone", /--acme-dns-zone/));
    await assert.rejects(dns.locate("shop.example.test", "t.k"), problem("dnsZone", /"shop.acme.test", to which/));
    await assert.rejects(challenges().locate("far.example.test", "t.k"), problem("dnsZone", /elsewhere.invalid/));
  });

  it("a DNS update with a wrong key names the reason of the name server", async () => {
    const record = await challenges().locate("wrong.example.test", "t.k");
    const wrong: readonly (readonly [ProviderAccess, RegExp])[] = [
      [{ ...access(), secret: Buffer.alloc(32, 9).toString("base64") }, /BADSIG: the secret of the key is wrong/],
      [{ ...access(), key: "other-key" }, /BADKEY/],
      [{ ...access(), algorithm: "hmac-sha512" }, /BADKEY/],
    ];
    for (const [given, words] of wrong) {
      const provider = openDnsProvider("rfc2136", given, systemClock);
      await assert.rejects(provider.present(record), problem("dnsProvider", words));
    }
    const late = openDnsProvider("rfc2136", access(), { ...systemClock, now: () => Date.now() - 3_600_000 });
    await assert.rejects(late.present(record), problem("dnsProvider", /BADTIME/));
    const provider = openDnsProvider("rfc2136", access(), systemClock);
    await assert.rejects(provider.present({ ...record, zone: "acme.test" }), problem("dnsProvider", /NOTZONE/));
    await assert.rejects(provider.present({ ...record, zone: "no.test" }), problem("dnsProvider", /NOTAUTH/));
    assert.deepEqual(await bind.texts(record.name), []);
  });

  it("a DNS challenge whose provider claims a success that no server shows fails at the end of the wait", async () => {
    const liar = { present: () => Promise.resolve(), cleanup: () => Promise.resolve() };
    const dns = challenges({ provider: liar, timeoutMs: 600 });
    const record = await dns.locate("lie.example.test", "t.k");
    await assert.rejects(
      dns.present(record, signal),
      problem("dnsPropagation", /does not have the TXT record "_acme-challenge.lie/),
    );
  });

  it("the holders of one name follow each other", async () => {
    const dns = challenges();
    const order: number[] = [];
    const first = await dns.hold("a.test");
    const second = dns.hold("a.test").then((release) => (order.push(2), release()));
    const third = dns.hold("a.test").then((release) => (order.push(3), release()));
    (await dns.hold("b.test"))();
    order.push(1);
    first();
    await Promise.all([second, third]);
    assert.deepEqual(order, [1, 2, 3]);
  });

  it("a name server that is down is reported, and does not prevent a certificate", async () => {
    await bind.stopSecondary();
    const dns = challenges({ timeoutMs: 600 });
    const record = await dns.locate("down.example.test", "t.k");
    assert.deepEqual((await dns.present(record, signal)).silent, [bind.secondary]);
    await dns.cleanup(record);
  });
});
