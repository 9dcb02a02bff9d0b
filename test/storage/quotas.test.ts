/** D9: quotas of an account, in objects and in bytes. */
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { after, before, beforeEach, describe, it } from "node:test";
import { Refusal } from "../../src/lib/errors.ts";
import type { RefusalName } from "../../src/lib/errors.ts";
import type { Store, StoredObject } from "../../src/storage/store.ts";
import { databases } from "../support/postgres.ts";
import { contextFor, create, defaultAccount } from "./declarations.ts";
import { open } from "./fixture.ts";

const generous = { accountMaxObjects: 1000, ownerMaxObjects: 1000, accountMaxBytes: 1_000_000 };

for (const database of databases) {
  describe(`D9: quotas of an account on ${database.name}`, () => {
    let place: Awaited<ReturnType<typeof database.create>>;
    let store: Store;
    let mine: string;
    before(async () => {
      place = await database.create();
    });
    after(async () => {
      await store.close();
      await place.drop();
    });

    const openWith = async (quotas: Partial<typeof generous>): Promise<void> => {
      store = await open(place.url, { ...generous, ...quotas });
    };
    const reopenWith = async (quotas: Partial<typeof generous>): Promise<void> => {
      await store.close();
      await openWith(quotas);
    };
    let count = 0;
    beforeEach(async () => {
      if (count === 0) await openWith({});
      else await reopenWith({});
      count += 1;
      mine = (await store.createAccount(`account ${count}`)).id;
    });

    const refusal = async (write: Promise<unknown>, reason: RefusalName): Promise<Refusal> => {
      const { revision } = store;
      const error = await write.then(
        () => assert.fail("it was not refused"),
        (error: unknown) => error,
      );
      assert.ok(error instanceof Refusal, String(error));
      assert.equal(error.reason, reason);
      assert.equal(store.revision, revision);
      return error;
    };
    const change = (object: StoredObject, doc: Readonly<Record<string, unknown>>): Promise<unknown> =>
      store.write(contextFor(mine), (draft) => draft.replace(object, doc));
    const remove = (object: StoredObject): Promise<unknown> =>
      store.write(contextFor(mine), (draft) => draft.delete(object));
    const described = (text: string) => ({ description: text });
    /** Returns the bytes that the account stores, from the rejection of a write that is far too large. */
    const bytes = async (): Promise<number> => {
      await reopenWith({ accountMaxBytes: 1 });
      const attempt = create(store, mine, "policy", described("x"));
      return Number((await refusal(attempt, "account_full")).details["present"]);
    };

    it("D9: writes of one commit are counted one after another, each kind and each account separately", async () => {
      await reopenWith({ accountMaxObjects: 4 });
      const names = Array.from({ length: 10 }, (_, index) => `user ${index}`);
      const outcomes = await Promise.allSettled(names.map((name) => create(store, mine, "user", { name })));
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        names.map((_, index) => (index < 4 ? "fulfilled" : "rejected")),
      );
      await create(store, mine, "policy", described("of another kind"));
      const others = defaultAccount(store);
      await create(store, others, "user", { name: `of another account ${count}` });
      const { details, message } = await refusal(create(store, mine, "user", { name: "one more" }), "too_many_objects");
      assert.deepEqual(details, { kind: "user", present: "4", limit: "4", setting: "--account-max-objects" });
      assert.match(message, /has 4 of user, would have 5, and may have 4/);
    });

    it("D9: an owner has a limited number of objects, and deleting objects or the owner frees room", async () => {
      await reopenWith({ ownerMaxObjects: 2 });
      const policy = await create(store, mine, "policy", described(""));
      const rule = (of: StoredObject, cidr: string) => create(store, mine, "rule", { policy_id: of.id, cidr });
      const first = await rule(policy, "10.0.0.0/8");
      await rule(policy, "11.0.0.0/8");
      const { details } = await refusal(rule(policy, "12.0.0.0/8"), "too_many_objects");
      assert.deepEqual(details, { kind: "rule", present: "2", limit: "2", setting: "--owner-max-objects" });
      const other = await create(store, mine, "policy", described(""));
      const moving = await rule(other, "10.0.0.0/8");
      await refusal(change(moving, { policy_id: policy.id, cidr: "12.0.0.0/8" }), "too_many_objects");
      await remove(first);
      await change(moving, { policy_id: policy.id, cidr: "12.0.0.0/8" });
      await remove(policy);
      await rule(other, "12.0.0.0/8");
    });

    it("D9: a write is checked by its result: its deletions make room for its creations", async () => {
      await reopenWith({ accountMaxObjects: 1, accountMaxBytes: 50 });
      const old = await create(store, mine, "policy", described("a".repeat(30)));
      await store.write(contextFor(mine), (draft) => {
        draft.create(mine, "policy", described("b".repeat(30)));
        draft.delete(old);
      });
      const work = (): unknown => store.rehearse((draft) => draft.create(mine, "policy", described("")));
      assert.throws(work, { reason: "too_many_objects" });
    });

    it(`D9: an account over its quota may shrink or stay equal, but not grow, on ${database.name}`, async () => {
      const policy = await create(store, mine, "policy", described("a".repeat(100)));
      const user = await create(store, mine, "user", { name: "long-named" });
      const others = [
        await create(store, mine, "user", { name: "2" }),
        await create(store, mine, "user", { name: "3" }),
      ];
      await reopenWith({ accountMaxObjects: 1 });
      await store.write(contextFor(mine), (draft) => {
        for (const other of others) draft.delete(other);
        draft.create(mine, "user", { name: "in place of two" });
      });
      const [instead] = store.page(mine, "user", { limit: 1 }).objects;
      assert.equal(instead?.doc["name"], "in place of two");
      await remove(instead);
      await reopenWith({ accountMaxObjects: 1, accountMaxBytes: 20 });
      await change(policy, described("b".repeat(100)));
      await change(policy, described("b".repeat(90)));
      await refusal(change(policy, described("b".repeat(91))), "account_full");
      await remove(user);
      await remove(policy);
      await create(store, mine, "user", { name: "short" });
    });

    it(`D9: the bytes of an account are its texts in UTF-8, and deleting owners frees their objects' bytes too, on ${database.name}`, async () => {
      const empty = Buffer.byteLength(JSON.stringify(described("")));
      const policy = await create(store, mine, "policy", described("€".repeat(10)));
      assert.equal(await bytes(), empty + 30);
      await reopenWith({});
      await create(store, mine, "rule", { policy_id: policy.id, cidr: "10.0.0.0/8" });
      assert.ok((await bytes()) > empty + 30);
      await reopenWith({});
      await remove(policy);
      assert.equal(await bytes(), 0);
    });

    it("D9: writes by the server itself are counted and not rejected", async () => {
      await reopenWith({ accountMaxObjects: 1, accountMaxBytes: 40 });
      await create(store, mine, "policy", described(""));
      const principal = { accountId: mine, id: "system" };
      await store.write(contextFor(mine, { principal }), (draft) =>
        draft.create(mine, "policy", described("a".repeat(60))),
      );
      const { details } = await refusal(create(store, mine, "user", { name: "x" }), "account_full");
      assert.equal(details["present"], String(2 * Buffer.byteLength(JSON.stringify(described(""))) + 60));
    });

    it("D9: after random writes, including rejected ones, the counters equal those of a restart", async () => {
      await reopenWith({ accountMaxObjects: 20, ownerMaxObjects: 8, accountMaxBytes: 3000 });
      const everything = (): readonly [readonly StoredObject[], number] => {
        const all = ["policy", "rule"].flatMap((kind) => store.page(mine, kind, { limit: 100 }).objects);
        return [all, all.reduce((sum, { doc }) => sum + Buffer.byteLength(JSON.stringify(doc)), 0)];
      };
      const write = (): Promise<unknown> =>
        store.write(contextFor(mine), (draft) => {
          for (let step = randomInt(1, 4); step > 0; step -= 1) {
            const all = ["policy", "rule"].flatMap((kind) => draft.page(mine, kind, { limit: 100 }).objects);
            const policies = all.filter(({ kind }) => kind === "policy");
            const one = all[randomInt(Math.max(1, all.length))];
            const dice = randomInt(6);
            if (dice === 0 && one) draft.delete(one);
            else if (dice === 1 && one?.kind === "policy") draft.replace(one, described("c".repeat(randomInt(300))));
            else if (dice === 2 || policies.length === 0)
              draft.create(mine, "policy", described("d".repeat(randomInt(300))));
            else {
              const policy_id = (policies[randomInt(policies.length)] as StoredObject).id;
              draft.create(mine, "rule", { policy_id, cidr: `10.0.0.${randomInt(256)}/32` });
            }
          }
        });
      for (let round = 0; round < 30; round += 1) {
        await Promise.allSettled(Array.from({ length: randomInt(1, 12) }, write));
        const [all, present] = everything();
        assert.ok(present <= 3000);
        for (const kind of ["policy", "rule"]) assert.ok(all.filter((one) => one.kind === kind).length <= 20);
        const tooMuch = create(store, mine, "user", { name: "e".repeat(3000) });
        assert.equal((await refusal(tooMuch, "account_full")).details["present"], String(present));
      }
      const [all, present] = everything();
      assert.ok(all.length > 0);
      assert.equal(await bytes(), present);
    });
  });
}
