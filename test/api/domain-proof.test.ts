/** How accounts verify names outside of the server's domain, and what they can do before that. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { lapseMs } from "../../src/api/domain-proof/domain-checks.ts";
import { makeResolveTxt } from "../../src/api/domain-proof/resolve-txt.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { makeManualClock } from "../support/clock.ts";
import { startDns } from "../support/dns.ts";
import type { TestDns } from "../support/dns.ts";
import { databases } from "../support/postgres.ts";

for (const database of databases) {
  describe(`proof by DNS on ${database.name}`, () => {
    const clock = makeManualClock();
    let dns: TestDns;
    let api: TestApi;
    let other: string;
    /** Look-ups that have been answered. */
    let lookups = 0;
    before(async () => {
      dns = await startDns();
      const resolve = makeResolveTxt([dns.address]);
      const resolveTxt = (name: string) => resolve(name).finally(() => (lookups += 1));
      api = await startApi(database, { requireDomainProof: "dns", resolveTxt, clock });
      other = (await api.ok("POST", "/accounts", { name: "other" })).api_key;
    });
    after(async () => {
      await api.stop();
      await dns.stop();
    });

    const reserve = (domain: string, key = api.apiKey): Promise<Body> =>
      api.ok("POST", "/reserved_domains", { domain }, key);
    const read = ({ uri }: Body, key = api.apiKey): Promise<Body> =>
      api.ok("GET", new URL(uri).pathname, undefined, key);
    const publish = ({ ownership }: Body): void => {
      dns.texts.set(ownership.record_name, ["v=spf1 -all", ownership.record_value]);
    };
    /** Reads it until its ownership is as it should be; the records are looked up each time that a minute passes. */
    async function until(domain: Body, holds: (ownership: Body) => boolean, key = api.apiKey): Promise<Body> {
      for (;;) {
        const now = await read(domain, key);
        if (holds(now.ownership)) return now;
        assert.notEqual(now.ownership.status, "lapsed", JSON.stringify(now));
        clock.pass(60_000);
      }
    }

    it(`R5: a name on ${database.name} is pending until its record exists, and says which record that is`, async () => {
      const domain = await reserve("shop.example.com");
      const { ownership } = domain;
      assert.deepEqual(
        [ownership.status, ownership.record_type, ownership.record_name],
        ["pending", "TXT", "_postern-challenge.shop.example.com"],
      );
      assert.match(ownership.record_value, /^postern-account=ac_[0-9a-z]{27}$/);
      assert.equal(Date.parse(ownership.lapses_at), Date.parse(domain.created_at) + lapseMs);
      const missing = await until(domain, ({ checked_at: at }) => at !== null);
      assert.deepEqual([missing.ownership.status, missing.ownership.msg], ["pending", "The record does not exist."]);
      publish(domain);
      const proven = await until(domain, ({ status }) => status === "proven");
      assert.deepEqual([proven.ownership.lapses_at, proven.ownership.msg], [null, ""]);
      await api.ok("POST", "/edges/https", { hostports: ["shop.example.com:443"] });
    });

    it(`R5: an unverified name on ${database.name} serves nothing, is not sent to edges, and does not exclude other accounts`, async () => {
      api.edge.send({ type: "hello", edgeId: "edge_1" });
      const mine = await reserve("*.late.example.com");
      for (const [path, body] of [
        ["/edges/https", { hostports: ["*.late.example.com:443"] }],
        ["/edges/tls", { hostports: ["a.late.example.com:443"] }],
        ["/edges/tcp", { hostports: ["a.late.example.com:9000"] }],
        ["/edges/https", { hostports: ["unheard.example.net:443"] }],
      ] as const) {
        const { status, body: answer } = await api.request("POST", path, { body });
        assert.deepEqual([status, answer.error_code], [403, errorCode("domain_unproven")], path);
        assert.match(answer.details.record_name, /^_postern-challenge\./);
        assert.match(answer.details.record_value, /^postern-account=/);
      }
      assert.ok(!JSON.stringify(api.edge.received).includes("late.example.com"));
      const theirs = await reserve("a.late.example.com", other);
      publish(theirs);
      await until(theirs, ({ status }) => status === "proven", other);
      assert.ok(JSON.stringify(api.edge.received).includes("a.late.example.com"));
      publish(mine);
      const held = await until(mine, ({ msg }) => /other accounts hold/.test(msg));
      assert.equal(held.ownership.status, "pending");
    });

    it(`R5: the record of one account proves nothing for another, and two records give the name to one, on ${database.name}`, async () => {
      const [mine, theirs] = [await reserve("both.example.org"), await reserve("both.example.org", other)];
      assert.notEqual(mine.ownership.record_value, theirs.ownership.record_value);
      dns.texts.set(mine.ownership.record_name, [theirs.ownership.record_value]);
      await until(theirs, ({ status }) => status === "proven", other);
      dns.texts.set(mine.ownership.record_name, [mine.ownership.record_value, theirs.ownership.record_value]);
      const held = await until(mine, ({ msg }) => /another account holds/.test(msg));
      assert.equal(held.ownership.status, "pending");
    });

    it(`R5: a record at the registrable domain proves every name below it, and one above that nothing, on ${database.name}`, async () => {
      const { ownership } = await reserve("x.example.io");
      dns.texts.set("_postern-challenge.io", [ownership.record_value]);
      dns.texts.set("_postern-challenge.example.co.uk", [ownership.record_value]);
      const below = await reserve("a.b.example.co.uk");
      await until(below, ({ status }) => status === "proven");
      const outside = await reserve("z.example.io");
      const looked = await until(outside, ({ checked_at: at }) => at !== null);
      assert.equal(looked.ownership.status, "pending");
    });

    it(`the DNS record of a verification on ${database.name} may consist of several strings, as long ones do`, async () => {
      const domain = await reserve("strings.example.com");
      const { record_name: name, record_value: value } = domain.ownership;
      dns.texts.set(name, [[value.slice(0, 9), value.slice(9)]]);
      await until(domain, ({ status }) => status === "proven");
    });

    it(`verification by DNS on ${database.name} is unnecessary for the server's names, and below a wildcard or a name that the operator granted`, async () => {
      assert.equal((await reserve("mine.postern.test")).ownership, null);
      const wild = await reserve("*.wild.example.com");
      publish(wild);
      await until(wild, ({ status }) => status === "proven");
      assert.equal((await reserve("in.wild.example.com")).ownership.status, "proven");
      const { accounts } = await api.ok("GET", "/accounts");
      const account = accounts.find(({ name }: Body) => name === "other");
      const waiting = await reserve("early.granted.example", other);
      assert.equal(waiting.ownership.status, "pending");
      await api.ok("PATCH", `/accounts/${account.id}`, { domains: ["Granted.example"] });
      await until(waiting, ({ status }) => status === "proven", other);
      assert.equal((await reserve("*.granted.example", other)).ownership.status, "proven");
      assert.equal((await reserve("notgranted.example", other)).ownership.status, "pending");
      const own = await api.request("PATCH", `/accounts/${account.id}`, {
        key: other,
        body: { domains: ["a.example"] },
      });
      assert.equal(own.status, 403);
    });

    it(`an unverified name on ${database.name} lapses after a week, and is not looked up any more`, async () => {
      const domain = await reserve("never.example.com");
      await until(domain, ({ checked_at: at }) => at !== null);
      clock.pass(lapseMs);
      const lapsed = await read(domain);
      assert.equal(lapsed.ownership.status, "lapsed");
      publish(domain);
      const fresh = await reserve("fresh.example.com");
      publish(fresh);
      await until(fresh, ({ status }) => status === "proven");
      assert.equal((await read(domain)).ownership.status, "lapsed");
      assert.equal((await api.request("DELETE", `/reserved_domains/${domain.id}`)).status, 204);
      const again = await reserve("never.example.com");
      await until(again, ({ status }) => status === "proven");
      assert.ok(lookups > 0);
    });
  });

  describe(`proof by the operator's word on ${database.name}`, () => {
    it(`R5: verification by the operator on ${database.name} is then the only way: other names are refused, and none is looked up`, async () => {
      const resolveTxt = () => assert.fail("a record was looked up");
      const api = await startApi(database, { requireDomainProof: "operator", resolveTxt });
      try {
        for (const [path, body] of [
          ["/reserved_domains", { domain: "shop.example.com" }],
          ["/edges/https", { hostports: ["shop.example.com:443"] }],
        ] as const) {
          const refused = await api.request("POST", path, { body });
          assert.deepEqual([refused.status, refused.body.error_code], [403, errorCode("domain_unproven")]);
          assert.equal(refused.body.details.record_name, undefined);
        }
        const [account] = (await api.ok("GET", "/accounts")).accounts;
        await api.ok("PATCH", `/accounts/${account.id}`, { domains: ["example.com"] });
        const edge = await api.ok("POST", "/edges/https", { hostports: ["shop.example.com:443"] });
        const { reserved_domains: found } = await api.ok("GET", "/reserved_domains");
        assert.deepEqual([found[0].domain, found[0].ownership.status], ["shop.example.com", "proven"]);
        assert.equal(found[0].ownership.record_name, null);
        assert.equal((await api.request("DELETE", new URL(edge.uri).pathname)).status, 204);
      } finally {
        await api.stop();
      }
    });
  });
}
