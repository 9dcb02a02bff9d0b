/** Several nodes on one PostgreSQL: every one writes, every one follows. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Refusal } from "../../src/lib/errors.ts";
import type { Store } from "../../src/storage/store.ts";
import { databases } from "../support/postgres.ts";
import { contextFor, create, defaultAccount } from "./declarations.ts";
import { open } from "./fixture.ts";

const postgres = databases.find(({ name }) => name === "postgres");

/** Resolves when the store serves `revision`. */
function reaches(store: Store, revision: number): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (store.revision >= revision) resolve();
    };
    store.subscribe(look);
    look();
  });
}

async function refusalOf(write: Promise<unknown>): Promise<string> {
  const error: unknown = await write.then(
    () => "nothing was refused",
    (reason: unknown) => reason,
  );
  if (error instanceof Refusal) return error.reason;
  throw error;
}

if (postgres) {
  describe("two nodes on one PostgreSQL", () => {
    it("two nodes write by turns, each on what the other has left, and both have the same", async () => {
      const place = await postgres.create();
      const nodes = [await open(place.url, { cluster: true }), await open(place.url, { cluster: true })] as const;
      const account = defaultAccount(nodes[0]);
      assert.equal(defaultAccount(nodes[1]), account);
      for (let n = 0; n < 20; n += 1) {
        const [writer, other] = n % 2 === 0 ? nodes : ([nodes[1], nodes[0]] as const);
        const made = await create(writer, account, "user", { name: `name ${n}` });
        assert.equal(await refusalOf(create(other, account, "user", { name: `name ${n}` })), "name_taken");
        await reaches(other, writer.revision);
        assert.deepEqual(other.get(account, "user", made.id), made);
      }
      for (const node of nodes) assert.deepEqual(await node.history.verify(), { revisions: node.revision });
      for (const node of nodes) await node.close();
      await place.drop();
    });

    it("two nodes that write as fast as they can give no name twice, leave no hole, and neither starves", async () => {
      const place = await postgres.create();
      const nodes = [await open(place.url, { cluster: true }), await open(place.url, { cluster: true })];
      const account = defaultAccount(nodes[0] as Store);
      const names = 200;
      const won = await Promise.all(
        nodes.map(async (node) => {
          let count = 0;
          for (let n = 0; n < names; n += 4) {
            const writes = Array.from({ length: 4 }, (_, index) =>
              node.write(contextFor(account), (draft) => draft.create(account, "user", { name: `name ${n + index}` })),
            );
            for (const outcome of await Promise.allSettled(writes)) {
              if (outcome.status === "fulfilled") count += 1;
              else assert.equal((outcome.reason as Refusal).reason, "name_taken");
            }
          }
          return count;
        }),
      );
      assert.equal((won[0] as number) + (won[1] as number), names);
      const last = Math.max(...nodes.map(({ revision }) => revision));
      for (const node of nodes) {
        await reaches(node, last);
        assert.equal(node.page(account, "user", { limit: 1000 }).objects.length, names);
        assert.deepEqual(await node.history.verify(), { revisions: names + 1 });
      }
      for (const node of nodes) await node.close();
      await place.drop();
    });
  });
}
