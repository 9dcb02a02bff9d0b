/** A database that is moved to another one of either kind stays the same. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { after, before, describe, it } from "node:test";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { movedTables } from "../../src/storage/database/table-copy.ts";
import { moveDatabase } from "../../src/storage/move/move.ts";
import type { Moved, MoveOptions } from "../../src/storage/move/move.ts";
import type { Store } from "../../src/storage/store.ts";
import { makeManualClock } from "../support/clock.ts";
import { databases } from "../support/postgres.ts";
import type { TestDatabase } from "../support/postgres.ts";
import { contextFor, create, declarations, defaultAccount, emptyVault, sealingKey } from "./declarations.ts";
import { inDirectory, keepingLog, open } from "./fixture.ts";
import { execute } from "./sql.ts";

type Place = Awaited<ReturnType<TestDatabase["create"]>>;

const dayMs = 24 * 60 * 60 * 1000;
const kinds = new Set(["account", "user", "policy", "vault"]);
const once = { key: "one — key", fingerprint: "f", answer: () => "the answer" };

function move(from: string, to: string, more: Partial<MoveOptions> = {}): Promise<Moved> {
  return moveDatabase({
    from,
    to,
    dataDirectory: "/",
    declarations,
    sealingKeys: [sealingKey],
    clock: systemClock,
    log: silentLog,
    progress: () => undefined,
    ...more,
  });
}

/** Creates rows in every table to move. A part of the history is pruned, and the rest exceeds one read. */
async function fill(url: string, cluster: boolean): Promise<void> {
  const clock = makeManualClock();
  const first = await open(url, { clock });
  const early = defaultAccount(first);
  await create(first, early, "user", { name: "gone" });
  for (const { id } of first.page(early, "user", { limit: 1 }).objects) {
    await first.write(contextFor(early), (draft) => draft.delete(draft.get(early, "user", id) as never));
  }
  await create(first, early, "policy", { description: "kept from the beginning" });
  await first.close();
  clock.step(20 * dayMs);
  const { log, lines } = keepingLog();
  const store = await open(url, { clock, log, historyDays: 10, clockConfirmed: clock.now() });
  const account = defaultAccount(store);
  await create(store, account, "vault", emptyVault({ password: "s3cret", tokens: ["a", "b"] }));
  await store.write(contextFor(account), (draft) => {
    for (let n = 0; n < 1200; n += 1) draft.create(account, "user", { name: `user ${n} 'ünïcode' 🦊` });
  });
  store.feed.keep("a reader", { revision: 3, position: 1 });
  // Pruning is announced two hours before.
  clock.pass(11 * 60 * 1000);
  for (let turn = 1; !lines.some(({ event }) => event === "history pruned"); turn += 1) {
    clock.pass(turn % 5 === 0 && turn <= 250 ? 10 * 60 * 1000 : 25);
    await delay(1);
  }
  await store.write(contextFor(account, { reason: "so" }), () => "done", once);
  await store.close();
  if (cluster) await (await open(url, { cluster })).close();
}

/** Returns all readable data of a store. */
async function seen(store: Store): Promise<unknown> {
  const account = defaultAccount(store);
  const all = {
    revision: store.revision,
    oldest: store.history.oldest,
    objects: [...store.objects(kinds)].toSorted((one, other) => (one.id < other.id ? -1 : 1)),
    revisions: await store.history.revisions(account, { limit: 100 }),
    changes: await store.history.changesOf(account, store.history.oldest),
    cursors: [...(await store.feed.cursors())],
    verified: await store.history.verify(),
    replayed: await store.write(contextFor(account), () => "another", once),
  };
  return JSON.parse(JSON.stringify(all)) as unknown;
}

const combinations: readonly (readonly [TestDatabase, TestDatabase])[] = databases.flatMap((from) =>
  databases.filter((to) => from !== to || to.name === "postgres").map((to) => [from, to] as const),
);

for (const [from, to] of combinations) {
  describe(`a move from ${from.name} to ${to.name}`, () => {
    let source: Place;
    let target: Place;
    before(async () => {
      [source, target] = await Promise.all([from.create(), to.create()]);
      await fill(source.url, from.name === "postgres");
    });
    after(() => Promise.all([source.drop(), target.drop()]));

    it(`S2: a move from ${from.name} to ${to.name} that ends half-way leaves nothing in the target`, async () => {
      for (const at of ["data_keys", "head"] satisfies (keyof typeof movedTables)[]) {
        const progress = (table: string): void => {
          if (table === at) throw new Error("it ends here");
        };
        await assert.rejects(move(source.url, target.url, { progress }), /it ends here/);
        if (to.name === "postgres") {
          assert.deepEqual(
            await execute(to.name, target.url, "select tablename from pg_tables where schemaname = 'public'"),
            [],
          );
        } else assert.ok(!existsSync(target.url));
      }
    });

    it(`S1: a move from ${from.name} to ${to.name} copies everything, and leaves the source unchanged`, async () => {
      const moved = await move(source.url, target.url);
      for (const [table, { rows }] of Object.entries(moved.tables)) {
        const [counted] = await execute(from.name, source.url, `select count(*) as rows from ${table}`);
        assert.equal(Number(counted?.["rows"]), rows, table);
      }
      for (const table of ["objects", "history", "revisions", "idempotency", "cursors", "anchor", "data_keys"] as const)
        assert.ok(moved.tables[table].rows > 0, table);
      const stayed = await open(source.url);
      const was = await seen(stayed);
      await stayed.close();
      const arrived = await open(target.url);
      assert.deepEqual(await seen(arrived), was);
      assert.equal(arrived.revision, moved.revision);
      const account = defaultAccount(arrived);
      const [vault] = arrived.page(account, "vault", { limit: 1 }).objects;
      assert.equal(vault?.doc["password"], "s3cret");
      await create(arrived, account, "user", { name: "afterwards" });
      assert.deepEqual(await arrived.history.verify(), { revisions: arrived.revision });
      await arrived.close();
    });
  });
}

for (const database of databases) {
  describe(`a move on ${database.name}`, () => {
    let source: Place;
    let target: Place;
    before(async () => {
      [source, target] = await Promise.all([database.create(), database.create()]);
      await (await open(source.url)).close();
    });
    after(() => Promise.all([source.drop(), target.drop()]));

    it(`a move on ${database.name} is rejected while a server uses the source, and if source and target are the same`, async () => {
      const store = await open(source.url);
      await assert.rejects(move(source.url, target.url), /another process has it open/);
      await store.close();
      await assert.rejects(move(source.url, source.url), /the same/);
    });

    it(`a move on ${database.name} is rejected from a database of another version, and from a file that is not a database`, async () => {
      await execute(database.name, source.url, "delete from migrations where name = '0006-presence'");
      await assert.rejects(move(source.url, target.url), /older version.*start this version on it once/);
      await execute(database.name, source.url, "insert into migrations (name, at) values ('0006-presence', '')");
      await execute(database.name, source.url, "insert into migrations (name, at) values ('9999-later', '')");
      await assert.rejects(move(source.url, target.url), /newer version.*9999-later/);
      await execute(database.name, source.url, "delete from migrations where name = '9999-later'");
      const none = await database.create();
      await execute(database.name, none.url, "create table others (id text)");
      await assert.rejects(move(none.url, target.url), /not a Postern database/);
      await none.drop();
    });

    it(`K4: a move on ${database.name} with another sealing key is rejected`, async () => {
      const sealingKeys = [Buffer.alloc(32, 8)];
      await assert.rejects(move(source.url, target.url, { sealingKeys }), /sealed under the key/);
    });

    it(`P6: a move on ${database.name} reports where a history is damaged, and requires an empty target`, async () => {
      await execute(database.name, source.url, "update revisions set principal = 'ak_other' where revision = 1");
      assert.equal((await move(source.url, target.url)).brokenAt, 1);
      await assert.rejects(move(source.url, target.url), /target is not empty/);
    });
  });
}

describe("a move", () => {
  it("a move from a missing file creates none, and a failed move removes the file that it created", async () => {
    await inDirectory(async (directory) => {
      const [from, to] = [join(directory, "from.db"), join(directory, "to.db")];
      await assert.rejects(move(from, to), /there is no file/);
      assert.ok(!existsSync(from) && !existsSync(to));
      await (await open(from)).close();
      await assert.rejects(move(from, to, { sealingKeys: [] }), /no sealing key/);
      assert.ok(!existsSync(to) && !existsSync(`${to}.lock`));
    });
  });

  const postgres = databases.find(({ name }) => name === "postgres");
  if (!postgres) return;

  it("S1: a move is undone if the target changes the data", async () => {
    const [source, target] = [await databases[0]?.create(), await postgres.create()];
    assert.ok(source);
    await (await open(source.url)).close();
    // Every stored revision gets another principal.
    await execute(
      "postgres",
      target.url,
      `create function alter_row() returns trigger language plpgsql as $$ begin new.principal := 'x'; return new; end $$`,
      `create function watch() returns event_trigger language plpgsql as $$ begin
         if to_regclass('revisions') is not null and not exists (select from pg_trigger where tgname = 'alters') then
           create trigger alters before insert on revisions for each row execute function alter_row();
         end if; end $$`,
      "create event trigger watches on ddl_command_end when tag in ('CREATE TABLE') execute function watch()",
    );
    await assert.rejects(move(source.url, target.url), /does not store the rows of "revisions" unchanged/);
    assert.deepEqual(await execute("postgres", target.url, "select to_regclass('objects') as there"), [
      { there: null },
    ]);
    await source.drop();
    await target.drop();
  });
});
