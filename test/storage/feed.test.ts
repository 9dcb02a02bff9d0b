import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PastChange, Store } from "../../src/storage/store.ts";
import { databases } from "../support/postgres.ts";
import { contextFor, create, defaultAccount } from "./declarations.ts";
import { open } from "./fixture.ts";

const start = { revision: 0, position: -1 };

async function all(store: Store, account: string, limit: number): Promise<PastChange[]> {
  const found: PastChange[] = [];
  for (;;) {
    const more = await store.feed.after(account, found.at(-1)?.at ?? start, { kinds: ["user"], limit });
    if (more.length === 0) return found;
    found.push(...more);
  }
}

for (const database of databases) {
  describe(`the feed of changes on ${database.name}`, () => {
    it(`the feed of changes on ${database.name} has every change of an account once, in order, with the values before and after`, async () => {
      const place = await database.create();
      const store = await open(place.url);
      const account = defaultAccount(store);
      const other = (await store.createAccount("other")).id;
      const user = await create(store, account, "user", { name: "one" });
      await create(store, other, "user", { name: "foreign" });
      await store.write(contextFor(account), (draft) => {
        draft.create(account, "user", { name: "two" });
        draft.replace(user, { name: "one, renamed" });
        draft.create(account, "user", { name: "three" });
      });
      await store.write(contextFor(account), (draft) => draft.delete(user));
      for (const limit of [1, 2, 100]) {
        const changes = await all(store, account, limit);
        assert.deepEqual(
          changes.map(({ before, after }) => [before?.doc["name"], after?.doc["name"]]),
          [
            [undefined, "one"],
            [undefined, "two"],
            ["one", "one, renamed"],
            [undefined, "three"],
            ["one, renamed", undefined],
          ],
        );
      }
      await store.close();
      await place.drop();
    });

    it(`the feed of changes on ${database.name} stores the position of its readers without a separate revision`, async () => {
      const place = await database.create();
      const store = await open(place.url);
      const { revision } = store;
      store.feed.keep("a", { revision: 1, position: 0 });
      store.feed.keep("b", { revision: 1, position: 0 });
      await create(store, defaultAccount(store), "user", { name: "x" });
      store.feed.keep("a", { revision: 2, position: 7 });
      store.feed.keep("b", undefined);
      await store.close();
      const again = await open(place.url);
      assert.equal(again.revision, revision + 1);
      assert.deepEqual([...(await again.feed.cursors())], [["a", { revision: 2, position: 7 }]]);
      assert.deepEqual(await again.history.verify(), { revisions: again.revision });
      await again.close();
      await place.drop();
    });
  });
}
