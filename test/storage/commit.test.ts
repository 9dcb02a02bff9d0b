/** Writes: atomic, in order, durable before they are visible. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { systemClock } from "../../src/lib/clock.ts";
import { Refusal } from "../../src/lib/errors.ts";
import type { Commit, Store, StoredObject } from "../../src/storage/store.ts";
import { databases } from "../support/postgres.ts";
import { contextFor, create, defaultAccount } from "./declarations.ts";
import { open } from "./fixture.ts";

for (const database of databases) {
  describe(`writes on ${database.name}`, () => {
    let place: Awaited<ReturnType<typeof database.create>>;
    let store: Store;
    let account: string;

    before(async () => {
      place = await database.create();
      store = await open(place.url);
      account = defaultAccount(store);
    });
    after(async () => {
      await store.close();
      await place.drop();
    });

    it(`P7: writes on ${database.name}: no one sees a write before it is committed, and subscribers see it before the writer gets its response`, async () => {
      const seen: Commit[] = [];
      store.subscribe((commit) => seen.push(commit));
      const first = store.revision;
      const writes = ["a", "b", "c"].map((name) => create(store, account, "user", { name: `order ${name}` }));
      assert.equal(store.revision, first);
      assert.equal(store.holder(account, "user", "order a"), undefined);
      const firstAnswer = writes[0]?.then(() => seen.length);
      const objects = await Promise.all(writes);
      assert.equal(await firstAnswer, 3);
      assert.deepEqual(
        seen.map(({ revision }) => revision),
        [first + 1, first + 2, first + 3],
      );
      assert.deepEqual(
        objects.map(({ revision }) => revision),
        [first + 1, first + 2, first + 3],
      );
      assert.deepEqual(seen[1]?.changes, [{ kind: "user", id: objects[1]?.id, before: undefined, after: objects[1] }]);
      assert.equal(seen[1]?.accountId, account);
    });

    it(`a write sees the writes queued before it, and a rejected one leaves nothing for later ones, on ${database.name}`, async () => {
      const { revision } = store;
      const outcomes = await Promise.allSettled([
        create(store, account, "user", { name: "queued" }),
        store.write(contextFor(account), (draft) => {
          draft.create(account, "user", { name: "left behind" });
          draft.create(account, "user", { name: "queued" });
        }),
        create(store, account, "user", { name: "left behind" }),
        store.write(contextFor(account), (draft) => {
          const holder = draft.holder(account, "user", "queued");
          assert.ok(holder);
          draft.delete(holder);
        }),
        create(store, account, "user", { name: "queued" }),
      ]);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ["fulfilled", "rejected", "fulfilled", "fulfilled", "fulfilled"],
      );
      assert.equal(store.revision, revision + 4);
      assert.equal(
        store.page(account, "user", { limit: 100 }).objects.filter((one) => one.doc["name"] === "queued").length,
        1,
      );
    });

    it(`an error in a write's work rejects only that write, on ${database.name}`, async () => {
      const bug = new Error("a bug");
      const [failed, done] = await Promise.allSettled([
        store.write(contextFor(account), (draft) => {
          draft.create(account, "user", { name: "never" });
          throw bug;
        }),
        create(store, account, "user", { name: "unharmed" }),
      ]);
      assert.equal(failed.status === "rejected" && failed.reason, bug);
      assert.equal(done.status, "fulfilled");
      assert.equal(store.holder(account, "user", "never"), undefined);
    });

    it(`a write that changes nothing creates no revision, on ${database.name}`, async () => {
      const { revision } = store;
      const written = await store.write(contextFor(account), (draft) => {
        draft.delete(draft.create(account, "user", { name: "came and went" }));
        return 7;
      });
      assert.deepEqual(written, { revision, result: 7 });
      assert.equal(store.revision, revision);
    });

    it(`a rehearsal returns the result of a write, and does not perform it, on ${database.name}`, async () => {
      const { revision } = store;
      const object = store.rehearse((draft) => {
        const made = draft.create(account, "user", { name: "rehearsed" });
        assert.equal(draft.holder(account, "user", "rehearsed"), made);
        return made;
      });
      assert.equal(object.revision, revision + 1);
      assert.equal(store.revision, revision);
      assert.equal(store.get(account, "user", object.id), undefined);
      await create(store, account, "user", { name: "taken" });
      assert.throws(() => store.rehearse((draft) => draft.create(account, "user", { name: "taken" })), Refusal);
    });

    it(`writes on ${database.name} reject asynchronous work, and its draft is unusable afterwards`, async () => {
      let late: Promise<unknown> | undefined;
      const failed = store.write(contextFor(account), (draft) => {
        late = Promise.resolve().then(() => draft.create(account, "user", { name: "late" }));
        return late;
      });
      await assert.rejects(failed, /must be synchronous/);
      await assert.rejects(late as Promise<unknown>, /the draft has ended/);
    });

    it(`documents are shared, and therefore read-only, on ${database.name}`, async () => {
      const object = await create(store, account, "edge", { hostports: ["frozen.example.com:443"] });
      const { doc } = object as unknown as { readonly doc: { hostports: string[] } };
      assert.throws(() => doc.hostports.push("more"), TypeError);
      assert.throws(() => void (doc.hostports = []), TypeError);
    });

    it(`a subscriber that throws affects neither the write nor other subscribers, on ${database.name}`, async () => {
      const seen: number[] = [];
      store.subscribe(() => {
        throw new Error("a bug in a subscriber");
      });
      store.subscribe(({ revision }) => seen.push(revision));
      await create(store, account, "user", { name: "subscribed" });
      assert.deepEqual(seen, [store.revision]);
    });

    it(`strings are read back exactly as they were stored, on ${database.name}`, async () => {
      const naughty = [
        "\0",
        "\ud800",
        "\udfff x",
        "__proto__",
        "’“ﷺ",
        "\u2028",
        "a\r\nb",
        "𝒳".repeat(300),
        "'; drop table objects --",
      ];
      const made = [];
      for (const name of naughty) {
        const context = contextFor(account, { reason: `reason ${name}` });
        made.push((await store.write(context, (draft) => draft.create(account, "user", { name }))).result);
      }
      const weights = JSON.parse(`{"${made[0]?.id}": 1}`) as Record<string, number>;
      const vault = await create(store, account, "vault", {
        password: "",
        tokens: naughty,
        named: JSON.parse('{"__proto__": {"value": "x"}, "constructor": {"value": "y"}}'),
        weights,
      });
      await store.close();
      store = await open(place.url);
      for (const object of [...made, vault]) assert.deepEqual(store.get(account, object.kind, object.id), object);
      assert.deepEqual(await store.history.verify(), { revisions: store.revision });
    });

    it(`new ids sort after all existing ones at a start, also when the clock was set back since, on ${database.name}`, async () => {
      const future = `us_${(Date.UTC(2200, 0) * 1000).toString(36).padStart(11, "0")}${"0".repeat(16)}`;
      const seed = store.page(account, "user", { limit: 1 }).objects[0] as StoredObject;
      await store.write(contextFor(account), (draft) =>
        draft.revive({ ...seed, id: future, doc: { name: "from the future" } }),
      );
      await store.close();
      store = await open(place.url, { clock: { ...systemClock, now: () => 1_000_000_000_000 } });
      const object = await create(store, account, "user", { name: "in the past" });
      assert.ok(object.id > future);
      assert.equal(object.created_at, "2001-09-09T01:46:40Z");
    });

    it(`closing finishes queued writes and accepts no more, on ${database.name}`, async () => {
      const queued = create(store, account, "user", { name: "last" });
      const closed = store.close();
      await assert.rejects(create(store, account, "user", { name: "too late" }), Refusal);
      await queued;
      await closed;
      store = await open(place.url);
      assert.ok(store.holder(account, "user", "last"));
    });
  });
}
