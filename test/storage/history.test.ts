/** The history: past states, authors, and proof that the record is unchanged. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Store, StoredObject } from "../../src/storage/store.ts";
import { databases } from "../support/postgres.ts";
import { contextFor, create, defaultAccount } from "./declarations.ts";
import { open } from "./fixture.ts";
import { execute, snapshot } from "./sql.ts";

for (const database of databases) {
  describe(`history on ${database.name}`, () => {
    let place: Awaited<ReturnType<typeof database.create>>;
    let store: Store;
    let account: string;
    let other: string;

    before(async () => {
      place = await database.create();
      store = await open(place.url);
      account = defaultAccount(store);
      other = (await store.createAccount("other")).id;
    });
    after(async () => {
      await store.close();
      await place.drop();
    });

    it(`history on ${database.name} returns an object as of any revision`, async () => {
      const made = await create(store, account, "user", { name: "one" });
      const renamed = (await store.write(contextFor(account), (draft) => draft.replace(made, { name: "two" }))).result;
      const { revision } = await store.write(contextFor(account), (draft) => draft.delete(renamed));
      const at = (when: number, who = account) => store.history.objectAt(when, who, "user", made.id);
      assert.equal(await at(made.revision - 1), undefined);
      assert.deepEqual(await at(made.revision), made);
      assert.deepEqual(await at(renamed.revision), renamed);
      assert.deepEqual(await at(revision - 1), renamed);
      assert.equal(await at(revision), undefined);
      assert.equal(await at(renamed.revision, other), undefined);
    });

    it(`history on ${database.name} pages through a kind as of a revision`, async () => {
      const policy = await create(store, account, "policy", { description: "paged" });
      const rules = [];
      for (let n = 0; n < 5; n += 1) {
        rules.push(await create(store, account, "rule", { policy_id: policy.id, cidr: `10.${n}.0.0/16` }));
      }
      const then = store.revision;
      await create(store, account, "rule", { policy_id: policy.id, cidr: "172.16.0.0/12" });
      await store.write(contextFor(account), (draft) => draft.delete(policy));
      const page = (request: { limit: number; beforeId?: string; parentId?: string }, who = account) =>
        store.history.pageAt(then, who, "rule", request);
      assert.deepEqual(await page({ limit: 2 }), { objects: [rules[4], rules[3]], more: true });
      const beforeId = rules[3]?.id as string;
      assert.deepEqual(await page({ limit: 3, beforeId }), { objects: [rules[2], rules[1], rules[0]], more: false });
      assert.deepEqual(await page({ limit: 1, parentId: policy.id }), { objects: [rules[4]], more: true });
      assert.deepEqual(await page({ limit: 1, parentId: "po_other" }), { objects: [], more: false });
      assert.deepEqual(await page({ limit: 5 }, other), { objects: [], more: false });
    });

    it(`D9: history on ${database.name} returns the children of many owners as of a revision, and reads the kind once`, async () => {
      const policies: StoredObject[] = [];
      for (let n = 0; n < 3; n += 1)
        policies.push(await create(store, account, "policy", { description: `owner ${n}` }));
      await store.write(contextFor(account), (draft) => {
        for (let n = 0; n < 450; n += 1) {
          const cidr = `10.${Math.trunc(n / 250)}.${n % 250}.0/24`;
          draft.create(account, "rule", { policy_id: policies[n % 3]?.id, cidr });
        }
      });
      const then = store.revision;
      await store.write(contextFor(account), (draft) => draft.delete(policies[0] as StoredObject));
      const [first, second] = policies as [StoredObject, StoredObject];
      const found = await store.history.childrenAt(then, account, "rule", new Set([first.id, second.id, "po_none"]));
      assert.deepEqual(new Set(found.keys()), new Set([first.id, second.id]));
      for (const { id } of [first, second]) {
        const { objects } = await store.history.pageAt(then, account, "rule", { limit: 1000, parentId: id });
        assert.equal(objects.length, 150);
        assert.deepEqual(found.get(id), objects.toReversed());
      }
      assert.equal((await store.history.childrenAt(store.revision, account, "rule", new Set([first.id]))).size, 0);
    });

    it(`P6: history on ${database.name} lists the author of each write, and its changes`, async () => {
      const context = contextFor(account, { operation: "renameUser", reason: "asked to" });
      const made = await create(store, account, "user", { name: "listed" });
      const { result: renamed } = await store.write(context, (draft) => draft.replace(made, { name: "renamed" }));
      await create(store, other, "user", { name: "elsewhere" });
      const { revisions, more } = await store.history.revisions(account, { limit: 1 });
      assert.equal(more, true);
      const [last] = revisions;
      assert.ok(last);
      const { hash, at, ...rest } = last;
      assert.match(hash, /^[0-9a-f]{64}$/);
      assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      assert.deepEqual(rest, {
        revision: renamed.revision,
        account_id: account,
        principal: "ak_test",
        operation: "renameUser",
        operation_id: context.operationId,
        source: "192.0.2.7",
        reason: "asked to",
      });
      assert.deepEqual(await store.history.changesOf(account, renamed.revision), [
        { kind: "user", id: made.id, before: made, after: renamed },
      ]);
      assert.deepEqual(await store.history.changesOf(other, renamed.revision), []);
      const { revisions: older } = await store.history.revisions(account, { limit: 1, before: last.revision });
      assert.equal(older[0]?.revision, made.revision);
      const { revisions: all } = await store.history.revisions(account, { limit: 1000 });
      assert.equal(all.at(-1)?.operation, "createAccount");
    });

    it(`history on ${database.name} returns the changes since a revision, with the values of that time`, async () => {
      const stays = await create(store, account, "user", { name: "stays" });
      const goes = await create(store, account, "user", { name: "goes" });
      const then = store.revision;
      const added = await create(store, account, "user", { name: "added" });
      await store.write(contextFor(account), (draft) => draft.delete(goes));
      await store.write(contextFor(account), (draft) => draft.replace(stays, { name: "stayed" }));
      await store.write(contextFor(account), (draft) => draft.replace(added, { name: "added twice" }));
      assert.deepEqual(await store.history.changedSince(account, then, 10), [
        { kind: "user", id: added.id, past: undefined },
        { kind: "user", id: goes.id, past: goes },
        { kind: "user", id: stays.id, past: stays },
      ]);
      assert.equal((await store.history.changedSince(account, then, 2)).length, 2);
    });

    it(`P6: a record that was altered, removed, truncated or inserted breaks the chain, on ${database.name}`, async () => {
      const { revision } = store;
      assert.deepEqual(await store.history.verify(), { revisions: revision });
      const tampered: readonly (readonly [string, number])[] = [
        [`update revisions set principal = 'ak_other' where revision = 3`, 3],
        [`update history set doc = '{"name":"forged"}' where revision = 3`, 3],
        [`delete from history where revision = 4`, 4],
        [`delete from revisions where revision = 5`, 5],
        [`delete from revisions where revision = ${revision}`, revision],
        [`update head set revision = ${revision - 1}`, revision - 1],
      ];
      for (const [sql, brokenAt] of tampered) {
        await store.close();
        const undo = await snapshot(database.name, place.url, ["head", "revisions", "history"]);
        await execute(database.name, place.url, sql);
        if (sql.includes(`revision = ${revision}`) || sql.includes("head")) {
          await assert.rejects(open(place.url), /it is damaged/);
        } else {
          store = await open(place.url);
          assert.deepEqual(await store.history.verify(), { revisions: brokenAt - 1, brokenAt }, sql);
          await store.close();
        }
        await undo();
        store = await open(place.url);
      }
      assert.deepEqual(await store.history.verify(), { revisions: revision });
    });
  });
}
