import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { silentLog } from "../../lib/log.ts";
import { makeMetadataAskers } from "./metadata-askers.ts";
import type { MetadataAsker, MetadataBook } from "./metadata-book.ts";

/** Of a book in which nothing good is found. */
const book: MetadataBook = {
  goodOf: () => undefined,
  keep: async () => true,
  keepProblem: async () => {},
  keepAsked: async () => {},
  forget: async () => {},
};

describe("who asks for metadata of a SAML provider", () => {
  /** Each look is over when `release` is called. */
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
  /** What comes of it, once every look is over that it may have begun. */
  const outcome = async (release: () => Promise<void>, asking: Promise<boolean>): Promise<boolean> => {
    await release();
    return await asking;
  };
  const at = (url: string) => ({ url, document: "" });

  it("P1: who asks for metadata of a SAML provider under a name keeps it: no other account, and no edge for a route, has another address looked for", async () => {
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

  it("I7: who asks for metadata of a SAML provider of an account are a thousand at most, besides routes, and 32 are looked for at once", async () => {
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

  it("P1: who asks for metadata of a SAML provider has it fetched for an unknown key once a minute, and for nobody of another account", async () => {
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
