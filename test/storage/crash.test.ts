/** The database after its process died at any moment. */
import assert from "node:assert/strict";
import { copyFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { databases } from "../support/postgres.ts";
import { startStoreProcess } from "./child.ts";
import { create, defaultAccount } from "./declarations.ts";
import { inDirectory, keepingLog, open } from "./fixture.ts";

for (const database of databases) {
  describe(`a process killed during writes on ${database.name}`, () => {
    it(`S1: a process killed during writes on ${database.name} loses no acknowledged write, and leaves no partial write`, async () => {
      const place = await database.create();
      const acknowledged = new Set<string>();
      for (const [round, writes] of [1, 40, 300, 900].entries()) {
        const child = await startStoreProcess(place.url);
        child.send("flood 16");
        await child.line((_, count) => count > writes);
        await child.kill();
        assert.ok(!child.lines.some((line) => line.startsWith("failed")), child.lines.join("\n"));
        for (const line of child.lines) {
          if (line.startsWith("stored ")) acknowledged.add(line.slice("stored ".length));
        }
        const store = await open(place.url);
        const account = defaultAccount(store);
        const lost = [...acknowledged].filter((name) => !store.holder(account, "user", name));
        assert.deepEqual(lost, [], `round ${round}`);
        assert.deepEqual(await store.history.verify(), { revisions: store.revision });
        const all = [...store.objects(new Set(["user"]))];
        assert.equal(all.length, store.revision - 1, "every write created one user");
        await store.close();
      }
      assert.ok(acknowledged.size > 1200);
      await place.drop();
    });
  });
}

describe("a damaged write-ahead log of SQLite", () => {
  /** Creates a database in the state after a crash: `names` were created one after another and are still in the log. */
  const crashed = async (directory: string, names: readonly string[]): Promise<{ url: string; wal: string }> => {
    const url = join(directory, "original", "postern.db");
    const store = await open(url);
    const account = defaultAccount(store);
    for (const name of names) await create(store, account, "user", { name });
    const copy = join(directory, "postern.db");
    for (const end of ["", "-wal"]) copyFileSync(`${url}${end}`, `${copy}${end}`);
    await store.close();
    return { url: copy, wal: `${copy}-wal` };
  };
  const names = Array.from({ length: 8 }, (_, n) => `user ${n}`);

  const present = async (url: string): Promise<{ readonly found: readonly string[]; readonly warned: unknown[] }> => {
    const { log, lines } = keepingLog();
    const store = await open(url, { log });
    const account = defaultAccount(store);
    const found = names.filter((name) => store.holder(account, "user", name));
    assert.deepEqual(await store.history.verify(), { revisions: store.revision });
    await create(store, account, "user", { name: "afterwards" });
    await store.close();
    const warned = lines.filter(({ event }) => event.startsWith("the end of the database's log is damaged"));
    return { found, warned: warned.map(({ fields }) => fields["droppedCommits"]) };
  };

  it("S2: a damaged write-ahead log of SQLite: a whole log is applied without a message", async () => {
    await inDirectory(async (directory) => {
      const { url } = await crashed(directory, names);
      assert.deepEqual(await present(url), { found: names, warned: [] });
    });
  });

  it("S2: a damaged write-ahead log of SQLite: a log cut off anywhere opens with the writes before the cut, and the cut is logged", async () => {
    for (const share of [0.999, 0.7, 0.35]) {
      await inDirectory(async (directory) => {
        const { url, wal } = await crashed(directory, names);
        truncateSync(wal, Math.floor((readFileSync(wal).length * share) / 4) * 4 - 4);
        const { found, warned } = await present(url);
        assert.deepEqual(found, names.slice(0, found.length));
        assert.ok(found.length < names.length);
        assert.deepEqual(warned, [0]);
      });
    }
  });

  it("S2: a damaged write-ahead log of SQLite: a flipped bit in the log drops the writes from there on, and their number is logged", async () => {
    await inDirectory(async (directory) => {
      const { url, wal } = await crashed(directory, names);
      const log = readFileSync(wal);
      const at = Math.floor(log.length * 0.8);
      log.writeUInt8(log.readUInt8(at) ^ 1, at);
      writeFileSync(wal, log);
      const { found, warned } = await present(url);
      assert.deepEqual(found, names.slice(0, found.length));
      assert.equal(warned[0], names.length - found.length);
      assert.ok(found.length > 0 && found.length < names.length);
    });
  });

  it("S2: a damaged write-ahead log of SQLite: a log with a damaged header leaves the database file unchanged", async () => {
    await inDirectory(async (directory) => {
      const { url, wal } = await crashed(directory, names);
      const store = await open(join(directory, "original", "postern.db"));
      await store.close();
      copyFileSync(join(directory, "original", "postern.db"), url);
      const log = readFileSync(wal);
      log.writeUInt8(log.readUInt8(9) ^ 1, 9);
      writeFileSync(wal, log);
      const { found, warned } = await present(url);
      assert.deepEqual(found, names);
      assert.equal(warned.length, 1);
      assert.ok(dirname(url) === directory);
    });
  });
});
