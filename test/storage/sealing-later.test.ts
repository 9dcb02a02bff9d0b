/** Values that an older version stored in plain text are sealed when a newer one opens the database. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Fields } from "../../src/schema/fields.ts";
import type { Declarations } from "../../src/storage/rows/kinds.ts";
import type { Store } from "../../src/storage/store.ts";
import { setTimeout as delay } from "node:timers/promises";
import { makeManualClock } from "../support/clock.ts";
import { databases } from "../support/postgres.ts";
import { contextFor, create, declarations, defaultAccount, emptyVault, routeDoc } from "./declarations.ts";
import { keepingLog, open } from "./fixture.ts";
import { dump, execute } from "./sql.ts";

const dayMs = 24 * 60 * 60 * 1000;
const canaries = ["canary-first", "canary-second", "canary-token", "canary-named", "canary-module"] as const;
const [first, second, token, named, inModule] = canaries;

for (const database of databases) {
  describe(`sealing earlier plain text on ${database.name}`, () => {
    /** Creates some revisions of an older version, which had no secrets. */
    const makeOld = async (url: string, clock = makeManualClock()) => {
      const store = await open(url, { declarations: withoutSecrets(declarations), clock });
      const account = defaultAccount(store);
      const more = { tokens: [token], named: { sealed_later: { value: named } } };
      const vault = await create(store, account, "vault", emptyVault({ password: first, ...more }));
      const edge = await create(store, account, "edge", { hostports: [] });
      const guard = { enabled: true, policy_ids: [], client_secret: inModule };
      const route = await create(store, account, "route", routeDoc(edge.id, guard));
      const { result } = await store.write(contextFor(account), (draft) =>
        draft.replace(vault, { ...vault.doc, password: second }),
      );
      const gone = await create(store, account, "vault", emptyVault({ password: first }));
      await store.write(contextFor(account), (draft) => draft.delete(gone));
      await store.close();
      // Restores the state before the step that schedules this work.
      await execute(database.name, url, "insert into pending (name) values ('seal stored values')");
      return { account, vault: result, first: vault, route };
    };
    const hashes = async (url: string) =>
      execute(database.name, url, "select revision, hash from revisions order by 1");
    const assertNone = async (url: string): Promise<void> => {
      const text = await dump(database.name, url);
      for (const canary of canaries) assert.ok(!text.includes(canary), canary);
    };

    it(`K4: sealing earlier plain text on ${database.name} leaves none in current rows, in the history or in the files, and changes no value`, async () => {
      const place = await database.create();
      const old = await makeOld(place.url);
      assert.ok((await dump(database.name, place.url)).includes(first));
      const store = await open(place.url);
      const check = async (opened: Store): Promise<void> => {
        assert.deepEqual(opened.get(old.account, "vault", old.vault.id), old.vault);
        assert.deepEqual(opened.get(old.account, "route", old.route.id), old.route);
        const past = await opened.history.objectAt(old.first.revision, old.account, "vault", old.vault.id);
        assert.deepEqual(past, old.first);
      };
      await check(store);
      await assertNone(place.url);
      await store.close();
      await assertNone(place.url);
      assert.deepEqual(await execute(database.name, place.url, "select * from pending"), []);
      const again = await open(place.url);
      await check(again);
      await again.close();
      await place.drop();
    });

    it(`P6: sealing earlier plain text on ${database.name} changes no hash of the log, which is verified against the original values`, async () => {
      const place = await database.create();
      await makeOld(place.url);
      const before = await hashes(place.url);
      const store = await open(place.url);
      assert.deepEqual(await hashes(place.url), before);
      assert.deepEqual(await store.history.verify(), { revisions: store.revision });
      const [row] = await execute(
        database.name,
        place.url,
        "select revision, doc from history where kind = 'vault' order by revision limit 1",
      );
      const text = String(row?.["doc"]);
      const at = Number(row?.["revision"]);
      const sealed = /"sealed_later":"([^"]+)"/.exec(text)?.[1] as string;
      const last = sealed.slice(-1) === "A" ? "B" : "A";
      for (const damaged of [
        text.replace(sealed, sealed.slice(0, -1) + last),
        text.replace(`{"sealed_later":"${sealed}"}`, '"another"'),
        text.replace('"weights":{}', '"weights":{"us_x":1}'),
      ]) {
        assert.notEqual(damaged, text);
        await execute(database.name, place.url, `update history set doc = '${damaged}' where revision = ${at}`);
        assert.deepEqual(await store.history.verify(), { revisions: at - 1, brokenAt: at });
      }
      await execute(database.name, place.url, `update history set doc = '${text}' where revision = ${at}`);
      assert.deepEqual(await store.history.verify(), { revisions: store.revision });
      await store.close();
      await place.drop();
    });

    it(`P6: the log is verified equally if the history is pruned before or after values were sealed later, on ${database.name}`, async () => {
      const place = await database.create();
      const clock = makeManualClock();
      const prune = async (older: boolean): Promise<Store> => {
        const { log, lines } = keepingLog();
        const known = older ? { declarations: withoutSecrets(declarations) } : {};
        const store = await open(place.url, { ...known, clock, log, historyDays: 10, clockConfirmed: clock.now() });
        // Pruning is announced two hours before.
        clock.pass(11 * 60 * 1000);
        for (let turn = 1; !lines.some(({ event }) => event === "history pruned"); turn += 1) {
          clock.pass(turn % 5 === 0 && turn <= 250 ? 10 * 60 * 1000 : 25);
          await delay(1);
        }
        return store;
      };
      await makeOld(place.url, clock);
      await execute(database.name, place.url, "delete from pending");
      clock.pass(20 * dayMs);
      await (await prune(true)).close();
      await execute(database.name, place.url, "insert into pending (name) values ('seal stored values')");
      const store = await open(place.url, { clock, clockConfirmed: clock.now() });
      assert.deepEqual(await store.history.verify(), { revisions: store.revision });
      const account = defaultAccount(store);
      for (const vault of store.page(account, "vault", { limit: 10 }).objects) {
        await store.write(contextFor(account), (draft) => draft.replace(vault, { ...vault.doc, tokens: [] }));
      }
      await store.close();
      clock.pass(20 * dayMs);
      const pruned = await prune(false);
      assert.deepEqual(await pruned.history.verify(), { revisions: pruned.revision });
      await pruned.close();
      await place.drop();
    });

    it(`S6: sealing earlier plain text on ${database.name} starts again if it was interrupted`, async () => {
      const place = await database.create();
      const old = await makeOld(place.url);
      const [row] = await execute(database.name, place.url, `select doc from objects where id = '${old.route.id}'`);
      await execute(database.name, place.url, `update objects set doc = '{' where id = '${old.route.id}'`);
      await assert.rejects(open(place.url));
      assert.ok((await dump(database.name, place.url)).includes(second));
      const text = String(row?.["doc"]);
      await execute(database.name, place.url, `update objects set doc = '${text}' where id = '${old.route.id}'`);
      await (await open(place.url)).close();
      await assertNone(place.url);
      await place.drop();
    });
  });
}

function withoutSecrets({ resources, modules }: Declarations): Declarations {
  const plain = (fields: Fields): Fields => JSON.parse(JSON.stringify(fields).replaceAll('"secret":true', '"doc":""'));
  return {
    resources: resources.map((one) => ({ ...one, fields: plain(one.fields) })),
    modules: modules.map((one) => ({ ...one, fields: plain(one.fields) })),
  };
}
