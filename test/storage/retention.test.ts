/** History is stored for the configured time. The remaining history is correct and can be verified. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { describe, it } from "node:test";
import type { KyselyPlugin } from "kysely";
import { systemClock } from "../../src/lib/clock.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { Refusal } from "../../src/lib/errors.ts";
import { silentLog } from "../../src/lib/log.ts";
import { CommitInDoubt } from "../../src/storage/database/database.ts";
import type { Database } from "../../src/storage/database/database.ts";
import { openStoreOn } from "../../src/storage/opening/open-store.ts";
import { openPostgres } from "../../src/storage/postgres/postgres.ts";
import { openSqlite } from "../../src/storage/sqlite/sqlite.ts";
import type { Change, Store, StoredObject } from "../../src/storage/store.ts";
import { makeManualClock } from "../support/clock.ts";
import { eventually } from "../support/eventually.ts";
import type { ManualClock } from "../support/clock.ts";
import { databases, withoutPatience } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";
import { contextFor, create, declarations, defaultAccount, sealingKey } from "./declarations.ts";
import { closedAtEnd, keepingLog, open } from "./fixture.ts";
import { execute, snapshot } from "./sql.ts";

const holder = "the test";
const dayMs = 24 * 60 * 60 * 1000;
const kinds = ["user", "policy", "rule"];
const everyKind = new Set(kinds);
const many = Array.from({ length: 300 }, (_, n) => `one of many ${n}`);

/** The state at each revision, and its changes. */
interface Past {
  readonly states: Map<number, readonly StoredObject[]>;
  readonly changes: Map<number, readonly Change[]>;
}

function byId(one: { readonly id: string }, other: { readonly id: string }): number {
  return one.id < other.id ? -1 : 1;
}

/** Lets the clock's timers run until `isDone`, and gives the database's thread or process time to work. */
async function letRun(clock: ManualClock, isDone: () => boolean | Promise<boolean>): Promise<void> {
  clock.pass(11 * 60 * 1000);
  for (let turn = 1; !(await isDone()); turn += 1) {
    // Deletions are announced two hours before.
    clock.pass(turn % 15 === 0 && turn <= 300 ? 10 * 60 * 1000 : 25);
    await delay(1);
  }
}

/** Advances the clock by hours, and runs everything that falls due in the meantime. */
async function passHours(clock: ManualClock, hours: number): Promise<void> {
  for (let turn = 0; turn < 6 * hours; turn += 1) {
    clock.pass(10 * 60 * 1000);
    await delay(2);
  }
}

/**
 * Creates, changes and deletes objects, with a write every six hours. The first user never changes again. One write
 * creates more objects than one pruning step deletes, and the next write deletes them.
 */
async function makePast(store: Store, clock: ManualClock, writes: number): Promise<Past> {
  const past: Past = { states: new Map(), changes: new Map() };
  store.subscribe(({ revision, changes }) => past.changes.set(revision, changes));
  const account = defaultAccount(store);
  const write = async (work: Parameters<Store["write"]>[1]): Promise<void> => {
    await store.write(contextFor(account), work);
    past.states.set(store.revision, [...store.objects(everyKind)].toSorted(byId));
    clock.step(dayMs / 4);
  };
  await write((draft) => draft.create(account, "user", { name: "untouched" }));
  for (let n = 1; n < writes; n += 1) {
    await write((draft) => {
      if (n === 20) return many.map((name) => draft.create(account, "user", { name }));
      if (n === 21) {
        return draft.page(account, "user", { limit: many.length }).objects.forEach((user) => draft.delete(user));
      }
      const users = draft.page(account, "user", { limit: 6 }).objects.filter(({ doc }) => doc["name"] !== "untouched");
      const [last] = draft.page(account, "policy", { limit: 1 }).objects;
      if (n % 5 === 0 && last) return draft.delete(last);
      if (n % 7 === 0) {
        const policy = draft.create(account, "policy", { description: `policy ${n}` });
        return draft.create(account, "rule", { policy_id: policy.id, cidr: `10.${n % 250}.0.0/16` });
      }
      const user = users[n % 6];
      if (!user) return draft.create(account, "user", { name: `user ${n}` });
      return n % 3 === 0 ? draft.delete(user) : draft.replace(user, { name: `renamed ${n}` });
    });
  }
  return past;
}

async function pastState(store: Store, revision: number): Promise<readonly StoredObject[]> {
  const account = defaultAccount(store);
  const pages = await Promise.all(kinds.map((kind) => store.history.pageAt(revision, account, kind, { limit: 1000 })));
  return pages.flatMap(({ objects }) => objects).toSorted(byId);
}

function isPruned(error: unknown): boolean {
  assert.ok(error instanceof Refusal, String(error));
  return error.reason === "revision_pruned";
}

/** Checks that the store returns the recorded data of these revisions, or reports that they are not stored. */
async function assertPast(store: Store, past: Past, revisions: Iterable<number>): Promise<void> {
  const account = defaultAccount(store);
  const { oldest } = store.history;
  for (const revision of revisions) {
    if (revision >= oldest) {
      assert.deepEqual(await pastState(store, revision), past.states.get(revision), `revision ${revision}`);
      assert.deepEqual(await store.history.changesOf(account, revision), past.changes.get(revision));
      continue;
    }
    const id = past.states.get(revision)?.[0]?.id ?? "us_none";
    await assert.rejects(store.history.objectAt(revision, account, "user", id), isPruned);
    await assert.rejects(store.history.pageAt(revision, account, "user", { limit: 1 }), isPruned);
    await assert.rejects(store.history.changesOf(account, revision), isPruned);
    await assert.rejects(store.history.changedSince(account, revision, 1), isPruned);
  }
}

for (const database of databases) {
  const openDatabase = async (url: string, clock: ManualClock): Promise<Database> => {
    if (database.name === "sqlite") return await openSqlite(url, silentLog);
    return await openPostgres({ url, holder, clock, log: silentLog });
  };
  const openOn = (opened: Database, clock: ManualClock, historyDays: number): Promise<Store> =>
    closedAtEnd(openStoreOn(opened, holder, { declarations, sealingKey, historyDays, clock, log: silentLog }));
  /** Returns the number of rows of the query. */
  const count = async (url: string, from: string): Promise<number> => {
    const [row] = await execute(database.name, url, `select count(*) as rows from ${from}`);
    return Number(row?.["rows"]);
  };
  /** Returns a store whose history is pruned to the last 10 days, some 40 revisions. */
  const prunedStore = async (
    url: string,
    writes: number,
  ): Promise<{ readonly store: Store; readonly past: Past; readonly clock: ManualClock }> => {
    const clock = makeManualClock();
    const first = await open(url, { clock });
    const past = await makePast(first, clock, writes);
    await first.close();
    const { log, lines } = keepingLog();
    const store = await open(url, { clock, log, historyDays: 10 });
    await letRun(clock, () => lines.some(({ event }) => event === "history pruned"));
    return { store, past, clock };
  };

  describe(`retention on ${database.name}`, () => {
    it(`D10: retention on ${database.name} prunes old revisions, and every remaining revision is exactly the same`, async () => {
      const place = await database.create();
      const { store, past } = await prunedStore(place.url, 260);
      const { oldest } = store.history;
      assert.equal(oldest, store.revision - 38);
      await assertPast(store, past, past.states.keys());
      const changed = await store.history.changedSince(defaultAccount(store), oldest, 1000);
      for (const { id, past: then } of changed) {
        assert.deepEqual(
          then,
          past.states.get(oldest)?.find((object) => object.id === id),
        );
      }
      assert.ok((await pastState(store, oldest)).some(({ doc }) => doc["name"] === "untouched"));
      const { revisions, more } = await store.history.revisions(defaultAccount(store), { limit: 100 });
      assert.deepEqual([revisions.at(-1)?.revision, more], [oldest, false]);
      assert.deepEqual(await store.history.verify(), { revisions: store.revision });
      assert.equal(await count(place.url, "revisions"), store.revision - oldest + 1);
      // The account, too, existed before.
      const left = (past.states.get(oldest - 1)?.length ?? 0) + 1;
      assert.equal(await count(place.url, `history where revision < ${oldest}`), left);
      await store.close();
      const again = await open(place.url);
      assert.equal(again.history.oldest, oldest);
      await assertPast(again, past, past.states.keys());
      await again.close();
      await place.drop();
    });

    it(`D10: retention on ${database.name} keeps everything if configured, and always the newest revision`, async () => {
      const place = await database.create();
      const clock = makeManualClock();
      let store = await open(place.url, { clock });
      const past = await makePast(store, clock, 12);
      await store.close();
      clock.step(1000 * dayMs);
      const kept = keepingLog();
      store = await open(place.url, { clock, log: kept.log, historyDays: 0 });
      const key = { key: "k", fingerprint: "f", answer: () => "" };
      await store.write(contextFor(defaultAccount(store)), () => "nothing", key);
      clock.step(2 * dayMs);
      await letRun(clock, async () => (await count(place.url, "idempotency")) === 0);
      assert.equal(store.history.oldest, 1);
      await assertPast(store, past, past.states.keys());
      await store.close();
      const { log, lines } = keepingLog();
      // The server was down for 1,000 days, which its operator confirms.
      const clockConfirmed = clock.now() + dayMs;
      store = await open(place.url, { clock, log, historyDays: 1, clockConfirmed });
      await create(store, defaultAccount(store), "user", { name: "newest" });
      // The jump of the clock is accepted after two hours, and announced for two more.
      await passHours(clock, 5);
      await letRun(clock, () => lines.some(({ event }) => event === "history pruned"));
      assert.equal(store.history.oldest, store.revision);
      await assertPast(store, past, past.states.keys());
      assert.deepEqual(await store.history.verify(), { revisions: store.revision });
      await store.close();
      store = await open(place.url, { clock });
      await create(store, defaultAccount(store), "user", { name: "afterwards" });
      assert.deepEqual(await store.history.verify(), { revisions: store.revision });
      await store.close();
      await place.drop();
    });

    for (const [name, wrongDays] of [
      ["400 days ahead", 400],
      ["400 days behind", -400],
    ] as const) {
      it(`P6: a clock that is ${name} for an hour deletes no history on ${database.name}, and neither do writes dated by it`, async () => {
        const place = await database.create();
        const clock = makeManualClock();
        const { log, lines } = keepingLog();
        const store = await open(place.url, { clock, log, historyDays: 10 });
        const account = defaultAccount(store);
        const hours = (count: number): Promise<void> => passHours(clock, count);
        for (const name of ["first", "second", "third"]) await create(store, account, "user", { name });
        await hours(3);
        clock.step(wrongDays * dayMs);
        await create(store, account, "user", { name: "under a wrong clock" });
        await hours(1);
        clock.step(-wrongDays * dayMs);
        await create(store, account, "user", { name: "under a right clock" });
        await hours(8);
        assert.equal(store.history.oldest, 1);
        assert.equal(await count(place.url, "revisions"), store.revision);
        await store.close();
        // A start with the wrong clock warns the operator before any deletion.
        clock.step(Math.abs(wrongDays) * dayMs);
        const started = await open(place.url, { clock, log, historyDays: 10 });
        await hours(1);
        assert.equal(started.history.oldest, 1);
        clock.step(-Math.abs(wrongDays) * dayMs);
        await hours(8);
        assert.equal(started.history.oldest, 1);
        assert.ok(!lines.some(({ event }) => event === "history pruned"));
        await started.close();
        await place.drop();
      });
    }

    it(`P6: a clock that stays 400 days ahead deletes no history on ${database.name} until the operator confirms it, and the log names the flag`, async () => {
      const place = await database.create();
      const clock = makeManualClock();
      let store = await open(place.url, { clock, historyDays: 10 });
      const account = defaultAccount(store);
      for (const name of ["first", "second", "third"]) await create(store, account, "user", { name });
      await passHours(clock, 1);
      const held: (string | undefined)[] = [];
      store.history.onHeld((why) => held.push(why));
      clock.step(400 * dayMs);
      await create(store, account, "user", { name: "under a wrong clock" });
      await passHours(clock, 10);
      // Dates from a wrong clock are no evidence, not even at a restart.
      await create(store, account, "user", { name: "the newest, under a wrong clock" });
      assert.equal(store.history.oldest, 1);
      const today = new Date(clock.now()).toISOString().slice(0, 10);
      const flag = `--clock-confirmed ${today}`;
      assert.equal(
        held.findIndex((why) => why === undefined),
        0,
      );
      assert.ok(held.at(-1)?.includes(flag), String(held.at(-1)));
      await store.close();
      store = await open(place.url, { clock, historyDays: 10 });
      await passHours(clock, 10);
      assert.equal(store.history.oldest, 1);
      assert.deepEqual(await store.history.verify(), { revisions: store.revision });
      await store.close();

      const { log, lines } = keepingLog();
      const clockConfirmed = Date.parse(today) + dayMs;
      store = await open(place.url, { clock, log, historyDays: 10, clockConfirmed });
      const problems: unknown[] = [];
      store.history.onHeld((why) => problems.push(why));
      await letRun(clock, () => lines.some(({ event }) => event === "history pruned"));
      assert.equal(store.history.oldest, store.revision - 1);
      assert.deepEqual(problems, [undefined] as unknown[]);
      await store.close();
      // The confirmation is stored, so the flag can be removed.
      store = await open(place.url, { clock, historyDays: 10 });
      store.history.onHeld((why) => problems.push(why));
      await passHours(clock, 5);
      assert.deepEqual(problems, [undefined, undefined]);
      await store.close();
      await assert.rejects(
        open(place.url, { clock, historyDays: 10, clockConfirmed: clock.now() + 30 * dayMs }),
        /--clock-confirmed .* is in the future/,
      );
      await place.drop();
    });

    it(`D10: a server without writes for months continues to prune without a confirmation, on ${database.name}`, async () => {
      const place = await database.create();
      const clock = makeManualClock();
      const first = await open(place.url, { clock });
      for (const name of ["first", "second"]) await create(first, defaultAccount(first), "user", { name });
      await first.close();
      const held: (string | undefined)[] = [];
      for (let month = 1; month <= 4; month += 1) {
        const store = await open(place.url, { clock, historyDays: 100 });
        store.history.onHeld((why) => held.push(why));
        for (let day = 0; day < 30; day += 1) {
          clock.pass(dayMs);
          await delay(2);
        }
        await passHours(clock, 3);
        await store.close();
        // Less than a tenth of the stored history.
        clock.step(9 * dayMs);
      }
      const last = await open(place.url, { clock, historyDays: 100 });
      await passHours(clock, 5);
      assert.equal(last.history.oldest, last.revision);
      assert.deepEqual([...new Set(held)], [undefined]);
      await last.close();
      await place.drop();
    });

    it(`D10: retention on ${database.name} announces deletions two hours before`, async () => {
      const place = await database.create();
      const clock = makeManualClock();
      const first = await open(place.url, { clock });
      await makePast(first, clock, 60);
      await first.close();
      const { log, lines } = keepingLog();
      const store = await open(place.url, { clock, log, historyDays: 10 });
      const said = (): boolean => lines.some(({ event }) => event.startsWith("history will be pruned in two hours"));
      while (!said()) {
        clock.pass(60_000);
        await delay(1);
      }
      const announced = lines.find(({ event }) => event.startsWith("history will be pruned"));
      const fields: Readonly<Record<string, unknown>> = announced?.fields ?? {};
      assert.deepEqual([fields["historyDays"], Number(fields["upToRevision"])], [10, store.revision - 39]);
      const announcedAt = clock.monotonic();
      await letRun(clock, () => lines.some(({ event }) => event === "history pruned"));
      assert.ok(clock.monotonic() - announcedAt >= 2 * 60 * 60 * 1000);
      assert.equal(store.history.oldest, Number(fields["upToRevision"]) + 1);
      await store.close();
      await place.drop();
    });

    it(`P6: an altered or truncated record breaks the chain even if a part of it was pruned, on ${database.name}`, async () => {
      const place = await database.create();
      const clock = makeManualClock();
      let store = await open(place.url, { clock });
      await makePast(store, clock, 60);
      await store.close();
      // An earlier anchor, restored later.
      const early = keepingLog();
      store = await open(place.url, { clock, log: early.log, historyDays: 14 });
      await letRun(clock, () => early.lines.some(({ event }) => event === "history pruned"));
      await store.close();
      const [anchor] = await execute(database.name, place.url, "select sealed from anchor");
      const earlyTo = store.history.oldest - 1;
      const { log, lines } = keepingLog();
      store = await open(place.url, { clock, log, historyDays: 10 });
      await letRun(clock, () => lines.some(({ event }) => event === "history pruned"));
      const { oldest } = store.history;
      const { revision } = store;
      assert.ok(oldest - 1 > earlyTo);
      assert.deepEqual(await store.history.verify(), { revisions: revision });
      await store.close();
      const broken = (brokenAt: number) => ({ revisions: brokenAt - 1, brokenAt });
      const left = { revisions: 0, brokenAt: oldest - 1 };
      const tampered: readonly (readonly [string, unknown])[] = [
        [`delete from revisions where revision = ${oldest}`, broken(oldest)],
        [`delete from revisions where revision < ${oldest + 5}`, broken(oldest)],
        [`update history set doc = '{"name":"forged"}' where revision = ${oldest + 2}`, broken(oldest + 2)],
        [`update history set doc = '{"name":"forged"}' where revision < ${oldest} and kind = 'user'`, left],
        [`delete from history where revision = 2`, left],
        [`update history set kind = 'policy' where revision = 2`, left],
        [`update anchor set sealed = '${String(anchor?.["sealed"])}'`, { revisions: 0, brokenAt: earlyTo }],
        [`delete from anchor`, broken(1)],
      ];
      for (const [sql, verdict] of tampered) {
        const undo = await snapshot(database.name, place.url, ["revisions", "history", "anchor"]);
        await execute(database.name, place.url, sql);
        store = await open(place.url, { clock });
        assert.deepEqual(await store.history.verify(), verdict, sql);
        await store.close();
        await undo();
      }
      const undo = await snapshot(database.name, place.url, ["anchor"]);
      const forged = "update anchor set sealed = replace(sealed, substr(sealed, 30, 4), 'AAAA')";
      await execute(database.name, place.url, forged);
      await assert.rejects(open(place.url), /anchor of the history: it was altered or moved/);
      await undo();
      store = await open(place.url);
      assert.deepEqual(await store.history.verify(), { revisions: revision });
      await store.close();
      await place.drop();
    });

    it(`P6: a damaged record is not pruned, so the damage remains detectable, on ${database.name}`, async () => {
      const place = await database.create();
      const clock = makeManualClock();
      let store = await open(place.url, { clock });
      await makePast(store, clock, 60);
      await store.close();
      await execute(database.name, place.url, "update revisions set principal = 'ak_other' where revision = 7");
      const { log, lines } = keepingLog();
      store = await open(place.url, { clock, log, historyDays: 10 });
      await letRun(clock, () => lines.some(({ level, fields }) => level === "error" && fields["revision"] === 7));
      assert.deepEqual(await store.history.verify(), { revisions: 6, brokenAt: 7 });
      await store.close();
      await place.drop();
    });

    it(`S1: retention on ${database.name} leaves correct history whenever it is interrupted, and the next start continues`, async () => {
      const place = await database.create();
      const then = makeManualClock();
      const first = await open(place.url, { clock: then });
      const past = await makePast(first, then, 270);
      await first.close();
      const target = first.revision - 38;
      const left = (past.states.get(target - 1)?.length ?? 0) + 1;
      const swept = (): Promise<number> => count(place.url, `history where revision < ${target}`);
      let rounds = 0;
      for (let isDone = false; !isDone; rounds += 1) {
        const clock = makeManualClock(then.now());
        // One more commit than in the previous round. The commit after it fails, is lost, or is stored without a
        // response.
        const opened = await openDatabase(place.url, clock);
        let commits = 0;
        let failed = false;
        const store = await openOn(
          {
            ...opened,
            async store(steps) {
              // Storing the time plays no part in what is deleted.
              if (steps.some(({ sql }) => sql.includes("known_time"))) return await opened.store(steps);
              commits += 1;
              if (commits === 1) return await opened.store(steps);
              if (rounds % 3 === 1) await opened.store(steps);
              failed = true;
              throw rounds % 3 === 2 ? new Error("power cut") : new CommitInDoubt("commit");
            },
          },
          clock,
          10,
        );
        const before = store.history.oldest;
        const isPrunedToEnd = async (): Promise<boolean> => store.history.oldest === target && (await swept()) === left;
        await letRun(clock, async () => failed || (await isPrunedToEnd()));
        isDone = !failed;
        await store.close();
        const after = await open(place.url, { clock });
        const { oldest, verify } = after.history;
        assert.ok(oldest >= before);
        assert.deepEqual(await verify(), { revisions: after.revision }, `round ${rounds}`);
        await assertPast(after, past, [2, oldest - 1, oldest, oldest + 1, target, after.revision]);
        await after.close();
      }
      assert.ok(rounds >= 5, `${rounds} rounds`);
      const done = await open(place.url, { clock: then });
      assert.equal(done.history.oldest, target);
      await assertPast(done, past, past.states.keys());
      assert.equal(await swept(), left);
      await done.close();
      await place.drop();
    });

    it("D10: writers and readers of the past are not affected while history is pruned", async () => {
      const place = await database.create();
      const clock = makeManualClock();
      const first = await open(place.url, { clock });
      const past = await makePast(first, clock, 240);
      await first.close();
      const { log, lines } = keepingLog();
      const store = await open(withoutPatience(place.url), { clock, log, historyDays: 10 });
      const account = defaultAccount(store);
      const isDone = (): boolean => lines.some(({ event }) => event === "history pruned");
      let written = 0;
      const writers = Array.from({ length: 8 }, async (_, writer) => {
        for (let n = 0; !isDone() || n < 5; n += 1) {
          const user = await create(store, account, "user", { name: `writer ${writer}, ${n}` });
          await store.write(contextFor(account), (draft) => draft.replace(user, { name: `writer ${writer}: ${n}` }));
          written += 2;
        }
      });
      let right = 0;
      let refused = 0;
      const readers = [100, 150, 200, 239].map(async (revision) => {
        // Repeats once more after the end, so that the pruning is visible.
        for (let wasDone = false; !wasDone;) {
          wasDone = isDone();
          try {
            assert.deepEqual(await pastState(store, revision), past.states.get(revision));
            right += 1;
          } catch (error) {
            if (!isPruned(error)) throw error;
            refused += 1;
          }
          await delay(1);
        }
      });
      const before = store.revision;
      await Promise.all([letRun(clock, isDone), ...writers, ...readers]);
      assert.equal(store.revision, before + written);
      assert.ok(right > 0 && refused > 0, `${right} right, ${refused} refused`);
      // The tests' own database server does not flush, and the log warns about it.
      const bad = lines.filter(
        ({ level, event }) => (level === "warn" || level === "error") && !/fsync off/.test(event),
      );
      assert.deepEqual(bad, []);
      assert.deepEqual(await store.history.verify(), { revisions: store.revision });
      await store.close();
      await place.drop();
    });

    it("D10: a reader whose revision is pruned gets an error, and never a partial response", async () => {
      const place = await database.create();
      const clock = makeManualClock();
      const first = await open(place.url, { clock });
      await makePast(first, clock, 80);
      await first.close();
      const opened = await openDatabase(place.url, clock);
      const { promise: pruned, resolve } = Promise.withResolvers<void>();
      const toHold = { left: 0 };
      const holding: KyselyPlugin = {
        transformQuery: ({ node }) => node,
        async transformResult({ result }) {
          if (toHold.left > 0) {
            toHold.left -= 1;
            await pruned;
          }
          return result;
        },
      };
      const store = await openOn({ ...opened, reads: opened.reads.withPlugin(holding) }, clock, 10);
      const account = defaultAccount(store);
      const past = store.revision - 45;
      const late = store.revision - 39;
      const readers = [
        () => store.history.objectAt(past, account, "user", "us_none"),
        () => store.history.pageAt(past, account, "user", { limit: 5 }),
        () => store.history.changesOf(account, past),
        () => store.history.changedSince(account, past, 1000),
      ];
      toHold.left = readers.length + 1;
      const answers = readers.map((read) => assert.rejects(read(), isPruned));
      const fed = store.feed.after(account, { revision: past, position: 0 }, { kinds, limit: 1000 });
      while (toHold.left > 0) await delay(1);
      await letRun(clock, () => store.history.oldest > late);
      resolve();
      await Promise.all(answers);
      const { oldest } = store.history;
      assert.ok((await fed).every(({ at }) => at.revision >= oldest));
      assert.ok((await fed).length > 0);
      await store.close();
      await place.drop();
    });

    it(`the feed returns the remaining history, and nothing that was pruned, on ${database.name}`, async () => {
      const place = await database.create();
      const { store, past } = await prunedStore(place.url, 80);
      const from = { revision: 3, position: 0 };
      const wanted = { kinds, limit: 1000 };
      const changes = await store.feed.after(defaultAccount(store), from, wanted);
      const expected = [...past.changes].filter(([revision]) => revision >= store.history.oldest);
      assert.deepEqual(
        changes.map(({ id, before, after }) => ({ id, before, after })),
        expected.flatMap(([, made]) => made.map(({ id, before, after }) => ({ id, before, after }))),
      );
      await store.close();
      await place.drop();
    });

    it(`P7: idempotency keys are deleted after 24 hours, also without any writes, on ${database.name}`, async () => {
      const place = await database.create();
      const clock = makeManualClock();
      const store = await open(place.url, { clock });
      const account = defaultAccount(store);
      const writeOnce = (key: string) =>
        store.write(contextFor(account), (draft) => draft.create(account, "policy", { description: key }), {
          key,
          fingerprint: "f",
          answer: () => key,
        });
      for (let batch = 0; batch < 3; batch += 1) {
        await Promise.all(Array.from({ length: 400 }, (_, n) => writeOnce(`${batch} ${n}`)));
        clock.pass(10);
      }
      clock.pass(dayMs / 2);
      await writeOnce("later");
      assert.equal(await count(place.url, "idempotency"), 1201);
      clock.pass(dayMs / 2);
      await letRun(clock, async () => (await count(place.url, "idempotency")) === 1);
      assert.equal((await writeOnce("later")).replayed, "later");
      await store.close();
      await place.drop();
    });
  });
}

describe("retention with three nodes", { skip: skipWithoutPostgres, timeout: 120_000 }, () => {
  it("D10: retention with three nodes prunes at one of them, and all verify the same history", async () => {
    const place = await (databases.find(({ name }) => name === "postgres") as (typeof databases)[number]).create();
    const before = makeManualClock();
    const first = await open(place.url, { clock: before });
    const past = await makePast(first, before, 160);
    await first.close();
    // Leases are renewed in real time. Timers of minutes, which prune, follow the test.
    const slow = makeManualClock();
    let aheadMs = 0;
    const clock: Clock = {
      now: () => before.now() + aheadMs,
      monotonic: () => systemClock.monotonic() + aheadMs,
      after: (ms, run) => (ms >= 60_000 ? slow : systemClock).after(ms, run),
      every: (ms, run) => (ms >= 60_000 ? slow : systemClock).every(ms, run),
    };
    const leases = (): Promise<string> =>
      execute("postgres", place.url, "select min(renewed_at) as at from nodes").then(([row]) => String(row?.["at"]));
    const logs = [keepingLog(), keepingLog(), keepingLog()];
    const nodes: Store[] = [];
    for (const { log } of logs) nodes.push(await open(place.url, { cluster: true, clock, log, historyDays: 10 }));
    const pruners = (): number[] =>
      logs.flatMap(({ lines }, at) => (lines.some(({ event }) => event === "history pruned") ? [at] : []));
    while (!nodes.some(({ history }) => history.oldest > 100)) {
      const renewed = await leases();
      aheadMs += 65 * 60 * 1000;
      await eventually(leases, (at) => at !== renewed);
      await eventually(leases, (at) => at !== renewed);
      slow.pass(65 * 60 * 1000);
      await delay(300);
    }
    assert.equal(pruners().length, 1);
    for (const node of nodes) {
      assert.deepEqual(await node.history.verify(), { revisions: node.revision });
      await assert.rejects(node.history.changesOf(defaultAccount(node), 100), isPruned);
      await assertPast(node, past, [100, 150, 160]);
    }
    for (const node of nodes) {
      await create(node, defaultAccount(node), "user", { name: `after pruning, ${nodes.indexOf(node)}` });
    }
    for (const node of nodes) await node.close();
    await place.drop();
  });
});
