import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { describe, it } from "node:test";
import type { Outbound, OutboundAnswer } from "../outbound/outbound.ts";
import { makeManualClock } from "../../test/support/clock.ts";
import { readKeySet } from "./key-set.ts";
import { keepKeySets, openKeySets } from "./key-sets.ts";

const url = "https://idp.example.test/jwks.json";
const minute = 60_000;
const jwk = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
const setOf = (...ids: string[]): string => JSON.stringify({ keys: ids.map((kid) => ({ ...jwk, kid })) });

/** An issuer that answers with `answer.text` and `answer.status`, or not at all. */
function makeIssuer() {
  const clock = makeManualClock();
  const issuer = {
    clock,
    asked: [] as string[],
    text: setOf("one") as string | undefined,
    status: 200,
    type: "application/json" as string | undefined,
    hold: undefined as Promise<void> | undefined,
  };
  const outbound: Outbound = {
    clock,
    async send(request): Promise<OutboundAnswer> {
      issuer.asked.push(request.url.href);
      await issuer.hold;
      const { text, status, type } = issuer;
      if (text === undefined) throw new Error("no answer");
      const headers = type === undefined ? {} : { "content-type": type };
      return { status, headers, body: Buffer.from(text), text, address: "192.0.2.1" };
    },
    close() {},
  };
  const setsOf = openKeySets(outbound);
  const sets = setsOf("ac_1");
  const idsFor = async (keyId?: string): Promise<readonly (string | undefined)[] | undefined> =>
    (await sets.keysFor(url, keyId))?.map(({ id }) => id);
  return { issuer, sets, setsOf, idsFor };
}

describe("cached key sets", () => {
  it("cached key sets are fetched once, and again after about 15 minutes", async () => {
    const { issuer, idsFor, sets } = makeIssuer();
    assert.equal(sets.has(url, "one"), false);
    for (let round = 0; round < 3; round += 1) assert.deepEqual(await idsFor("one"), ["one"]);
    assert.deepEqual(issuer.asked, [url]);
    assert.equal(sets.has(url, "one"), true);
    issuer.clock.pass(15 * minute);
    issuer.text = setOf("two");
    assert.deepEqual(await idsFor("one"), ["two"], "a key that was withdrawn is gone");
    assert.equal(issuer.asked.length, 2);
  });

  it("cached key sets are refreshed early, without delaying anyone", async () => {
    const { issuer, idsFor } = makeIssuer();
    await idsFor();
    issuer.clock.pass(12 * minute);
    let release = (): void => {};
    issuer.hold = new Promise((resolve) => (release = resolve));
    issuer.text = setOf("two");
    assert.deepEqual(await idsFor("one"), ["one"]);
    assert.equal(issuer.asked.length, 2);
    release();
    await new Promise(setImmediate);
    assert.deepEqual(await idsFor("two"), ["two"]);
    assert.equal(issuer.asked.length, 2);
  });

  it("cached key sets are fetched by one request for all callers", async () => {
    const { issuer, idsFor } = makeIssuer();
    const answers = await Promise.all(Array.from({ length: 50 }, () => idsFor("one")));
    assert.equal(issuer.asked.length, 1);
    assert.ok(answers.every((ids) => ids?.join() === "one"));
  });

  it("I1: cached key sets are fetched again for a missing key, but not for every invented one", async () => {
    const { issuer, idsFor } = makeIssuer();
    await idsFor("one");
    issuer.text = setOf("one", "two");
    for (let round = 0; round < 100; round += 1) await idsFor(`invented ${round}`);
    assert.equal(issuer.asked.length, 1, "not within the cool-down");
    issuer.clock.pass(30_000);
    assert.deepEqual(await idsFor("two"), ["one", "two"]);
    for (let round = 0; round < 100; round += 1) await idsFor(`invented ${round}`);
    assert.equal(issuer.asked.length, 2);
  });

  it("cached key sets remain usable for a day while their issuer is down, and no longer", async () => {
    const { issuer, idsFor } = makeIssuer();
    await idsFor("one");
    issuer.text = undefined;
    issuer.clock.pass(20 * minute);
    assert.deepEqual(await idsFor("one"), ["one"]);
    assert.deepEqual(await idsFor("one"), ["one"]);
    assert.equal(issuer.asked.length, 2, "asked once within the cool-down");
    issuer.clock.pass(24 * 60 * minute);
    assert.equal(await idsFor("one"), undefined);
    issuer.text = setOf("three");
    issuer.clock.pass(30_000);
    assert.deepEqual(await idsFor("three"), ["three"]);
  });

  const bad: readonly (readonly [what: string, change: { text?: string; status?: number; type?: string }])[] = [
    ["an error's", { status: 500 }],
    ["a redirect's", { status: 302 }],
    ["a page", { type: "text/html; charset=utf-8" }],
    ["no JSON", { text: "keys" }],
    ["a list", { text: "[]" }],
    ["an object without keys", { text: "{}" }],
    ["one with names twice", { text: '{"keys":[],"keys":[]}' }],
    ["one with keys that are no list", { text: '{"keys":{}}' }],
  ];
  for (const [what, change] of bad) {
    it(`cached key sets reject an answer that is ${what}`, async () => {
      const { issuer, idsFor } = makeIssuer();
      Object.assign(issuer, change);
      assert.equal(await idsFor("one"), undefined);
      assert.equal(await idsFor("one"), undefined);
      assert.equal(issuer.asked.length, 1);
      Object.assign(issuer, { text: setOf("one"), status: 200, type: undefined });
      issuer.clock.pass(30_000);
      assert.deepEqual(await idsFor("one"), ["one"]);
    });
  }

  it("I1: cached key sets fetch immediately for a missing key, and then not again for a while", async () => {
    const clock = makeManualClock();
    const times = {
      freshMs: 5 * minute,
      agingMs: 4 * minute,
      usableMs: Infinity,
      coolDownMs: 2_000,
      missingMs: minute,
    };
    let fetches = 0;
    let ids = ["one"];
    let failure: Error | undefined;
    const sets = keepKeySets({
      clock,
      times,
      maxSets: 1,
      maxFetches: 1,
      async fetchKeys() {
        fetches += 1;
        if (failure) throw failure;
        return readKeySet(Buffer.from(setOf(...ids)));
      },
    });
    const idsFor = async (keyId: string): Promise<unknown> => (await sets.keysFor(url, keyId))?.map(({ id }) => id);
    assert.deepEqual(await idsFor("one"), ["one"]);
    clock.pass(2_000);
    ids = ["one", "two"];
    assert.deepEqual(await idsFor("two"), ["one", "two"], "it was there already");
    for (let round = 0; round < 29; round += 1) {
      clock.pass(2_000);
      await idsFor(`invented ${round}`);
    }
    assert.equal(fetches, 2);
    clock.pass(2_000);
    await idsFor("invented");
    assert.equal(fetches, 3);

    failure = new Error("no answer");
    clock.pass(365 * 24 * 60 * minute);
    assert.deepEqual(await idsFor("one"), ["one", "two"], "known keys stay good");
    assert.equal(sets.failureAt(url), failure);
    failure = undefined;
    clock.pass(2_000);
    assert.deepEqual(await idsFor("one"), ["one", "two"]);
    assert.equal(sets.failureAt(url), undefined);
  });

  it("cached key sets are bounded in number and concurrent fetches, and never reject", async () => {
    const { issuer, sets } = makeIssuer();
    let release = (): void => {};
    issuer.hold = new Promise((resolve) => (release = resolve));
    const waiting = Array.from({ length: 100 }, (_, index) => sets.keysFor(`https://${index}.example.test/`, "one"));
    assert.equal(issuer.asked.length, 16);
    release();
    assert.equal((await Promise.all(waiting)).filter((keys) => keys !== undefined).length, 16);
    for (let index = 0; index < 300; index += 1) await sets.keysFor(`https://${index}.example.test/`, "one");
    assert.equal(sets.has("https://0.example.test/", "one"), false);
    assert.equal(sets.has("https://299.example.test/", "one"), true);
    assert.equal(await sets.keysFor("no URL", "one"), undefined);
  });

  it("D9: cached key sets are separate for each account, so that one account cannot evict or delay those of another", async () => {
    const { issuer, setsOf } = makeIssuer();
    const [greedy, quiet] = [setsOf("ac_greedy"), setsOf("ac_quiet")];
    assert.equal(setsOf("ac_quiet"), quiet);
    await quiet.keysFor(url, "one");
    for (let index = 0; index < 300; index += 1) await greedy.keysFor(`https://${index}.example.test/`, "one");
    assert.equal(quiet.has(url, "one"), true);
    assert.equal(greedy.has(url, "one"), false);
    let release = (): void => {};
    issuer.hold = new Promise((resolve) => (release = resolve));
    const asked = issuer.asked.length;
    const open = Array.from({ length: 400 }, (_, index) => greedy.keysFor(`https://x${index}.example.test/`, "one"));
    assert.equal(issuer.asked.length - asked, 16);
    open.push(quiet.keysFor("https://other.example.test/", "one"));
    assert.equal(issuer.asked.length - asked, 17);
    for (let account = 0; account < 100; account += 1) {
      for (let index = 0; index < 16; index += 1) {
        open.push(setsOf(`ac_${account}`).keysFor(`https://${account}-${index}.example.test/`, "one"));
      }
    }
    assert.equal(issuer.asked.length - asked, 256, "all of them together");
    release();
    await Promise.all(open);
    assert.notEqual(await quiet.keysFor("https://later.example.test/", "one"), undefined);
  });
});
