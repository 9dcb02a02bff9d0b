/** Several nodes on one PostgreSQL: every node writes, and every node follows. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Refusal } from "../../src/lib/errors.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { f } from "../../src/schema/fields.ts";
import { defineResource } from "../../src/schema/resource.ts";
import type { ResourceDeclaration } from "../../src/schema/resource.ts";
import type { Job } from "../../src/storage/cluster/jobs.ts";
import { CommitInDoubt } from "../../src/storage/database/database.ts";
import type { Database } from "../../src/storage/database/database.ts";
import { openStoreOn } from "../../src/storage/opening/open-store.ts";
import { openPostgres } from "../../src/storage/postgres/postgres.ts";
import type { Commit, Store } from "../../src/storage/store.ts";
import { nodesHolder, takeOverForNodes } from "../../src/storage/commits/take-over.ts";
import { eventually } from "../support/eventually.ts";
import { databases, startPostgres } from "../support/postgres.ts";
import { startStoreProcess } from "./child.ts";
import { startCommitProxy } from "./commit-proxy.ts";
import { contextFor, create, declarations, defaultAccount, sealingKey } from "./declarations.ts";
import { closedAtEnd, inDirectory, keepingLog, open } from "./fixture.ts";
import { execute } from "./sql.ts";

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

/** Resolves when the node has the job. */
function taken(store: Store, name: string): Promise<Job> {
  return new Promise((resolve) => {
    const job = store.jobs.want(name, () => {
      if (job.isHeld()) resolve(job);
    });
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

/** A kind that belongs to no revision. */
const visit = defineResource({
  operations: [],
  doc: "For tests.",
  name: "visit",
  schemaName: "Visit",
  path: "/visits",
  listKey: "visits",
  idPrefix: "vi",
  unrecorded: true,
  fields: { page: f.string("Page.", { required: true }), secret: f.string("Secret.", { secret: true }) },
  claims: ({ page }: { readonly page: string }) => [{ space: "visit", name: page }],
});
const withVisits = {
  ...declarations,
  resources: [...declarations.resources, visit as unknown as ResourceDeclaration],
};

/** A write that belongs to no revision. */
function visited(store: Store, account: string, page: string): Promise<unknown> {
  const context = contextFor(account, { principal: { accountId: account, id: "system" } });
  return store.write(context, (draft) => draft.create(account, "visit", { page, secret: `of ${page}` }));
}

function everything(store: Store): readonly unknown[] {
  const kinds = new Set(["account", ...withVisits.resources.map(({ name }) => name)]);
  return [...store.objects(kinds)].sort((one, other) => (one.id < other.id ? -1 : 1));
}

/**
 * Opens a node whose next commit gets no response if `fault.next` is set. `meanwhile` runs before the node checks the
 * outcome.
 */
async function openInDoubt(
  url: string,
  fault: { next?: "stored" | "dropped"; meanwhile?: () => Promise<unknown>; isDown?: boolean },
  clock: Clock = systemClock,
): Promise<Store> {
  const { log } = keepingLog();
  const inner = await openPostgres({
    url,
    holder: nodesHolder,
    process: "doubt",
    isShared: true,
    clock: systemClock,
    log,
  });
  const database: Database = {
    ...inner,
    async transact(work) {
      if (fault.isDown) throw new Error("the database is down");
      return await inner.transact(work);
    },
    async store(steps) {
      const { next, meanwhile } = fault;
      if (!next) return await inner.store(steps);
      delete fault.next;
      if (next === "stored") await inner.store(steps);
      await meanwhile?.();
      throw new CommitInDoubt("commit");
    },
  };
  return await closedAtEnd(openStoreOn(database, nodesHolder, { declarations: withVisits, sealingKey, clock, log }));
}

if (postgres) {
  describe("a node among others", () => {
    it("a node sends its subscribers another node's writes like its own, one commit each, in order", async () => {
      const place = await postgres.create();
      const options = { cluster: true, declarations: withVisits };
      const [one, other] = [await open(place.url, options), await open(place.url, options)];
      const account = defaultAccount(one);
      await other.refresh();
      const told: Commit[][] = [[], []];
      one.subscribe((commit) => told[0]?.push(commit));
      other.subscribe((commit) => told[1]?.push(commit));
      await visited(one, account, "a");
      const user = await create(one, account, "user", { name: "x" });
      await visited(one, account, "b");
      await one.write(contextFor(account), (draft) => {
        draft.replace(user, { name: "y" });
        draft.create(account, "user", { name: "x" });
      });
      await visited(one, account, "c");
      await one.write(contextFor(account), (draft) => draft.delete(draft.holder(account, "user", "y") ?? user));
      await other.refresh();
      assert.equal(told[0]?.length, 6);
      assert.deepEqual(told[1], told[0]);
      assert.deepEqual(everything(other), everything(one));
      assert.equal(await refusalOf(visited(other, account, "a")), "name_taken");
      for (const node of [one, other]) await node.close();
      await place.drop();
    });

    it("a node receives each write that arrives while it reads another, without a later poll", async () => {
      const place = await postgres.create();
      const never = { ...systemClock, every: () => ({ cancel: () => undefined }) };
      const one = await open(place.url, { cluster: true });
      const follower = await open(place.url, { cluster: true, clock: never });
      const account = defaultAccount(one);
      for (let turn = 0; turn < 40; turn += 1) {
        for (const name of ["a", "b", "c"]) await create(one, account, "user", { name: `${name}${turn}` });
        await reaches(follower, one.revision);
      }
      for (const node of [one, follower]) await node.close();
      await place.drop();
    });

    it("S7: a node's lease and its jobs remain while its clock is an hour ahead, an hour behind and right again", async () => {
      const place = await postgres.create();
      /** Resolves with the next renewal of the first node's lease. */
      const renewed = async (): Promise<void> => {
        const read = async () =>
          (await execute("postgres", place.url, "select renewed_at from nodes order by epoch"))[0];
        const before = await read();
        await eventually(read, (row) => String(row?.["renewed_at"]) !== String(before?.["renewed_at"]), 100);
      };
      let wrongMs = 0;
      const clock = { ...systemClock, now: () => systemClock.now() + wrongMs };
      const { log, lines } = keepingLog();
      const one = await open(place.url, { cluster: true, clock, log });
      const job = await taken(one, "held under a wrong clock");
      const other = await open(place.url, { cluster: true });
      other.jobs.want("held under a wrong clock");
      const account = defaultAccount(one);
      for (const ms of [3_600_000, -3_600_000, 0]) {
        wrongMs = ms;
        await renewed();
        await renewed();
        assert.ok(job.isHeld(), `the job at ${ms}`);
        await create(one, account, "user", { name: `at ${ms}` });
      }
      await reaches(other, one.revision);
      assert.deepEqual(
        lines.filter(({ event }) => event.includes("lease")),
        [],
      );
      for (const node of [one, other]) await node.close();
      await place.drop();
    });

    it("a node of an older version skips kinds that it does not know, and reads around them again", async () => {
      const place = await postgres.create();
      const { log, lines } = keepingLog();
      const newer = await open(place.url, { cluster: true, declarations: withVisits });
      const older = await open(place.url, { cluster: true, log });
      const account = defaultAccount(newer);
      await visited(newer, account, "a");
      await create(newer, account, "user", { name: "x" });
      await older.refresh();
      const users = (store: Store): unknown[] => [...store.objects(new Set(["user"]))];
      assert.deepEqual(users(older), users(newer));
      // The older node also writes, beside objects that it does not know.
      await create(older, account, "user", { name: "y" });
      // The older node is farther behind than the stored changes reach.
      await execute("postgres", place.url, "update head set sequence_kept = sequence + 3");
      await visited(newer, account, "b");
      await create(newer, account, "user", { name: "z" });
      await older.refresh();
      await newer.refresh();
      assert.equal(users(older).length, 3);
      assert.deepEqual(users(older), users(newer));
      assert.equal(lines.filter(({ fields }) => fields["kind"] === "visit").length, 1);
      for (const node of [older, newer]) await node.close();
      await place.drop();
    });

    for (const fate of ["stored", "dropped"] as const) {
      it(`a node's commit in doubt that was ${fate} is settled with that outcome, also if another node has written since`, async () => {
        const place = await postgres.create();
        const fault: Parameters<typeof openInDoubt>[1] = {};
        const [one, other] = [
          await openInDoubt(place.url, fault),
          await open(place.url, { cluster: true, declarations: withVisits }),
        ];
        const account = defaultAccount(one);
        for (const [n, write] of [
          () => create(one, account, "user", { name: "in doubt" }),
          () => visited(one, account, "in doubt"),
        ].entries()) {
          await one.refresh();
          fault.next = fate;
          fault.meanwhile = () => create(other, account, "user", { name: `meanwhile ${n}` });
          if (fate === "stored") await write();
          else assert.equal(await refusalOf(write()), "write_unavailable");
          assert.deepEqual(everything(one), everything(other));
          assert.ok(one.holder(account, "user", `meanwhile ${n}`));
        }
        assert.equal(one.holder(account, "user", "in doubt") !== undefined, fate === "stored");
        assert.equal(one.holder(account, "visit", "in doubt") !== undefined, fate === "stored");
        assert.deepEqual(await one.history.verify(), { revisions: one.revision });
        for (const node of [one, other]) await node.close();
        await place.drop();
      });
    }

    it("a node's commit in doubt that it has meanwhile read from the database is published once", async () => {
      const place = await postgres.create();
      const fault: Parameters<typeof openInDoubt>[1] = {};
      let elapsed = 0;
      const isWaiting = (): boolean => fault.isDown === true;
      const clock: Clock = {
        ...systemClock,
        monotonic: () => systemClock.monotonic() + elapsed,
        after(delayMs, run) {
          if (!isWaiting() || delayMs > 1_000) return systemClock.after(delayMs, run);
          elapsed += delayMs;
          return systemClock.after(1, run);
        },
      };
      const one = await openInDoubt(place.url, fault, clock);
      const account = defaultAccount(one);
      const seen: number[] = [];
      one.subscribe(({ revision }) => seen.push(revision));
      const { revision } = one;
      fault.next = "stored";
      fault.isDown = true;
      await assert.rejects(create(one, account, "user", { name: "in doubt" }), /read the object before you retry/);
      await one.refresh();
      assert.deepEqual(seen, [revision + 1]);
      fault.isDown = false;
      await create(one, account, "user", { name: "next" });
      assert.deepEqual(seen, [revision + 1, revision + 2]);
      assert.equal(one.revision, revision + 2);
      const again = await open(place.url, { cluster: true, declarations: withVisits });
      assert.deepEqual(everything(again), everything(one));
      for (const node of [one, again]) await node.close();
      await place.drop();
    });

    it("a node that is farther behind than the stored changes reads everything again, and publishes the difference", async () => {
      const place = await postgres.create();
      const options = { cluster: true, declarations: withVisits };
      const [one, other] = [await open(place.url, options), await open(place.url, options)];
      const account = defaultAccount(one);
      await visited(one, account, "gone");
      await other.refresh();
      const told: Commit[] = [];
      other.subscribe((commit) => told.push(commit));
      // The node gets no notification and polls nothing while this transaction locks the data.
      await execute("postgres", place.url, "update head set sequence_kept = sequence + 3");
      await visited(one, account, "new");
      await create(one, account, "user", { name: "new" });
      await execute("postgres", place.url, "delete from unrecorded");
      await other.refresh();
      assert.deepEqual(everything(other), everything(one));
      assert.equal(other.revision, one.revision);
      assert.ok(told.flatMap(({ changes }) => changes).length >= 2);
      for (const node of [one, other]) await node.close();
      await place.drop();
    });

    it("a node whose writes were lost in a failover continues with the database's data", async () => {
      const place = await postgres.create();
      const { log, lines } = keepingLog();
      const node = await open(place.url, { cluster: true, log });
      const account = defaultAccount(node);
      await create(node, account, "user", { name: "kept" });
      const tables = ["head", "batches", "revisions", "history", "objects"];
      await execute(
        "postgres",
        place.url,
        ...tables.map((table) => `create table old_${table} as select * from ${table}`),
      );
      await create(node, account, "user", { name: "lost" });
      const back = tables.flatMap((table) => [
        `delete from ${table}`,
        `insert into ${table} select * from old_${table}`,
      ]);
      await execute("postgres", place.url, "begin", ...back, "commit");
      const next = await create(node, account, "user", { name: "next" });
      assert.deepEqual(
        node.page(account, "user", { limit: 10 }).objects.map(({ doc }) => doc["name"]),
        ["next", "kept"],
      );
      assert.equal(next.revision, node.revision);
      assert.ok(lines.some(({ event }) => event.startsWith("the database has lost writes")));
      assert.deepEqual(await node.history.verify(), { revisions: node.revision });
      await node.close();
      await place.drop();
    });

    it("a node that is killed in any phase of a commit leaves the others writing, and no partial commit", async () => {
      const server = await startPostgres();
      if (!server) return;
      await inDirectory(async (directory) => {
        const proxy = await startCommitProxy(server.url, directory);
        const node = await open(server.url, { cluster: true });
        const account = defaultAccount(node);
        const acknowledged = new Set<string>();
        for (const fate of ["delivered", "dropped", "delivered", "dropped"] as const) {
          const child = await startStoreProcess(proxy.url, undefined, "cluster");
          child.send("flood 8");
          await child.line((line, count) => count > 20 && line.startsWith("stored"));
          const killed = new Promise<void>((resolve) => {
            proxy.atNextCommit(() => {
              process.kill(child.pid, "SIGKILL");
              resolve();
              return fate;
            });
          });
          await killed;
          await child.kill();
          await create(node, account, "user", { name: `after ${fate} of ${child.pid}` });
          for (const line of child.lines) if (line.startsWith("stored ")) acknowledged.add(line.slice(7));
        }
        for (const name of acknowledged) assert.ok(node.holder(account, "user", name), name);
        assert.ok(acknowledged.size > 60);
        assert.deepEqual(await node.history.verify(), { revisions: node.revision });
        await node.close();
        await proxy.stop();
      });
      await server.remove();
    });

    it("a node whose connections are cut follows and writes again automatically", async () => {
      const place = await postgres.create();
      const [one, other] = [await open(place.url, { cluster: true }), await open(place.url, { cluster: true })];
      const account = defaultAccount(one);
      for (let round = 0; round < 3; round += 1) {
        await execute(
          "postgres",
          place.url,
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
        );
        let made: unknown;
        while (!made) made = await create(one, account, "user", { name: `round ${round}` }).catch(() => undefined);
        await reaches(other, one.revision);
        assert.ok(other.holder(account, "user", `round ${round}`));
      }
      for (const node of [one, other]) await node.close();
      await place.drop();
    });

    it("a node whose lease was taken over stores nothing begun under it, and continues under another", async () => {
      const place = await postgres.create();
      const [one, other] = [await open(place.url, { cluster: true }), await open(place.url, { cluster: true })];
      const account = defaultAccount(one);
      const held = await taken(one, "a job");
      await execute("postgres", place.url, `delete from nodes where id = '${one.node?.id}'`);
      const theirs = await taken(other, "a job");
      const context = contextFor(account, { job: held });
      const work = one.write(context, (draft) => draft.create(account, "user", { name: "by a job that is another's" }));
      assert.equal(await refusalOf(work), "write_unavailable");
      assert.equal(held.isHeld(), false);
      assert.equal(theirs.isHeld(), true);
      await create(one, account, "user", { name: "under a new lease" });
      await other.refresh();
      assert.equal(other.holder(account, "user", "by a job that is another's"), undefined);
      assert.ok(other.holder(account, "user", "under a new lease"));
      for (const node of [one, other]) await node.close();
      await place.drop();
    });

    it("a node that leaves passes its jobs to another immediately", async () => {
      const place = await postgres.create();
      const [one, other] = [await open(place.url, { cluster: true }), await open(place.url, { cluster: true })];
      const held = await taken(one, "a job");
      assert.equal(held.isHeld(), true);
      const waiting = taken(other, "a job");
      await one.close();
      assert.equal((await waiting).isHeld(), true);
      assert.equal(held.isHeld(), false);
      await other.close();
      await place.drop();
    });
  });

  describe("two nodes on one PostgreSQL", () => {
    it("a node that opens the database reads it consistently, however fast another writes", async () => {
      const place = await postgres.create();
      const writer = await open(place.url, { cluster: true });
      const account = defaultAccount(writer);
      const { log } = keepingLog();
      const shared = { holder: nodesHolder, process: "opening", isShared: true, clock: systemClock, log };
      const database = await openPostgres({ url: place.url, ...shared });
      const opened = new AbortController();
      const write = async (): Promise<void> => {
        for (let n = 0; !opened.signal.aborted; n += 1) await create(writer, account, "user", { name: `name ${n}` });
      };
      const opening = async (): Promise<void> => {
        for (let n = 0; n < 300; n += 1) await takeOverForNodes(database);
      };
      const writing = write();
      try {
        await opening();
      } finally {
        opened.abort();
        await writing;
        await database.close();
      }
      await writer.close();
      await place.drop();
    });

    it("two nodes write in turn, each on the other's state, and end with the same data", async () => {
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

    it("two nodes that write as fast as possible assign no name twice, leave no gap, and neither starves", async () => {
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
