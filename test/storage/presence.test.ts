/** The data of nodes about each other's agents: entries, and the public names that they claim. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Presence, PresenceNews } from "../../src/storage/cluster/presence.ts";
import type { Store } from "../../src/storage/store.ts";
import { databases } from "../support/postgres.ts";
import { open } from "./fixture.ts";
import { dump, execute } from "./sql.ts";

const postgres = databases.find(({ name }) => name === "postgres");

function presenceOf(store: Store): Presence {
  assert.ok(store.node);
  return store.node.presence;
}

/** A node's data about the others, and its subscribers. */
interface Known {
  readonly others: Map<string, string>;
  readonly listeners: ((news: readonly PresenceNews[]) => void)[];
}

const known = new WeakMap<Presence, Known>();

function knownTo(presence: Presence): Known {
  let one = known.get(presence);
  if (one) return one;
  const others = new Map<string, string>();
  const listeners: Known["listeners"] = [];
  known.set(presence, (one = { others, listeners }));
  presence.follow({
    has: (id) => others.has(id),
    ids: () => others.keys(),
    heard(news) {
      for (const each of news) {
        if (each.what === "put") others.set(each.id, each.node);
        else if (each.what === "removed" || each.what === "lapsed") others.delete(each.id);
      }
      for (const listener of listeners) listener(news);
    },
  });
  return one;
}

/** Returns the entries of other nodes that a node knows, with the node of each. */
function othersOf(presence: Presence): ReadonlyMap<string, string> {
  return knownTo(presence).others;
}

function subscribe(presence: Presence, listener: (news: readonly PresenceNews[]) => void): void {
  knownTo(presence).listeners.push(listener);
}

/** Resolves when `isWanted` returns true. It is checked after every notification. */
function once(presence: Presence, isWanted: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (isWanted()) resolve();
    };
    subscribe(presence, look);
    look();
  });
}

/** Returns the data from other nodes, by entry. */
function bodiesOf(presence: Presence): ReadonlyMap<string, string> {
  const bodies = new Map<string, string>();
  subscribe(presence, (news) => {
    for (const one of news) if (one.what === "put") bodies.set(one.id, one.body);
  });
  return bodies;
}

if (postgres) {
  describe("the presence of agents", () => {
    it("the presence of agents at one node is known at the other until it is removed or its node leaves", async () => {
      const place = await postgres.create();
      const [one, other] = [await open(place.url, { cluster: true }), await open(place.url, { cluster: true })];
      const [here, there] = [presenceOf(one), presenceOf(other)];
      const bodies = bodiesOf(there);
      here.put("ts_1", "a session");
      here.put("tn_1", "a tunnel");
      await once(there, () => othersOf(there).size === 2);
      assert.deepEqual([othersOf(there).get("tn_1"), bodies.get("tn_1")], [one.node?.id, "a tunnel"]);
      assert.equal(othersOf(here).size, 0);
      here.put("tn_1", "changed");
      here.remove("ts_1");
      await once(there, () => bodies.get("tn_1") === "changed" && othersOf(there).size === 1);
      await one.close();
      await once(there, () => othersOf(there).size === 0);
      await other.close();
      await place.drop();
    });

    it("a public name is granted once across all nodes: replaced holders leave after the new one is present, and pools share", async () => {
      const place = await postgres.create();
      const [one, other] = [await open(place.url, { cluster: true }), await open(place.url, { cluster: true })];
      const [here, there] = [presenceOf(one), presenceOf(other)];
      const taken: PresenceNews[] = [];
      subscribe(here, (news) => taken.push(...news.filter(({ what }) => what === "taken")));
      const of = (accountId: string, pool?: string, name = "a.example.com") => ({
        name,
        accountId,
        pool,
        replaces: [],
      });
      assert.equal(await here.claim("tn_1", of("a")), "granted");
      assert.equal(await there.claim("tn_2", of("a")), "pending");
      here.put("tn_1", "first", of("a"));
      await once(there, () => othersOf(there).has("tn_1"));
      assert.equal(await there.claim("tn_2", of("a")), "conflict");
      assert.equal(await there.claim("tn_2", of("b")), "conflict");
      assert.equal(await there.claim("tn_3", { ...of("a"), replaces: ["tn_1"] }), "granted");
      assert.ok(othersOf(there).has("tn_1"));
      there.put("tn_3", "newer", of("a"));
      await once(here, () => taken.length > 0 && othersOf(here).has("tn_3"));
      assert.deepEqual(taken, [{ what: "taken", id: "tn_1" }]);
      await once(there, () => !othersOf(there).has("tn_1"));

      const dropped = "dropped.example.com";
      assert.equal(await here.claim("tn_4", of("a", undefined, dropped)), "granted");
      here.drop("tn_4", dropped);
      await here.told();
      assert.equal(await there.claim("tn_5", of("b", undefined, dropped)), "granted");

      const pooled = "pool.example.com";
      assert.equal(await here.claim("tn_4", of("a", "p", pooled)), "granted");
      assert.equal(await there.claim("tn_5", of("a", "p", pooled)), "granted");
      here.put("tn_4", "pooled", of("a", "p", pooled));
      await here.told();
      assert.equal(await there.claim("tn_6", of("b", "p", pooled)), "conflict");

      const plain = "http://a.example.com";
      assert.equal(await there.claim("tn_7", of("b", undefined, plain)), "conflict");
      assert.equal(await there.claim("tn_8", of("a", undefined, plain)), "granted");

      const raced = await Promise.all(
        [here, there].flatMap((at, n) =>
          Array.from({ length: 10 }, (_, index) => at.claim(`tn_r${n}${index}`, of("a", undefined, ":20001"))),
        ),
      );
      assert.equal(raced.filter((outcome) => outcome === "granted").length, 1);
      for (const node of [one, other]) await node.close();
      await place.drop();
    });

    it("the presence of a node that was considered dead is restored after its return, except for names that were taken over", async () => {
      const place = await postgres.create();
      const [one, other] = [await open(place.url, { cluster: true }), await open(place.url, { cluster: true })];
      const [here, there] = [presenceOf(one), presenceOf(other)];
      for (const id of ["tn_1", "tn_2"]) here.put(id, id, { accountId: "a", name: `${id}.example.com` });
      await once(there, () => othersOf(there).size === 2);
      const news: PresenceNews[] = [];
      subscribe(here, (more) => news.push(...more));
      // Does what another node does when the lease has expired. Then an agent connects there.
      await execute("postgres", place.url, `delete from nodes where id = '${one.node?.id}'`, "select presence_bury()");
      await once(there, () => othersOf(there).size === 0);
      assert.equal(await there.claim("tn_3", { accountId: "b", name: "tn_1.example.com", replaces: [] }), "granted");
      there.put("tn_3", "tn_3", { accountId: "b", name: "tn_1.example.com" });
      await once(there, () => othersOf(there).has("tn_2"));
      await once(here, () => news.some(({ what, id }) => what === "taken" && id === "tn_1"));
      assert.deepEqual([...othersOf(there).keys()], ["tn_2"]);
      assert.ok(othersOf(here).has("tn_3"));
      for (const node of [one, other]) await node.close();
      await place.drop();
    });

    it("the presence of a node that joins and leaves between two polls of another is removed with it", async () => {
      const place = await postgres.create();
      const one = await open(place.url, { cluster: true });
      const here = presenceOf(one);
      for (const id of ["tn_1", "tn_2"]) {
        const other = await open(place.url, { cluster: true });
        presenceOf(other).put(id, id);
        await once(here, () => othersOf(here).has(id));
        await other.close();
      }
      await once(here, () => othersOf(here).size === 0);
      await one.close();
      await place.drop();
    });

    it("the presence of an agent that has moved is not undone by later messages of its former node", async () => {
      const place = await postgres.create();
      const [one, other] = [await open(place.url, { cluster: true }), await open(place.url, { cluster: true })];
      const here = presenceOf(one);
      const news: PresenceNews[] = [];
      subscribe(here, (more) => news.push(...more));
      here.put("tn_1", "here");
      await here.told();
      // Does what another node does, before this one is notified.
      const moved = `update presence set node = '${other.node?.id}', body = 'there', opened = opened + 1 where id = 'tn_1'`;
      await execute("postgres", place.url, moved);
      here.put("tn_1", "changed here");
      await once(here, () => news.length > 0);
      assert.deepEqual(news.at(-1), { what: "taken", id: "tn_1" });
      const [row] = await execute("postgres", place.url, "select node, body from presence where id = 'tn_1'");
      assert.deepEqual(row, { node: other.node?.id, body: "there" });
      // Late messages about an earlier presence of the agent do not change it, either.
      const later = `insert into presence (id, node, epoch, change, at, body, opened)
        select 'tn_2', id, epoch, nextval('presence_changes'), clock_timestamp(), 'there', 9000000000000000 from nodes
        where id = '${other.node?.id}'`;
      await execute("postgres", place.url, later);
      here.put("tn_2", "was here");
      await once(here, () => news.some(({ what, id }) => what === "taken" && id === "tn_2"));
      for (const node of [one, other]) await node.close();
      await place.drop();
    });

    it("the presence of an agent that has returned is at its current node, although another node reported it in between", async () => {
      const place = await postgres.create();
      const [one, other] = [await open(place.url, { cluster: true }), await open(place.url, { cluster: true })];
      const here = presenceOf(one);
      const taken: PresenceNews[] = [];
      subscribe(here, (news) => taken.push(...news.filter(({ what }) => what === "taken")));
      const bodies = bodiesOf(presenceOf(other));
      here.put("tn_1", "here");
      await here.told();
      const moved = `update presence set node = '${other.node?.id}', body = 'there', opened = opened + 1 where id = 'tn_1'`;
      await execute("postgres", place.url, moved);
      here.remove("tn_1");
      here.put("tn_1", "back");
      await here.told();
      const [row] = await execute("postgres", place.url, "select node from presence where id = 'tn_1'");
      assert.deepEqual(row, { node: one.node?.id });
      // Late messages of the other node about the earlier time change nothing.
      await once(presenceOf(other), () => bodies.get("tn_1") === "back");
      assert.deepEqual(taken, []);
      for (const node of [one, other]) await node.close();
      await place.drop();
    });

    it("the presence of 2,000 names that two nodes claim simultaneously, in different orders, goes to exactly one node each", async () => {
      const place = await postgres.create();
      const [one, other] = [await open(place.url, { cluster: true }), await open(place.url, { cluster: true })];
      const names = Array.from({ length: 2000 }, (_, n) => `n${n}.example.com`);
      const ask = (store: Store, prefix: string, order: readonly string[]): Promise<readonly string[]> =>
        Promise.all(
          order.map(async (name) => {
            const id = `${prefix}_${name}`;
            const outcome = await presenceOf(store).claim(id, { name, accountId: prefix, replaces: [] });
            if (outcome === "granted") presenceOf(store).put(id, id, { name, accountId: prefix });
            return outcome === "granted" ? name : "";
          }),
        );
      const granted = await Promise.all([ask(one, "a", names), ask(other, "b", names.toReversed())]);
      assert.deepEqual(
        granted
          .flat()
          .filter((name) => name !== "")
          .sort(),
        names.toSorted(),
      );
      assert.ok(granted.every((some) => some.some((name) => name !== "")));
      for (const node of [one, other]) await node.close();
      await place.drop();
    });

    it("the presence of agents that the database has lost in a crash is stored again by every node", async () => {
      const place = await postgres.create();
      const [one, other] = [await open(place.url, { cluster: true }), await open(place.url, { cluster: true })];
      const [here, there] = [presenceOf(one), presenceOf(other)];
      here.put("tn_1", "here");
      there.put("tn_2", "there");
      await once(there, () => othersOf(there).has("tn_1"));
      await once(here, () => othersOf(here).has("tn_2"));
      // The effect of a crash on unlogged tables.
      await execute("postgres", place.url, "truncate presence, presence_names, presence_life");
      const rows = async (): Promise<number> =>
        (await execute("postgres", place.url, "select id from presence")).length;
      while ((await rows()) < 2);
      assert.ok(othersOf(here).has("tn_2") && othersOf(there).has("tn_1"));
      for (const node of [one, other]) await node.close();
      await place.drop();
    });

    it("the presence of 20,000 tunnels is sent in batches, and is complete at the other node", async () => {
      const place = await postgres.create();
      const [one, other] = [await open(place.url, { cluster: true }), await open(place.url, { cluster: true })];
      const [here, there] = [presenceOf(one), presenceOf(other)];
      const bodies = bodiesOf(there);
      const count = 20_000;
      for (let n = 0; n < count; n += 1) here.put(`tn_${n}`, JSON.stringify({ labels: { n } }));
      await once(there, () => othersOf(there).size === count);
      assert.equal(bodies.get("tn_777"), '{"labels":{"n":777}}');
      for (const node of [one, other]) await node.close();
      await place.drop();
    });

    it("K6: the secret of session tickets is the same at all nodes, sealed, and replaced by a new one after its period", async () => {
      const place = await postgres.create();
      const [one, other] = [await open(place.url, { cluster: true }), await open(place.url, { cluster: true })];
      const shared = (store: Store, proposed: string) => store.node?.ticketSecret(proposed);
      const [first, same] = await Promise.all([shared(one, "proposed by one"), shared(other, "proposed by other")]);
      assert.equal(same?.secret, first?.secret);
      assert.match(first?.secret ?? "", /^proposed by/);
      assert.ok(first && first.leftMs > 0 && first.leftMs <= 8 * 60 * 60 * 1000);
      assert.doesNotMatch(await dump("postgres", place.url), /proposed by/);
      await execute("postgres", place.url, "update ticket_secrets set period = period - 1");
      assert.equal((await shared(other, "next"))?.secret, "next");
      const rows = await execute("postgres", place.url, "select * from ticket_secrets");
      assert.equal(rows.length, 1);
      for (const node of [one, other]) await node.close();
      await place.drop();
    });

    it("the presence of a storm is claimed, written and read without a look at all entries", async () => {
      const place = await postgres.create();
      const store = await open(place.url, { cluster: true });
      const entries = (prefix: string): object[] =>
        Array.from({ length: 300 }, (_, n) => ({ id: `${prefix}_${n}`, name: `${prefix}${n}.example.com` }));
      const rows = (prefix: string): string =>
        JSON.stringify(entries(prefix).map((one) => ({ ...one, body: "sealed", account_id: "a" })));
      const claims = JSON.stringify(
        entries("b").map((one) => ({ ...one, entry: (one as { id: string }).id, account_id: "a", replaces: [] })),
      );
      const node = `(select id from nodes), (select epoch from nodes)`;
      const [looks] = await execute(
        "postgres",
        place.url,
        `select presence_write(${node}, '${rows("a")}', '{}', '[]')`,
        "begin",
        `select presence_claims(${node}, '${claims}')`,
        `select presence_write(${node}, '${rows("b")}', '{a_1}', '[{"id":"c_1","name":"c1.example.com"}]')`,
        "select * from presence_since('another', 10, 1000)",
        `select sum(seq_scan)::integer as whole, sum(idx_scan)::integer as single from pg_stat_xact_user_tables
          where relname in ('presence', 'presence_names')`,
      );
      assert.equal(looks?.["whole"], 0);
      assert.ok((looks?.["single"] as number) > 0);
      await store.close();
      await place.drop();
    });
  });
}
