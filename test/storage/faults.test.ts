/** A database that fails: the errors of writers, the data of readers, and recovery. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { describe, it } from "node:test";
import { sql } from "kysely";
import type { CompiledQuery, KyselyPlugin } from "kysely";
import { Client } from "pg";
import { systemClock } from "../../src/lib/clock.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { Refusal } from "../../src/lib/errors.ts";
import { silentLog } from "../../src/lib/log.ts";
import { CommitInDoubt } from "../../src/storage/database/database.ts";
import type { Database, Transaction } from "../../src/storage/database/database.ts";
import { openStoreOn } from "../../src/storage/opening/open-store.ts";
import { openPostgres } from "../../src/storage/postgres/postgres.ts";
import { openSqlite } from "../../src/storage/sqlite/sqlite.ts";
import type { Commit, Store } from "../../src/storage/store.ts";
import { eventually } from "../support/eventually.ts";
import { databases, startPostgres } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";
import { startStoreProcess } from "./child.ts";
import { contextFor, create, declarations, defaultAccount, emptyVault, sealingKey } from "./declarations.ts";
import { closedAtEnd, inDirectory, keepingLog, open } from "./fixture.ts";

const holder = "the test";

async function openDatabase(name: string, url: string): Promise<Database> {
  if (name === "sqlite") return await openSqlite(url, silentLog);
  return await openPostgres({ url, holder, clock: systemClock, log: silentLog });
}

function openOn(database: Database, clock: Clock = systemClock): Promise<Store> {
  return closedAtEnd(openStoreOn(database, holder, { declarations, sealingKey, clock, log: silentLog }));
}

/** Makes the query fail that reduces `left` to 0. */
function failing(database: Database, fault: { left: number }): Database {
  const count = (): void => {
    fault.left -= 1;
    if (fault.left === 0) throw new Error("injected");
  };
  const plugin: KyselyPlugin = {
    transformQuery({ node }) {
      count();
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  return {
    dialect: database.dialect,
    reads: database.reads.withPlugin(plugin),
    transact: (work) =>
      database.transact((transaction) => {
        const counted = transaction.withPlugin(plugin) as Transaction;
        const execute = counted.executeQuery.bind(counted);
        counted.executeQuery = async (query: CompiledQuery<never>) => {
          count();
          return await execute(query);
        };
        return work(counted);
      }),
    store(steps) {
      const at = fault.left - 1;
      fault.left -= steps.length;
      if (at < 0 || at >= steps.length) return database.store(steps);
      return database.store(steps.with(at, { sql: "injected", parameters: [] }));
    },
    close: () => database.close(),
  };
}

function everything(store: Store): readonly unknown[] {
  const kinds = new Set(["account", ...declarations.resources.map(({ name }) => name)]);
  return [...store.objects(kinds)].sort((a, b) => (a.id < b.id ? -1 : 1));
}

async function isUnavailable(write: Promise<unknown>): Promise<void> {
  await assert.rejects(write, (error: Refusal) => {
    assert.ok(error instanceof Refusal, String(error));
    return error.reason === "write_unavailable";
  });
}

for (const database of databases) {
  describe(`a failing database: ${database.name}`, () => {
    it("S1: commits are on disk before their response, whatever the server's default is", async () => {
      const place = await database.create();
      if (database.name === "postgres") {
        await execute(place.url, `alter database ${new URL(place.url).pathname.slice(1)} set synchronous_commit = off`);
      }
      const opened = await openDatabase(database.name, place.url);
      const query = database.name === "sqlite" ? sql`pragma synchronous` : sql`show synchronous_commit`;
      const { rows } = await opened.transact((transaction) => query.execute(transaction));
      assert.deepEqual(Object.values(rows[0] as object), [database.name === "sqlite" ? 2 : "on"]);
      if (database.name === "sqlite") {
        const store = await openOn(opened);
        const sql = "insert into cursors select 'synchronous', synchronous, 0 from pragma_synchronous";
        await opened.store([{ sql, parameters: [], changes: 1 }]);
        assert.equal((await store.feed.cursors()).get("synchronous")?.revision, 2);
        await store.close();
      } else await opened.close();
      await place.drop();
    });

    it("a first start that fails at any query leaves a database that the next start can use", async () => {
      /** Returns whether the first start failed at its `nth` query. */
      const failsAt = async (nth: number): Promise<boolean> => {
        const place = await database.create();
        const first = openOn(failing(await openDatabase(database.name, place.url), { left: nth }));
        const outcome = await first.then(
          (store) => store,
          (error: unknown) => error as Error,
        );
        if (outcome instanceof Error) assert.match(causes(outcome), /injected/);
        else await outcome.close();
        const store = await open(place.url);
        assert.deepEqual(
          store.accounts().map(({ name }) => name),
          ["default"],
        );
        assert.deepEqual(await store.history.verify(), { revisions: 1 });
        await store.close();
        await place.drop();
        return outcome instanceof Error;
      };
      // Several starts run at the same time, because most of their time is spent waiting for the database.
      const atOnce = 8;
      const failed: boolean[] = [];
      while (!failed.includes(false)) {
        const from = failed.length + 1;
        failed.push(...(await Promise.all(Array.from({ length: atOnce }, (_, index) => failsAt(from + index)))));
      }
      const failures = failed.indexOf(false);
      assert.ok(!failed.includes(true, failures), "fewer queries than that are never more");
      assert.ok(failures > 20, `${failures} queries failed`);
    });

    it("a commit that fails at any query changes nothing, and the next one works", async () => {
      const place = await database.create();
      const fault = { left: 0 };
      // Disables the store's own retries, which would also run into the faults.
      const clock: Clock = { ...systemClock, after: () => ({ cancel: () => undefined }) };
      const store = await openOn(failing(await openDatabase(database.name, place.url), fault), clock);
      const account = defaultAccount(store);
      const doomed = await create(store, account, "user", { name: "doomed" });
      const seen: Commit[] = [];
      store.subscribe((commit) => seen.push(commit));
      const batch = (): Promise<PromiseSettledResult<unknown>[]> =>
        Promise.allSettled([
          create(store, account, "vault", emptyVault({ password: "secret" })),
          store.write(contextFor(account), (draft) => draft.delete(doomed)),
          store.write(contextFor(account), (draft) => draft.create(account, "policy", { description: "" }), {
            key: "k",
            fingerprint: "f",
            answer: () => "done",
          }),
          create(store, account, "user", { name: "doomed" }),
        ]);
      let failures = 0;
      for (; ; failures += 1) {
        const before = { revision: store.revision, objects: everything(store) };
        fault.left = failures + 1;
        const outcomes = await batch();
        if (outcomes.every(({ status }) => status === "fulfilled")) break;
        for (const outcome of outcomes) {
          assert.ok(outcome.status === "rejected" && outcome.reason instanceof Refusal);
          assert.equal(outcome.reason.reason, "write_unavailable");
        }
        assert.equal(store.condition, "unavailable");
        assert.deepEqual({ revision: store.revision, objects: everything(store) }, before);
        assert.deepEqual(seen, []);
      }
      assert.ok(failures >= 6, `${failures} queries failed`);
      assert.equal(store.condition, "open");
      assert.equal(seen.length, 4);
      const last = everything(store);
      await store.close();
      const again = await open(place.url);
      assert.deepEqual(everything(again), last);
      assert.deepEqual(await again.history.verify(), { revisions: again.revision });
      await again.close();
      await place.drop();
    });

    it("a rejection caused by a write that could not be stored is replaced", async () => {
      const place = await database.create();
      const fault = { left: 0 };
      const store = await openOn(failing(await openDatabase(database.name, place.url), fault));
      const account = defaultAccount(store);
      fault.left = 2;
      const outcomes = await Promise.allSettled([
        create(store, account, "user", { name: "taken?" }),
        create(store, account, "user", { name: "taken?" }),
      ]);
      for (const outcome of outcomes) {
        assert.equal(outcome.status === "rejected" && (outcome.reason as Refusal).reason, "write_unavailable");
      }
      await store.close();
      await place.drop();
    });

    for (const stored of [true, false]) {
      it(`a commit without a response that was ${stored ? "" : "not "}stored is answered correctly`, async () => {
        const place = await database.create();
        const fault = { next: false };
        const inner = await openDatabase(database.name, place.url);
        const store = await openOn(inDoubt(inner, fault, stored));
        const account = defaultAccount(store);
        const { revision } = store;
        fault.next = true;
        const write = create(store, account, "user", { name: "in doubt" });
        if (stored) await write;
        else await isUnavailable(write);
        assert.equal(store.revision, stored ? revision + 1 : revision);
        assert.equal(store.holder(account, "user", "in doubt") !== undefined, stored);
        await create(store, account, "user", { name: "next" });
        assert.deepEqual(await store.history.verify(), { revisions: store.revision });
        await store.close();
        await place.drop();
      });
    }

    it("a commit with a late outcome is rejected as unknown, and visible after the outcome is known", async () => {
      const place = await database.create();
      let elapsed = 0;
      const clock: Clock = {
        ...systemClock,
        monotonic: () => elapsed,
        after(delayMs, run) {
          elapsed += delayMs;
          setImmediate(run);
          return { cancel: () => undefined };
        },
      };
      const fault = { next: false, down: false };
      const store = await openOn(inDoubt(await openDatabase(database.name, place.url), fault, true), clock);
      const account = defaultAccount(store);
      const seen: number[] = [];
      store.subscribe(({ revision }) => seen.push(revision));
      const { revision } = store;
      fault.next = true;
      fault.down = true;
      await assert.rejects(create(store, account, "user", { name: "unknown" }), /read the object before you retry/);
      assert.ok(elapsed >= 10_000);
      await isUnavailable(create(store, account, "user", { name: "refused" }));
      assert.equal(store.holder(account, "user", "unknown"), undefined);
      fault.down = false;
      await create(store, account, "user", { name: "next" });
      assert.ok(store.holder(account, "user", "unknown"));
      assert.deepEqual(seen, [revision + 1, revision + 2]);
      await store.close();
      await place.drop();
    });

    if (database.name === "postgres") {
      it("S1: a lone server whose database has lost its last writes continues with the rest after verification", async () => {
        const place = await database.create();
        const store = await openOn(await openDatabase(database.name, place.url));
        const account = defaultAccount(store);
        const kept = await create(store, account, "user", { name: "kept" });
        const head = (await execute(place.url, "select revision, hash from head")) as Record<
          "revision" | "hash",
          string
        >;
        await create(store, account, "user", { name: "lost" });
        await create(store, account, "user", { name: "lost as well" });
        const told: (string | undefined)[] = [];
        store.subscribe(({ changes }) =>
          told.push(...changes.map(({ before, after }) => (after ?? before)?.doc["name"] as string)),
        );
        for (const table of ["objects", "history", "revisions"]) {
          await execute(place.url, `delete from ${table} where revision > ${head.revision}`);
        }
        await execute(place.url, `update head set revision = ${head.revision}, hash = '${head.hash}'`);
        const next = await create(store, account, "user", { name: "next" });
        assert.equal(next.revision, Number(head.revision) + 1);
        assert.deepEqual(told, ["lost", "lost as well", "next"]);
        const names = [...store.objects(new Set(["user"]))].map(({ doc }) => doc["name"]);
        assert.deepEqual(new Set(names), new Set([kept.doc["name"], "next"]));
        assert.equal(store.condition, "open");
        assert.deepEqual(await store.history.verify(), { revisions: store.revision });
        await store.close();
        await place.drop();
      });

      it("P6: a lone server whose database has lost writes and is also damaged stores nothing", async () => {
        const place = await database.create();
        const store = await openOn(await openDatabase(database.name, place.url));
        const account = defaultAccount(store);
        await create(store, account, "user", { name: "altered" });
        const head = (await execute(place.url, "select revision, hash from head")) as Record<
          "revision" | "hash",
          string
        >;
        await create(store, account, "user", { name: "lost" });
        for (const table of ["objects", "history", "revisions"]) {
          await execute(place.url, `delete from ${table} where revision > ${head.revision}`);
        }
        await execute(place.url, `update head set revision = ${head.revision}, hash = '${head.hash}'`);
        await execute(place.url, `update history set doc = '{"name":"x"}' where revision = ${head.revision}`);
        await assert.rejects(create(store, account, "user", { name: "next" }), (error: Error) =>
          /its history is damaged at revision \d+; restore a backup/.test(causes(error)),
        );
        assert.equal(store.condition, "unavailable");
        await store.close();
        await place.drop();
      });
    }

    it("a process that lost the database to another one stores nothing more", async () => {
      const place = await database.create();
      const inner = await openDatabase(database.name, place.url);
      const store = await openOn(inner);
      const account = defaultAccount(store);
      await inner.transact((transaction) => transaction.updateTable("head").set({ holder: "another" }).execute());
      await isUnavailable(create(store, account, "user", { name: "x" }));
      assert.equal(store.condition, "superseded");
      assert.equal(store.holder(account, "user", "x"), undefined);
      await store.close();
      await place.drop();
    });
  });
}

describe("a full disk under SQLite", () => {
  it("S3: a full disk under SQLite: writes are rejected, reads continue, and writes work again when there is room", async () => {
    await inDirectory(async (directory) => {
      const url = `${directory}/postern.db`;
      // The limit makes write(2) fail as on a full disk. Without the trap, the accompanying signal would end the
      // process.
      const child = await startStoreProcess(url, `trap '' XFSZ; ulimit -S -f 2048; exec "$@"`);
      child.send("write early");
      await child.line((line) => line === "stored early");
      child.send("flood 16");
      await child.line((line) => line.startsWith("refused"));
      child.send("read early");
      await child.line((line) => line === "found early");
      const lifted = spawnSync("prlimit", ["--pid", String(child.pid), "--fsize=unlimited"], { encoding: "utf8" });
      assert.equal(lifted.status, 0, lifted.stderr);
      child.send("write late");
      await child.line((line) => line === "stored late");
      child.send("close");
      await child.line((line) => line === "closed");
      const store = await open(url);
      const account = defaultAccount(store);
      let refused = 0;
      for (const line of child.lines) {
        const [outcome, name, reason] = line.split(" ");
        if (outcome === "stored") assert.ok(store.holder(account, "user", name as string), line);
        if (outcome !== "refused") continue;
        refused += 1;
        assert.equal(reason, "write_unavailable");
        assert.equal(store.holder(account, "user", name as string), undefined, line);
      }
      assert.ok(refused > 0);
      assert.deepEqual(await store.history.verify(), { revisions: store.revision });
      await store.close();
    });
  });
});

describe("a PostgreSQL server that stops", { skip: skipWithoutPostgres }, () => {
  it("S4: a PostgreSQL server that stops: writes are rejected, reads continue, and writes work again without a restart", async () => {
    const server = await startPostgres();
    if (!server) return;
    const { log, lines } = keepingLog();
    const store = await open(server.url, { log });
    const account = defaultAccount(store);
    const kept = await create(store, account, "user", { name: "kept" });
    for (let round = 0; round < 2; round += 1) {
      await server.crash();
      await isUnavailable(create(store, account, "user", { name: `lost ${round}` }));
      assert.equal(store.condition, "unavailable");
      assert.equal(store.get(account, "user", kept.id), kept);
      await server.start();
      await create(store, account, "user", { name: `found ${round}` });
      assert.equal(store.condition, "open");
      assert.equal(store.holder(account, "user", `lost ${round}`), undefined);
    }
    assert.ok(lines.some(({ event }) => event === "the writing database connection broke"));
    assert.deepEqual(await store.history.verify(), { revisions: store.revision });

    await execute(server.url, "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()");
    await create(store, account, "user", { name: "after a cut connection" });

    const others = "select count(*)::int as count from pg_stat_activity where application_name like 'postern%'";
    assert.ok(Number(Object.values((await execute(server.url, others)) as object)[0]) <= 5, "connections leak");
    await store.close();
    await server.remove();
  });

  it("a reading connection cut between two queries fails the second, and the next query uses a new connection", async () => {
    const server = await startPostgres();
    if (!server) return;
    const database = await openPostgres({ url: server.url, holder, clock: systemClock, log: silentLog });
    const pid = sql<{ pid: number }>`select pg_backend_pid() as pid`;
    await database.reads.connection().execute(async (reading) => {
      const { rows } = await pid.execute(reading);
      const ofReader = `from pg_stat_activity where pid = ${rows[0]?.pid}`;
      await execute(server.url, `select pg_terminate_backend(pid) ${ofReader}`);
      await eventually(
        () => execute(server.url, `select pid ${ofReader}`),
        (row) => row === undefined,
      );
      await assert.rejects(pid.execute(reading));
    });
    assert.equal((await pid.execute(database.reads)).rows.length, 1);
    await database.close();
    await server.remove();
  });

  it("S4: a commit that the server made without sending a response is valid", async () => {
    const server = await startPostgres();
    if (!server) return;
    const store = await open(server.url);
    const account = defaultAccount(store);
    // The server makes a commit, and then waits for a standby that never connects.
    await execute(server.url, "alter system set synchronous_standby_names = 'nobody'", "select pg_reload_conf()");
    await delay(200);
    const write = create(store, account, "user", { name: "made" });
    const waiting = "select pid from pg_stat_activity where wait_event = 'SyncRep'";
    while (!(await execute(server.url, waiting))) await delay(20);
    await execute(
      server.url,
      "set synchronous_commit = local",
      "alter system reset synchronous_standby_names",
      "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'",
      "select pg_reload_conf()",
    );
    const made = await write;
    assert.equal(store.get(account, "user", made.id), made);
    await store.close();
    const again = await open(server.url);
    assert.deepEqual(again.get(account, "user", made.id), made);
    await again.close();
    await server.remove();
  });
});

/**
 * While `next` is set, fails at the COMMIT, which is `stored` or not. While `down`, every other query fails as well.
 */
function inDoubt(database: Database, fault: { next: boolean; down?: boolean }, stored: boolean): Database {
  let broken = false;
  const reach = (): void => {
    if (broken && fault.down) throw new Error("the database is down");
    broken = false;
  };
  return {
    ...database,
    async transact(work) {
      reach();
      return await database.transact(work);
    },
    async store(steps) {
      reach();
      if (!fault.next) return await database.store(steps);
      fault.next = false;
      broken = true;
      if (stored) await database.store(steps);
      throw new CommitInDoubt("commit");
    },
  };
}

function causes(error: Error): string {
  return error.cause instanceof Error ? `${error.message}: ${causes(error.cause)}` : error.message;
}

/** Returns the first row of the last statement. */
async function execute(url: string, ...statements: readonly string[]): Promise<unknown> {
  const client = new Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  let row: unknown;
  for (const statement of statements) row = (await client.query<Record<string, unknown>>(statement)).rows[0];
  await client.end();
  return row;
}
