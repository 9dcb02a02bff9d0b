/** A PostgreSQL server that stalls and resumes. Only the start of another process ends the writes permanently. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { after, afterEach, before, describe, it } from "node:test";
import { systemClock } from "../../src/lib/clock.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { Refusal } from "../../src/lib/errors.ts";
import type { Store } from "../../src/storage/store.ts";
import { startPostgres } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";
import type { PostgresServer } from "../support/postgres.ts";
import { startCommitProxy } from "./commit-proxy.ts";
import { create, declarations, defaultAccount } from "./declarations.ts";
import { inDirectory, open } from "./fixture.ts";
import { execute } from "./sql.ts";

/** Timeout of statements, milliseconds. */
const timeoutMs = 400;
const lockHolder = "select pid from pg_locks where locktype = 'advisory' and granted";

/** A clock that runs faster than real time, so that tests do not wait for pauses between attempts. */
const fastClock: Clock = {
  ...systemClock,
  monotonic: () => systemClock.monotonic() * 10,
  after: (delayMs, run) => systemClock.after(delayMs / 10, run),
};

function impatient(url: string): string {
  return `${url}&query_timeout=${timeoutMs}`;
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await holds()); tries += 1) {
    assert.ok(tries < 1500, `never: ${what}`);
    await delay(20);
  }
}

function contents(store: Store): readonly unknown[] {
  const kinds = new Set(["account", ...declarations.resources.map(({ name }) => name)]);
  return [...store.objects(kinds)].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Writes, and returns the outcome: "stored", "refused", or "unknown" if the caller must read before a retry. */
async function write(store: Store, name: string): Promise<"stored" | "refused" | "unknown"> {
  try {
    await create(store, defaultAccount(store), "user", { name });
    return "stored";
  } catch (error) {
    assert.ok(error instanceof Refusal && error.reason === "write_unavailable", String(error));
    return /read the object before you retry/.test(error.message) ? "unknown" : "refused";
  }
}

describe("a PostgreSQL server that stalls", { skip: skipWithoutPostgres }, () => {
  let server: PostgresServer;
  const stopped = new Set<number>();
  let opened: Store | undefined;

  before(async () => {
    server = (await startPostgres()) as PostgresServer;
  });
  afterEach(async () => {
    for (const pid of stopped) go(pid);
    await opened?.close();
  });
  after(() => server.remove());

  const stop = (pid: number): void => {
    stopped.add(pid);
    process.kill(pid, "SIGSTOP");
  };
  const go = (pid: number): void => {
    stopped.delete(pid);
    try {
      process.kill(pid, "SIGCONT");
    } catch {
      // The server has already ended it.
    }
  };
  const lockPid = async (): Promise<number | undefined> =>
    (await execute("postgres", server.url, lockHolder))[0]?.["pid"] as number | undefined;

  /** Opens an empty database, lets `work` damage it, and checks what must be true in every case. */
  async function withStore(
    work: (store: Store, told: (name: string, outcome: string) => void) => Promise<void>,
    url = impatient(server.url),
  ): Promise<void> {
    await execute("postgres", server.url, "drop schema public cascade", "create schema public");
    const store = await open(url, { clock: fastClock });
    opened = store;
    const outcomes = new Map<string, string>();
    const told = (name: string, outcome: string): void => void outcomes.set(name, outcome);
    told("before", await write(store, "before"));
    await work(store, told);
    await until("writes work again by themselves", () => store.condition === "open");
    told("after", await write(store, "after"));
    assert.equal(outcomes.get("after"), "stored");
    for (const [name, outcome] of outcomes) {
      const isThere = store.holder(defaultAccount(store), "user", name) !== undefined;
      if (outcome !== "unknown") assert.equal(isThere, outcome === "stored", `${name}: ${outcome}`);
    }
    const [last, { revision }] = [contents(store), store];
    assert.deepEqual(await store.history.verify(), { revisions: revision });
    await store.close();
    const again = await open(server.url);
    assert.deepEqual(contents(again), last);
    assert.equal(again.revision, revision);
    await again.close();
  }

  for (const rounds of [1, 3]) {
    it(`S4: a PostgreSQL server that stalls: writes resume automatically after the connection with the lock stalled ${rounds} times`, async () => {
      await withStore(async (store, told) => {
        for (let round = 0; round < rounds; round += 1) {
          await until("the lock is held", async () => (await lockPid()) !== undefined && store.condition === "open");
          const pid = (await lockPid()) as number;
          stop(pid);
          for (const name of ["first", "second"]) {
            const outcome = await write(store, `${name} ${round}`);
            assert.equal(outcome, "refused");
            told(`${name} ${round}`, outcome);
            assert.equal(store.condition, "unavailable");
            assert.ok(store.holder(defaultAccount(store), "user", "before"));
          }
          assert.equal(await lockPid(), pid, "the stalled connection has the lock still");
          go(pid);
          await until("writes work again by themselves", () => store.condition === "open");
        }
      });
    });
  }

  it("S4: a PostgreSQL server that stalls: writes resume automatically after the whole server stalled", async () => {
    await withStore(async (store, told) => {
      const pids = await execute(
        "postgres",
        server.url,
        "select pid from pg_stat_activity where pid <> pg_backend_pid()",
      );
      for (const { pid } of pids) stop(pid as number);
      told("lost", await write(store, "lost"));
      assert.equal(store.condition, "unavailable");
      for (const { pid } of pids) go(pid as number);
    });
  });

  for (const fate of ["delivered", "dropped"] as const) {
    it(`S4: a commit that was ${fate} while the connection stalled has a known outcome before the next write`, async () => {
      await inDirectory(async (directory) => {
        const proxy = await startCommitProxy(server.url, directory);
        await withStore(async (store, told) => {
          const pid = (await lockPid()) as number;
          const { revision } = store;
          proxy.atNextCommit(() => {
            stop(pid);
            return fate;
          });
          const outcome = write(store, "in doubt");
          await until("the commit is given up", () => proxy.commits > 0 && proxy.broken > 0);
          go(pid);
          told("in doubt", await outcome);
          await until("its outcome is known", () => store.condition === "open");
          const isThere = store.holder(defaultAccount(store), "user", "in doubt") !== undefined;
          assert.equal(store.revision, isThere ? revision + 1 : revision);
          if (fate === "dropped") assert.equal(isThere, false);
        }, impatient(proxy.url));
        await proxy.stop();
      });
    });
  }

  it("S4: a commit that was made without a response becomes visible even if no one writes", async () => {
    await withStore(async (store, told) => {
      await execute(
        "postgres",
        server.url,
        "alter system set synchronous_standby_names = 'nobody'",
        "select pg_reload_conf()",
      );
      await until("commits wait", async () => {
        const [row] = await execute("postgres", server.url, "show synchronous_standby_names");
        return row?.["synchronous_standby_names"] === "nobody";
      });
      await delay(200);
      const outcome = write(store, "made");
      const waiting = "select pid from pg_stat_activity where wait_event = 'SyncRep'";
      await until("the commit waits", async () => (await execute("postgres", server.url, waiting)).length > 0);
      const pid = (await lockPid()) as number;
      stop(pid);
      assert.equal(await outcome, "unknown");
      told("made", "stored");
      assert.equal(store.holder(defaultAccount(store), "user", "made"), undefined);
      await execute(
        "postgres",
        server.url,
        "set synchronous_commit = local",
        "alter system reset synchronous_standby_names",
        "select pg_reload_conf()",
      );
      go(pid);
    });
  });

  it("S4: a lock held by another connection for a while, without a takeover, only delays the writes", async () => {
    await withStore(async (store, told) => {
      const holding = execute(
        "postgres",
        server.url,
        `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'`,
        "select pg_advisory_lock(7205759403792794), pg_sleep(1)",
      );
      await until("it has the lock", async () => (await execute("postgres", server.url, lockHolder)).length > 0);
      told("meanwhile", await write(store, "meanwhile"));
      await holding;
    });
  });

  it("S4: a process that lost the database to another one, and not to a stall, stays out and releases the lock", async () => {
    await execute("postgres", server.url, "drop schema public cascade", "create schema public");
    // The store reconnects only for a write.
    const clock: Clock = { ...systemClock, after: () => ({ cancel: () => undefined }) };
    const store = await open(impatient(server.url), { clock });
    opened = store;
    assert.equal(await write(store, "before"), "stored");
    const pid = (await lockPid()) as number;
    stop(pid);
    // The server kills the stalled connection and restarts. Another process is first.
    process.kill(pid, "SIGKILL");
    stopped.delete(pid);
    const other = await openedAgain(server.url);
    assert.equal(await write(other, "of the other"), "stored");
    assert.equal(await write(store, "too late"), "refused");
    assert.equal(store.condition, "superseded");
    assert.equal(await write(other, "still of the other"), "stored");
    await other.close();
    assert.equal(await write(store, "still too late"), "refused");
    await until("the lock is free", async () => (await lockPid()) === undefined);
    const third = await open(server.url);
    assert.equal(third.holder(defaultAccount(third), "user", "too late"), undefined);
    assert.ok(third.holder(defaultAccount(third), "user", "still of the other"));
    assert.deepEqual(await third.history.verify(), { revisions: third.revision });
    await third.close();
    await store.close();
  });

  it("a stalled connection for reads is not used again", async () => {
    await withStore(async (store) => {
      const account = defaultAccount(store);
      const user = store.holder(account, "user", "before") as { readonly id: string };
      const past = async (): Promise<string | undefined> =>
        (await store.history.objectAt(store.revision, account, "user", user.id))?.id;
      assert.equal(await past(), user.id);
      const reading = "select pid from pg_stat_activity where application_name = 'postern reads'";
      const pids = await execute("postgres", server.url, reading);
      assert.ok(pids.length > 0);
      for (const { pid } of pids) stop(pid as number);
      for (const _ of pids) await assert.rejects(past(), /timeout/);
      assert.equal(await past(), user.id);
      for (const { pid } of pids) go(pid as number);
    });
  });
});

/** Opens a store as soon as the database server runs and no one else uses the database. */
async function openedAgain(url: string): Promise<Store> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await open(url);
    } catch (error) {
      if (tries > 1000) throw error;
      await delay(20);
    }
  }
}
