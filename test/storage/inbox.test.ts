/** The storage of inboxes, on both databases: what it keeps when a process ends at any step, and who delivers. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { join } from "node:path";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { inboxPayload } from "../../src/lib/inbox-payload.ts";
import { silentLog } from "../../src/lib/log.ts";
import { accountSealersWith, newDataKey } from "../../src/storage/sealing/sealing.ts";
import type { InboxEngine, InboxStep } from "../../src/storage/inbox/inbox-engine.ts";
import { InboxQueries } from "../../src/storage/inbox/inbox-queries.ts";
import { InboxStore, leaseMs } from "../../src/storage/inbox/inbox-store.ts";
import type { ClaimedMessage, NewMessage, DeliveryVerdict } from "../../src/storage/inbox/inbox-messages.ts";
import { postgresEngine } from "../../src/storage/inbox/postgres-engine.ts";
import { sqliteEngine } from "../../src/storage/inbox/sqlite-engine.ts";
import { databases } from "../support/postgres.ts";

const sealers = accountSealersWith([newDataKey()]);
const accountId = "ac_1";
const delivered: DeliveryVerdict = { is: "delivered", retainMs: 3_600_000 };
const result = { status: 200, error: undefined, durationMs: 1 };

function message(id: string, more: Partial<NewMessage> = {}): NewMessage {
  return {
    id,
    accountId,
    routeId: "route_1",
    provider: "",
    eventType: "",
    method: "POST",
    path: "/",
    source: "192.0.2.1",
    requestId: "req_1",
    key: id,
    keyMs: 60_000,
    line: undefined,
    payload: inboxPayload("{}", Buffer.from(`body of ${id}`)),
    ...more,
  };
}

async function put(store: InboxStore, one: NewMessage): Promise<"stored" | "duplicate" | undefined> {
  return (await store.put([one]))[0];
}

async function empty(engine: InboxEngine): Promise<void> {
  const tables = ["messages", "bodies", "attempts", "keys", "usage", "pauses"];
  await engine.write(tables.map((name) => ({ sql: `delete from inbox_${name}`, parameters: [] })));
}

/** Fails at one write, before or after its commit, as if the process had ended there. All later calls fail, too. */
function endingAt(engine: InboxEngine, at: number, isCommitted: boolean): InboxEngine & { hasEnded: boolean } {
  let writes = 0;
  const ended = new Error("the process has ended");
  const ending = {
    dialect: engine.dialect,
    hasEnded: false,
    async write(...work: Parameters<InboxEngine["write"]>) {
      if (ending.hasEnded) throw ended;
      writes += 1;
      if (writes < at) return await engine.write(...work);
      ending.hasEnded = true;
      if (isCommitted) await engine.write(...work);
      throw ended;
    },
    async read(step: InboxStep) {
      if (ending.hasEnded) throw ended;
      return await engine.read(step);
    },
    close: () => Promise.resolve(),
  };
  return ending;
}

for (const database of databases) {
  describe(`the storage of inboxes on ${database.name}`, { timeout: 120_000 }, () => {
    const directory = mkdtempSync(join(tmpdir(), "postern-inbox-"));
    let place: Awaited<ReturnType<typeof database.create>>;
    let files = 0;
    before(async () => {
      place = await database.create();
    });
    after(async () => {
      await place.drop();
      rmSync(directory, { recursive: true });
    });

    const engineAt = (file: string): InboxEngine =>
      database.name === "sqlite" ? sqliteEngine(file) : postgresEngine(place.url, silentLog);
    /** Runs with an empty storage. */
    const withEngine = async (use: (engine: InboxEngine, file: string) => Promise<void>): Promise<void> => {
      const file = join(directory, `inbox-${(files += 1)}.db`);
      const engine = engineAt(file);
      try {
        await empty(engine);
        await use(engine, file);
      } finally {
        await engine.close();
      }
    };

    it("S9: a message of an inbox is acknowledged after a durable commit, sealed with its account's key", async () => {
      await withEngine(async (engine) => {
        const [[row]] = (await engine.write([
          {
            sql: engine.dialect === "sqlite" ? "pragma synchronous" : "show synchronous_commit",
            parameters: [],
          },
        ])) as [[Record<string, unknown>]];
        // SQLite: 2 is FULL, which syncs the log with every commit.
        assert.deepEqual(Object.values(row), [engine.dialect === "sqlite" ? 2 : "on"]);
        const store = new InboxStore(engine, sealers, "one");
        assert.equal(await put(store, message("m1")), "stored");
        const [body] = await engine.read({ sql: "select seq, sealed from inbox_bodies", parameters: [] });
        const sealed = Buffer.from(body?.["sealed"] as Uint8Array);
        assert.ok(!sealed.includes("body of m1"));
        const seq = Number(body?.["seq"]);
        assert.equal((await store.payload({ seq, accountId, id: "m1" })).body.toString(), "body of m1");
        await assert.rejects(store.payload({ seq, accountId: "ac_2", id: "m1" }), /missing|altered or moved/);
        assert.throws(() => sealers("ac_2").openBytes(sealed, `inbox\0${accountId}\0m1`), /altered or moved/);
      });
    });

    it("S9: an inbox loses no acknowledged message and keeps the order of a line wherever its process ends", async () => {
      const ids = ["m1", "m2", "m3"];
      const run = async (engine: InboxEngine, at: number, isCommitted: boolean, reply: "fine" | "cut" | "away") => {
        const acknowledged = new Set<string>();
        const firsts: string[] = [];
        let deliveries = 0;
        /** One process: stores what is not acknowledged, and delivers. A cut attempt reaches the service, an away one not. */
        const live = async (store: InboxStore, isFirst: boolean): Promise<void> => {
          await store.takeOver();
          for (const id of ids) {
            if (acknowledged.has(id)) continue;
            // The provider repeats the webhook: the message has another id and the same key.
            await put(store, message(id, { id: isFirst ? id : `${id} again`, line: "line" }));
            acknowledged.add(id);
          }
          for (let left = 20; left > 0; left -= 1) {
            const claimed = await store.claim("route_1", 5, 5);
            assert.ok(claimed.length <= 1, "a line has one message at a time");
            const [one] = claimed as [ClaimedMessage | undefined];
            if (one === undefined) break;
            const name = /m\d/.exec((await store.payload(one)).body.toString())?.[0] ?? "";
            const isFault = isFirst && deliveries === 0 && reply !== "fine";
            if (!isFault || reply === "cut") {
              deliveries += 1;
              if (!firsts.includes(name)) firsts.push(name);
            }
            const verdict: DeliveryVerdict = !isFault
              ? delivered
              : reply === "cut"
                ? { is: "retry", afterMs: 0 }
                : { is: "return" };
            const failed = { status: undefined, error: reply, durationMs: 1 };
            await store.settle(one, isFault ? failed : result, verdict);
            if (isFault && reply === "away") break;
          }
        };
        const ending = endingAt(engine, at, isCommitted);
        await live(new InboxStore(ending, sealers, "first"), true).catch((error: unknown) => {
          if (!ending.hasEnded) throw error;
        });
        // Dropping a message as a duplicate is right only if the first one was stored.
        await live(new InboxStore(engine, sealers, "second"), false);
        assert.deepEqual(firsts, ids, `write ${at}, ${reply}`);
        assert.ok(deliveries <= ids.length + 2, "only a cut attempt repeats");
        const open = "select id from inbox_messages where state <> 'delivered'";
        assert.deepEqual(await engine.read({ sql: open, parameters: [] }), []);
        return ending.hasEnded;
      };
      await withEngine(async (engine) => {
        for (const reply of ["fine", "cut", "away"] as const) {
          for (const isCommitted of [false, true]) {
            let hasEnded = true;
            for (let at = 1; hasEnded; at += 1) {
              await empty(engine);
              hasEnded = await run(engine, at, isCommitted, reply);
            }
          }
        }
      });
    });

    it("an inbox stores a batch like single messages: it drops duplicates, and only the first of a line waits", async () => {
      await withEngine(async (engine) => {
        const store = new InboxStore(engine, sealers, "one");
        await put(store, message("m1", { line: "a" }));
        const outcomes = await store.put([
          message("m2", { key: "m1", line: "b" }),
          message("m3", { line: "a" }),
          message("m4", { line: "b", accountId: "ac_2" }),
          message("m5", { line: "b", key: "" }),
          message("m6", { key: "m4" }),
          message("m7", { key: "" }),
        ]);
        assert.deepEqual(outcomes, ["duplicate", "stored", "stored", "stored", "duplicate", "stored"]);
        const states = "select id, state from inbox_messages order by seq";
        assert.deepEqual(
          (await engine.read({ sql: states, parameters: [] })).map(
            (row) => `${String(row["id"])} ${String(row["state"])}`,
          ),
          ["m1 waiting", "m3 blocked", "m4 waiting", "m5 blocked", "m7 waiting"],
        );
        const usage = await store.usage();
        assert.deepEqual([usage.get("ac_1")?.messages, usage.get("ac_2")?.messages], [4, 1]);
        for (const one of await store.claim("route_1", 9, 9)) {
          assert.equal((await store.payload(one)).body.toString(), `body of ${one.id}`);
        }
      });
    });

    it("an inbox deletes old messages in bounded steps, reads no others for that, and lists delivered ones by an index", async () => {
      await withEngine(async (engine) => {
        const store = new InboxStore(engine, sealers, "one");
        const accounts = ["ac_1", "ac_2"];
        const ids = Array.from({ length: 400 }, (_, at) => `m${at}`);
        await Promise.all(ids.map((id, at) => put(store, message(id, { accountId: accounts[at % 2] as string }))));
        const old = "update inbox_messages set state = 'delivered', purge_ms = seq where seq % 10 <> 0";
        await engine.write([{ sql: old, parameters: [] }]);
        const asked: InboxStep[] = [];
        const watched: InboxEngine = {
          ...engine,
          read: (step) => (asked.push(step), engine.read(step)),
          write: (steps, messages) => (asked.push(...steps), engine.write(steps, messages)),
        };
        const queries = new InboxQueries(watched);
        const left: number[] = [];
        const count = { sql: "select count(*) as count from inbox_messages", parameters: [] };
        do left.push(Number((await engine.read(count))[0]?.["count"]));
        while (await queries.purge());
        assert.deepEqual(left, [400, 150]);
        const sums =
          "select account_id, count(*) as messages, sum(bytes) as bytes from inbox_messages group by account_id";
        const rest = await engine.read({ sql: sums, parameters: [] });
        const expected = new Map(accounts.map((id) => [id, { messages: 0, bytes: 0 }]));
        for (const { account_id: id, messages, bytes } of rest)
          expected.set(String(id), { messages: Number(messages), bytes: Number(bytes) });
        assert.deepEqual(await store.usage(), expected);
        await queries.list("ac_1", { state: "delivered" }, 10);
        if (engine.dialect !== "sqlite") return;
        for (const { sql, parameters } of asked) {
          const plan = await engine.read({ sql: `explain query plan ${sql}`, parameters });
          const details = plan.map((row) => String(row["detail"])).join("\n");
          assert.doesNotMatch(details, /inbox_of_account|SCAN inbox_messages/, sql);
        }
      });
    });

    it("several nodes deliver each message of an inbox at one node at a time, and free what a dead node has left", async () => {
      await withEngine(async (engine, file) => {
        const others = [engineAt(file), engineAt(file)];
        const nodes = [engine, ...others].map((one, at) => new InboxStore(one, sealers, `node ${at}`));
        const [first, second] = nodes as [InboxStore, InboxStore];
        const ids = Array.from({ length: 60 }, (_, at) => `m${at}`);
        await Promise.all(
          ids.map((id, at) => put(nodes[at % 3] as InboxStore, message(id, { line: `line ${at % 4}` }))),
        );
        const sent: string[] = [];
        const underWay = new Set<string>();
        const work = async (node: InboxStore): Promise<void> => {
          for (let idle = 0; idle < 50 && sent.length < ids.length;) {
            const claimed = await node.claim("route_1", 2, 8);
            idle = claimed.length === 0 ? idle + 1 : 0;
            for (const one of claimed) {
              assert.ok(!underWay.has(one.line ?? ""), "a line is under way once");
              underWay.add(one.line ?? "");
              sent.push(one.id);
            }
            await Promise.all(
              claimed.map(async (one) => {
                underWay.delete(one.line ?? "");
                await node.settle(one, result, delivered);
              }),
            );
          }
        };
        await Promise.all(nodes.map(work));
        assert.deepEqual([...sent].sort(), [...ids].sort());
        const seqs = await engine.read({ sql: "select id, line from inbox_messages order by seq", parameters: [] });
        for (const line of new Set(seqs.map((row) => row["line"]))) {
          const inOrder = seqs.filter((row) => row["line"] === line).map((row) => String(row["id"]));
          assert.deepEqual(
            sent.filter((id) => inOrder.includes(id)),
            inOrder,
          );
        }

        await put(first, message("late"));
        const [lost] = await first.claim("route_1", 1, 8);
        assert.deepEqual(await second.claim("route_1", 1, 8), []);
        await second.keepLeases();
        assert.deepEqual(await second.claim("route_1", 1, 8), [], "the lease is held");
        // The first node dies, and its lease expires.
        await engine.write([{ sql: "update inbox_messages set lease_ms = 1 where id = 'late'", parameters: [] }]);
        await second.keepLeases();
        const [again] = await second.claim("route_1", 1, 8);
        assert.equal(again?.id, "late");
        // A node that was only slow cannot end the message of another one.
        await first.settle(lost as ClaimedMessage, result, delivered);
        const state = "select state from inbox_messages where id = 'late'";
        assert.deepEqual(
          (await engine.read({ sql: state, parameters: [] })).map((row) => row["state"]),
          ["sending"],
        );
        await second.settle(again as ClaimedMessage, result, delivered);
        // Nodes look every two seconds, so a death delays a message by at most ten.
        assert.ok(leaseMs + 2 * 2_000 <= 10_000);
        await Promise.all(others.map((one) => one.close()));
      });
    });
  });
}
