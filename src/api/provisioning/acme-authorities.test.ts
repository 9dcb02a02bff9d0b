import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { AcmeProblem } from "../../acme/problem.ts";
import { silentLog } from "../../lib/log.ts";
import { makeAuthorities } from "./acme-authorities.ts";
import type { Authority } from "./acme-authority.ts";

const hour = 3_600_000;

function authority(directoryUrl: string, forgotten: string[]): Authority {
  return {
    directoryUrl,
    account: () => Promise.reject(new Error("not asked here")),
    renewalWindow: () => Promise.resolve(undefined),
    forget: () => forgotten.push(directoryUrl),
  };
}

describe("several certificate authorities", () => {
  const clock = makeManualClock();
  const forgotten: string[] = [];
  const all = ["https://one.test/dir", "https://two.test/dir"].map((url) => authority(url, forgotten));
  const authorities = makeAuthorities(all, clock, silentLog);
  const asked: string[] = [];
  const ask = (errors: Readonly<Record<string, AcmeProblem>>, domain = "a.test"): Promise<string> =>
    authorities.first(domain, ({ directoryUrl }) => {
      const host = new URL(directoryUrl).hostname;
      asked.push(host);
      return errors[host] ? Promise.reject(errors[host]) : Promise.resolve(host);
    });

  it("several certificate authorities are asked in order, and the next one if one does not answer", async () => {
    assert.equal(await ask({}), "one.test");
    assert.equal(await ask({ "one.test": new AcmeProblem("unreachable", "gone") }), "two.test");
    assert.deepEqual(forgotten, ["https://one.test/dir"]);
    assert.equal(authorities.of("https://two.test/dir"), all[1]);
    assert.equal(authorities.of(null), all[0]);
  });

  it("several certificate authorities are not asked after a failed check, which would fail everywhere", async () => {
    asked.length = 0;
    await assert.rejects(ask({ "one.test": new AcmeProblem("dns", "no address") }), /no address/);
    assert.deepEqual(asked, ["one.test"]);
  });

  it("a certificate authority that limits requests for a domain is not asked for it before the time that it names", async () => {
    const limited = new AcmeProblem("rateLimited", "too many", { retryAfterMs: hour });
    assert.equal(await ask({ "one.test": limited }), "two.test");
    asked.length = 0;
    clock.pass(hour - 1000);
    assert.equal(await ask({}), "two.test");
    assert.equal(await ask({}, "b.test"), "one.test");
    assert.deepEqual(asked, ["two.test", "one.test"]);
    await assert.rejects(ask({ "two.test": limited }), { type: "rateLimited", retryAfterMs: hour });
    asked.length = 0;
    await assert.rejects(ask({}), { type: "rateLimited", retryAfterMs: 1000 });
    assert.deepEqual(asked, []);
    clock.pass(1000);
    assert.equal(await ask({}), "one.test");
  });
});
