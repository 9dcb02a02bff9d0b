import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Refusal } from "../../src/lib/errors.ts";
import type { Store } from "../../src/storage/store.ts";
import { makeManualClock } from "../support/clock.ts";
import type { ManualClock } from "../support/clock.ts";
import { databases } from "../support/postgres.ts";
import { contextFor, defaultAccount } from "./declarations.ts";
import { open } from "./fixture.ts";

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

async function passHours(clock: ManualClock, hours: number): Promise<void> {
  for (let turn = 0; turn < 6 * hours; turn += 1) {
    clock.pass(10 * 60 * 1000);
    await delay(2);
  }
}

for (const database of databases) {
  describe(`idempotency keys on ${database.name}`, () => {
    it(`P7: a write with a key happens once within 24 hours, also if sent twice simultaneously or after a restart, on ${database.name}`, async () => {
      const place = await database.create();
      const clock = makeManualClock(Date.UTC(2026, 10, 1));
      let store = await open(place.url, { clock });
      const account = defaultAccount(store);
      const other = (await store.createAccount("other")).id;
      let runs = 0;
      const write = (fingerprint = "the request", key = "key 1", accountId = account) =>
        store.write(
          contextFor(accountId),
          (draft) => {
            runs += 1;
            return draft.create(accountId, "policy", { description: `run ${runs}` }).id;
          },
          { key, fingerprint, answer: (id, revision) => `created ${id} at ${revision}` },
        );

      const [first, second] = await Promise.all([write(), write()]);
      assert.equal(runs, 1);
      assert.ok(first.replayed === undefined);
      const replayed = { revision: first.revision, replayed: `created ${first.result} at ${first.revision}` };
      assert.deepEqual(second, replayed);
      assert.deepEqual(await write(), replayed);

      await assert.rejects(write("another request"), (error: Refusal) => error.reason === "idempotency_reused");
      assert.equal((await write("the request", "key 1", other)).replayed, undefined);
      assert.equal((await write("the request", "key 2")).replayed, undefined);

      await store.close();
      store = await open(place.url, { clock });
      assert.deepEqual(await write(), replayed);
      clock.pass(24 * 60 * 60 * 1000 - 1);
      assert.deepEqual(await write(), replayed);
      clock.pass(1);
      const later = await write("another request");
      assert.equal(later.replayed, undefined);
      assert.deepEqual(await write("another request"), {
        revision: later.revision,
        replayed: `created ${later.result} at ${later.revision}`,
      });
      await store.close();
      await place.drop();
    });

    for (const days of [3, -3]) {
      it(`P7: a key is remembered although the clock was wrong by ${days} days for an hour, on ${database.name}`, async () => {
        const place = await database.create();
        const clock = makeManualClock(Date.UTC(2026, 10, 1));
        const store = await open(place.url, { clock });
        const account = defaultAccount(store);
        let runs = 0;
        const write = (key: string) =>
          store.write(
            contextFor(account),
            (draft) => draft.create(account, "policy", { description: `run ${(runs += 1)}` }).id,
            { key, fingerprint: "the request", answer: (id) => id },
          );
        await write("before");
        clock.step(days * 24 * 60 * 60 * 1000);
        await write("before");
        await write("during");
        clock.pass(60 * 60 * 1000);
        await write("before");
        clock.step(-days * 24 * 60 * 60 * 1000);
        clock.pass(60 * 60 * 1000);
        await write("before");
        await write("during");
        assert.equal(runs, 2);
        await store.close();
        await place.drop();
      });
    }

    it(`P7: a key of the first hours after a long downtime is remembered for 24 hours, through a restart, on ${database.name}`, async () => {
      const place = await database.create();
      const clock = makeManualClock(Date.UTC(2026, 10, 1));
      let runs = 0;
      const write = (store: Store, key: string) =>
        store.write(
          contextFor(defaultAccount(store)),
          (draft) => draft.create(defaultAccount(store), "policy", { description: `run ${(runs += 1)}` }).id,
          { key, fingerprint: "the request", answer: (id) => id },
        );
      let store = await open(place.url, { clock });
      await write(store, "before");
      await store.close();
      clock.step(10 * dayMs);
      store = await open(place.url, { clock });
      clock.pass(hourMs);
      await write(store, "first hour");
      await store.close();
      store = await open(place.url, { clock });
      await passHours(clock, 22);
      await write(store, "first hour");
      assert.equal(runs, 2);
      await passHours(clock, 2);
      // Keys older than a day are deleted.
      await write(store, "first hour");
      await write(store, "before");
      assert.equal(runs, 4);
      await store.close();
      await place.drop();
    });

    it(`P7: a key is remembered although the server started with a clock days ahead that was then corrected, on ${database.name}`, async () => {
      const place = await database.create();
      const clock = makeManualClock(Date.UTC(2026, 10, 1));
      let runs = 0;
      const write = (store: Store, key: string) =>
        store.write(
          contextFor(defaultAccount(store)),
          (draft) => draft.create(defaultAccount(store), "policy", { description: `run ${(runs += 1)}` }).id,
          { key, fingerprint: "the request", answer: (id) => id },
        );
      let store = await open(place.url, { clock });
      await write(store, "before");
      await store.close();
      clock.step(3 * dayMs);
      store = await open(place.url, { clock });
      await write(store, "before");
      await write(store, "during");
      await passHours(clock, 1);
      clock.step(-3 * dayMs);
      await write(store, "before");
      await write(store, "during");
      assert.equal(runs, 2);
      // A key dated in the future is not stored longer than others.
      await passHours(clock, 26);
      await write(store, "during");
      assert.equal(runs, 3);
      await store.close();
      await place.drop();
    });

    it(`a rejected write leaves its key unused, on ${database.name}`, async () => {
      const place = await database.create();
      const store = await open(place.url);
      const account = defaultAccount(store);
      const once = { key: "k", fingerprint: "f", answer: () => "done" };
      const failed = store.write(contextFor(account), () => assert.fail("refused"), once);
      const next = store.write(contextFor(account), (draft) => draft.create(account, "user", { name: "x" }), once);
      await assert.rejects(failed, /refused/);
      assert.equal((await next).replayed, undefined);
      assert.equal((await store.write(contextFor(account), () => 1, once)).replayed, "done");
      await store.close();
      await place.drop();
    });
  });
}
