/** The tables change in atomic steps, and only forwards (S6). */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { sql } from "kysely";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { Database } from "../../src/storage/database/database.ts";
import { migrateTables, migrations, findPendingSteps } from "../../src/storage/opening/migrations.ts";
import type { Migration } from "../../src/storage/opening/migrations.ts";
import { openPostgres } from "../../src/storage/postgres/postgres.ts";
import { openSqlite } from "../../src/storage/sqlite/sqlite.ts";
import { databases } from "../support/postgres.ts";
import { create, defaultAccount } from "./declarations.ts";
import { inDirectory, keepingLog, open } from "./fixture.ts";

async function openDatabase(name: string, url: string): Promise<Database> {
  if (name === "sqlite") return await openSqlite(url, silentLog);
  return await openPostgres({ url, holder: "the test", clock: systemClock, log: silentLog });
}

const lastStep = migrations.at(-1)?.name ?? "";

const addColumn: Migration = {
  name: "9001-add-a-column",
  async up(transaction) {
    await transaction.schema.alterTable("objects").addColumn("note", "text").execute();
    await transaction.schema.createTable("notes").addColumn("id", "text").execute();
  },
};

for (const database of databases) {
  describe(`migrations on ${database.name}`, () => {
    const at = "2026-11-01T00:00:00Z";
    const exists = (opened: Database, what: string): Promise<boolean> =>
      sql`select ${sql.raw(what)} limit 1`.execute(opened.reads).then(
        () => true,
        () => false,
      );

    it(`S6: a step of a migration that fails half-way is undone completely, and runs in the next start, on ${database.name}`, async () => {
      const place = await database.create();
      const store = await open(place.url);
      const user = await create(store, defaultAccount(store), "user", { name: "before" });
      await store.close();
      const opened = await openDatabase(database.name, place.url);
      const half: Migration = {
        name: addColumn.name,
        async up(transaction, types) {
          await addColumn.up(transaction, types);
          await sql`insert into nowhere values (1)`.execute(transaction);
        },
      };
      await assert.rejects(
        migrateTables(opened, [...migrations, half], { at }),
        /step "9001-add-a-column" failed and was rolled back/,
      );
      assert.equal(await exists(opened, "note from objects"), false);
      assert.equal(await exists(opened, "id from notes"), false);
      await migrateTables(opened, [...migrations, addColumn], { at });
      assert.equal(await exists(opened, "note from objects"), true);
      await migrateTables(opened, [...migrations, addColumn], { at });
      const rows = await opened.reads.selectFrom("objects").select("id").where("id", "=", user.id).execute();
      assert.equal(rows.length, 1);
      await opened.close();
      await place.drop();
    });

    it(`S6: a step of a migration that cannot be recorded as done is undone as well, on ${database.name}`, async () => {
      const place = await database.create();
      await (await open(place.url)).close();
      const opened = await openDatabase(database.name, place.url);
      const unnoted: Migration = {
        name: addColumn.name,
        async up(transaction, types) {
          await addColumn.up(transaction, types);
          await transaction.insertInto("migrations").values({ name: addColumn.name, at }).execute();
        },
      };
      await assert.rejects(migrateTables(opened, [...migrations, unnoted], { at }), /failed and was rolled back/);
      assert.equal(await exists(opened, "id from notes"), false);
      await migrateTables(opened, [...migrations, addColumn], { at });
      assert.equal(await exists(opened, "id from notes"), true);
      await opened.close();
      await place.drop();
    });

    it(`S6: a database of a newer version is rejected in one sentence, and not changed, on ${database.name}`, async () => {
      const place = await database.create();
      await (await open(place.url)).close();
      const opened = await openDatabase(database.name, place.url);
      await migrateTables(opened, [...migrations, addColumn], { at });
      const holders = () => opened.reads.selectFrom("head").select("holder").execute();
      const before = await holders();
      await assert.rejects(
        migrateTables(opened, migrations, { at }),
        /^Error: open database: it was written by a newer version of Postern \(step "9001-add-a-column"/,
      );
      await opened.close();
      await assert.rejects(open(place.url), /written by a newer version/);
      const again = await openDatabase(database.name, place.url);
      assert.deepEqual(await again.reads.selectFrom("head").select("holder").execute(), before);
      await again.close();
      await place.drop();
    });

    /** Returns a database that has not taken the last step, which can be repeated, with one user. */
    async function earlierDatabase(): Promise<Awaited<ReturnType<typeof database.create>> & { readonly id: string }> {
      const place = await database.create();
      const store = await open(place.url);
      const user = await create(store, defaultAccount(store), "user", { name: "before" });
      await store.close();
      const opened = await openDatabase(database.name, place.url);
      await opened.transact(async (transaction) => {
        await transaction.deleteFrom("migrations").where("name", "=", lastStep).execute();
      });
      await opened.close();
      return { ...place, id: user.id };
    }

    it(`S6: a start backs up an earlier database before it migrates, and the backup opens, on ${database.name}`, async () => {
      await inDirectory(async (dataDirectory) => {
        const place = await earlierDatabase();
        const { log, lines } = keepingLog();
        const store = await open(place.url, { dataDirectory, log, version: "9.9.9" });
        await create(store, defaultAccount(store), "user", { name: "after" });
        await store.close();
        const backup = `${database.name === "sqlite" ? place.url : join(dataDirectory, "postern.db")}.before-${lastStep}`;
        assert.ok(lines.some(({ event, fields }) => event.startsWith("took a backup") && fields["backup"] === backup));
        assert.equal(statSync(backup).mode & 0o777, 0o600);

        const copy = await openSqlite(backup, silentLog);
        assert.deepEqual(await findPendingSteps(copy, migrations), [lastStep]);
        await copy.close();
        const restored = await open(backup, { dataDirectory, noMigrationBackup: true });
        assert.equal(restored.get(defaultAccount(restored), "user", place.id)?.doc["name"], "before");
        assert.equal(restored.page(defaultAccount(restored), "user", { limit: 10 }).objects.length, 1);
        assert.deepEqual(await restored.history.verify(), { revisions: restored.revision });
        await restored.close();
        await place.drop();
      });
    });

    it(`S6: an older version names the newer one and the backup to restore, on ${database.name}`, async () => {
      await inDirectory(async (dataDirectory) => {
        const place = await earlierDatabase();
        await (await open(place.url, { dataDirectory, version: "9.9.9" })).close();
        const opened = await openDatabase(database.name, place.url);
        await assert.rejects(
          findPendingSteps(opened, migrations.slice(0, -1), "9.9.8"),
          new RegExp(
            `by a newer version of Postern \\(version 9.9.9, step "${lastStep}"\\), and this is version 9.9.8. ` +
              `Start version 9.9.9, or restore "/.*.before-${lastStep}", the backup from before the migration$`,
          ),
        );
        await opened.close();
        await place.drop();
      });
    });

    it(`S6: a start that cannot write its backup migrates nothing, unless a setting disables the backup, on ${database.name}`, async () => {
      await inDirectory(async (dataDirectory) => {
        const place = await earlierDatabase();
        const base = database.name === "sqlite" ? place.url : join(dataDirectory, "postern.db");
        mkdirSync(join(`${base}.before-${lastStep}`, "taken"), { recursive: true });
        await assert.rejects(open(place.url, { dataDirectory }), /back up the database .* --no-migration-backup/);
        const opened = await openDatabase(database.name, place.url);
        assert.deepEqual(await findPendingSteps(opened, migrations), [lastStep]);
        await opened.close();
        await (await open(place.url, { dataDirectory, noMigrationBackup: true })).close();
        assert.deepEqual(readdirSync(`${base}.before-${lastStep}`), ["taken"]);
        assert.ok(!existsSync(`${base}.before-${lastStep}.new`));
        await place.drop();
      });
    });

    it(`fields that were declared after an object was stored have their default, on ${database.name}`, async () => {
      const place = await database.create();
      let store = await open(place.url);
      const account = defaultAccount(store);
      const edge = await create(store, account, "edge", { hostports: [] });
      const route = await create(store, account, "route", { edge_id: edge.id, match: "/" });
      const partial = await create(store, account, "route", { edge_id: edge.id, match: "/", guard: { enabled: true } });
      await store.close();
      store = await open(place.url);
      assert.deepEqual(store.get(account, "route", route.id)?.doc, { edge_id: edge.id, match: "/", guard: null });
      assert.deepEqual(store.get(account, "route", partial.id)?.doc["guard"], {
        enabled: true,
        policy_ids: [],
        client_secret: "",
      });
      await store.close();
      await place.drop();
    });
  });
}
