import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { silentLog } from "../../lib/log.ts";
import { makeMetadataAskers } from "./metadata-askers.ts";
import type { MetadataAsker, MetadataBook } from "./metadata-book.ts";

const object = { id: "smd_1", account_id: "ac_1", kind: "saml_metadata", revision: 1, created_at: "" };

/** A book without usable metadata. */
const book: MetadataBook = {
  goodOf: () => undefined,
  keep: async () => true,
  keepProblem: async () => {},
  keepAsked: async () => {},
  forget: async () => {},
};

describe("metadata requests for SAML providers", () => {
  /** Each look finishes when `release` is called. */
  const askersOf = () => {
    const clock = makeManualClock();
    const looked: MetadataAsker[] = [];
    let over = Promise.withResolvers<void>();
    const look = async (asker: MetadataAsker) => {
      looked.push({ ...asker });
      await over.promise;
      return { isNew: true, againMs: 3_600_000 };
    };
    const release = async (): Promise<void> => {
      over.resolve();
      await new Promise(setImmediate);
      over = Promise.withResolvers<void>();
    };
    return { clock, looked, release, askers: makeMetadataAskers({ book, look, clock, log: silentLog }) };
  };
  /** Returns the result once every look that may have started is finished. */
  const outcome = async (release: () => Promise<void>, asking: Promise<boolean>): Promise<boolean> => {
    await release();
    return await asking;
  };
  const at = (url: string) => ({ url, document: "" });

  it("P1: metadata requests for SAML providers under a name stay with the first requester: no other account and no edge of a route can change the address", async () => {
    const { askers, looked, release, clock } = askersOf();
    assert.equal(await outcome(release, askers.asked("ac_1", "rule", at("https://one.example"))), true);
    assert.equal(await outcome(release, askers.asked("ac_2", "rule", at("https://evil.example"))), false);
    const route = { ...at("https://route.example"), accountId: "ac_1", askedBy: "route", askedAt: undefined };
    askers.note(route);
    assert.equal(await outcome(release, askers.asked("ac_1", "route", at("https://evil.example"))), false);
    clock.pass(3_600_000);
    askers.lookForDue();
    await release();
    assert.deepEqual(new Set(looked.map(({ url }) => url)), new Set(["https://one.example", "https://route.example"]));
    assert.ok(looked.every(({ accountId }) => accountId === "ac_1"));
  });

  for (const wrongDays of [400, -400]) {
    it(`S7: metadata requests for SAML providers remain and are looked up in time while the clock is wrong by ${wrongDays} days for an hour`, async () => {
      const clock = makeManualClock();
      const dayMs = 86_400_000;
      let doc: Record<string, string> | undefined;
      let looks = 0;
      let isForgotten = false;
      const kept: MetadataBook = {
        ...book,
        goodOf: () => doc && { ...object, doc },
        forget: async () => void (isForgotten = true),
      };
      const look = async () => {
        looks += 1;
        const at = (ms: number): string => new Date(ms).toISOString();
        doc = { fetched_at: at(clock.now()), good_until: at(clock.now() + 7 * dayMs), metadata: "{}" };
        return { isNew: true, againMs: 3_600_000 };
      };
      const askers = makeMetadataAskers({ book: kept, look, clock, log: silentLog });
      const pass = async (minutes: number): Promise<void> => {
        for (let minute = 0; minute < minutes; minute += 1) {
          clock.pass(60_000);
          askers.lookForDue();
          await new Promise(setImmediate);
        }
      };
      await askers.asked("ac_1", "rule", at("https://one.example"));
      clock.step(wrongDays * dayMs);
      await pass(60);
      clock.step(-wrongDays * dayMs);
      const before = looks;
      await pass(2);
      assert.ok(Date.parse(doc?.["good_until"] ?? "") > clock.now(), "what is known is good");
      assert.ok(looks - before <= 1, `${looks - before} looks`);
      assert.ok(!isForgotten, "forgotten");
      await pass(10);
      assert.ok(looks - before <= 1, `${looks - before} looks`);
    });
  }

  it("I7: metadata requests for SAML providers are limited to a thousand per account, besides routes, and to 32 simultaneous looks", async () => {
    const { askers, looked, release } = askersOf();
    for (let count = 0; count < 9; count += 1) {
      for (let one = 0; one < 4; one += 1) {
        void askers.asked(`ac_${count}`, `${count}.${one}`, at(`https://${count}-${one}.example`));
      }
    }
    assert.equal(looked.length, 32);
    await release();
    for (let count = 0; count < 1_000; count += 1)
      void askers.asked("ac_full", `full${count}`, at("https://x.example"));
    await release();
    const { length } = looked;
    assert.equal(await outcome(release, askers.asked("ac_full", "one more", at("https://x.example"))), false);
    assert.equal(looked.length, length);
    void askers.asked("ac_other", "its first", at("https://x.example"));
    assert.equal(looked.length, length + 1, "another account has room");
    await release();
  });

  it("P1: metadata requests for SAML providers fetch again for an unknown key once a minute, only for their own account", async () => {
    const { askers, looked, release, clock } = askersOf();
    void askers.asked("ac_1", "rule", at("https://one.example"));
    await release();
    assert.equal(await outcome(release, askers.refetched("ac_2", "rule")), false);
    assert.equal(await outcome(release, askers.refetched("ac_1", "nobody's")), false);
    assert.equal(looked.length, 1);
    assert.equal(await outcome(release, askers.refetched("ac_1", "rule")), true);
    assert.equal(await outcome(release, askers.refetched("ac_1", "rule")), false);
    clock.pass(60_000);
    assert.equal(await outcome(release, askers.refetched("ac_1", "rule")), true);
    assert.equal(looked.length, 3);
  });
});
