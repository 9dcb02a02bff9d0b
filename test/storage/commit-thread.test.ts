/** The thread that makes SQLite's commits. Other work continues while it waits for the disk, and it may die. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import type { Worker } from "node:worker_threads";
import { create, defaultAccount } from "./declarations.ts";
import { inDirectory, open } from "./fixture.ts";
import { logFailuresTo } from "../../src/lib/boundary.ts";
import type { Store } from "../../src/storage/store.ts";

/** Opens a store with the commit thread. */
async function openWithThread(url: string): Promise<{ readonly store: Store; readonly thread: Worker }> {
  const made = once(process, "worker") as Promise<[Worker]>;
  const store = await open(url);
  const [thread] = await made;
  return { store, thread };
}

describe("the commit thread", () => {
  it("the commit thread does not block reads while a commit waits, and no one sees that commit before it is made", async () => {
    await inDirectory(async (directory) => {
      const url = `${directory}/postern.db`;
      const store = await open(url);
      const account = defaultAccount(store);
      const kept = await create(store, account, "user", { name: "kept" });
      const other = new DatabaseSync(url);
      other.exec("begin immediate");
      let stored = false;
      const write = create(store, account, "user", { name: "waits" }).then(() => (stored = true));
      for (let turn = 0; turn < 100; turn += 1) {
        await new Promise(setImmediate);
        assert.equal(store.get(account, "user", kept.id), kept);
        assert.equal((await store.history.objectAt(store.revision, account, "user", kept.id))?.id, kept.id);
        assert.equal(store.holder(account, "user", "waits"), undefined);
      }
      assert.equal(stored, false);
      other.exec("rollback");
      other.close();
      await write;
      assert.ok(store.holder(account, "user", "waits"));
      await store.close();
    });
  });

  it("D9: the commit thread is terminated when it does not answer for a minute, and another one commits", async (test) => {
    await inDirectory(async (directory) => {
      const url = `${directory}/postern.db`;
      const { store, thread } = await openWithThread(url);
      const account = defaultAccount(store);
      await create(store, account, "user", { name: "before" });
      const other = new DatabaseSync(url);
      // SQLite waits for the lock, and the thread waits with SQLite.
      other.exec("begin immediate");
      const reported: string[] = [];
      logFailuresTo({ error: (_event, { error }) => void reported.push((error as Error).message) });
      test.mock.timers.enable({ apis: ["setTimeout"] });
      const write = create(store, account, "user", { name: "during" })
        .then(() => "stored")
        .catch(() => "refused");
      const exited = once(thread, "exit").then(() => true);
      let hasExited = false;
      while (!hasExited) {
        test.mock.timers.tick(60_000);
        const turn = new Promise<false>((resolve) => setImmediate(() => resolve(false)));
        hasExited = await Promise.race([exited, turn]);
      }
      test.mock.timers.reset();
      other.exec("rollback");
      other.close();
      await write;
      await create(store, account, "user", { name: "after" });
      assert.ok(store.holder(account, "user", "after"));
      assert.deepEqual(new Set(reported), new Set(["the commit thread hangs, ending it"]));
      await store.close();
    });
  });

  it("the commit thread is restarted after it has died", async () => {
    await inDirectory(async (directory) => {
      const { store, thread } = await openWithThread(`${directory}/postern.db`);
      const account = defaultAccount(store);
      await create(store, account, "user", { name: "before" });
      await thread.terminate();
      await create(store, account, "user", { name: "after" });
      assert.deepEqual(await store.history.verify(), { revisions: store.revision });
      await store.close();
    });
  });

  it("the commit thread dies during a write, and the write's response matches the database", async () => {
    await inDirectory(async (directory) => {
      const url = `${directory}/postern.db`;
      const { store, thread } = await openWithThread(url);
      const account = defaultAccount(store);
      const { revision } = store;
      const other = new DatabaseSync(url);
      other.exec("begin immediate");
      const write = create(store, account, "user", { name: "lost" });
      for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
      const dying = thread.terminate();
      other.exec("rollback");
      other.close();
      const outcome = await write.then(
        () => "stored",
        () => "refused",
      );
      await dying;
      const isStored = outcome === "stored";
      assert.equal(store.revision, isStored ? revision + 1 : revision);
      assert.equal(store.holder(account, "user", "lost") !== undefined, isStored);
      await create(store, account, "user", { name: "next" });
      assert.deepEqual(await store.history.verify(), { revisions: store.revision });
      await store.close();
      const again = await open(url);
      assert.equal(again.holder(account, "user", "lost") !== undefined, isStored);
      await again.close();
    });
  });
});
