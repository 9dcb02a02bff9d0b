/** Secrets at rest: the database and its files alone reveal no secret. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmodSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { loadSealingKey } from "../../src/storage/sealing/sealing-key.ts";
import { databases } from "../support/postgres.ts";
import { contextFor, create, defaultAccount, emptyVault, routeDoc, sealingKey } from "./declarations.ts";
import { inDirectory, open } from "./fixture.ts";
import { dump, execute } from "./sql.ts";

for (const database of databases) {
  describe(`secrets on ${database.name}`, () => {
    it(`K4: a dump of the database reveals no secret from any place of a document or a response, on ${database.name}`, async () => {
      const place = await database.create();
      const secrets = Array.from({ length: 5 }, () => randomBytes(16).toString("hex"));
      const [password, token, named, inModule, answer] = secrets as [string, string, string, string, string];
      const store = await open(place.url);
      const account = defaultAccount(store);
      const vault = await create(
        store,
        account,
        "vault",
        emptyVault({ password, tokens: [token], named: { plain: { value: named } } }),
      );
      const edge = await create(store, account, "edge", { hostports: [] });
      const guard = { enabled: true, policy_ids: [], client_secret: inModule };
      const route = await create(store, account, "route", routeDoc(edge.id, guard));
      await store.write(contextFor(account), (draft) =>
        draft.replace(vault, { ...vault.doc, password: `${password}2` }),
      );
      const once = { key: "k", fingerprint: "f", answer: () => answer };
      await store.write(contextFor(account), (draft) => draft.create(account, "user", { name: "visible" }), once);
      const stored = await dump(database.name, place.url);
      await store.close();
      for (const text of [stored, await dump(database.name, place.url)]) {
        assert.ok(text.includes("visible"));
        for (const secret of secrets) assert.ok(!text.includes(secret));
        assert.ok(!text.includes(sealingKey.toString("base64")) && !text.includes(sealingKey.toString("hex")));
      }
      const again = await open(place.url);
      assert.equal(again.get(account, "vault", vault.id)?.doc["password"], `${password}2`);
      assert.deepEqual(again.get(account, "route", route.id), route);
      assert.deepEqual(await again.history.objectAt(vault.revision, account, "vault", vault.id), vault);
      await again.close();
      await place.drop();
    });

    it(`K4: a sealed secret that was altered or moved to another object does not open, on ${database.name}`, async () => {
      const place = await database.create();
      const store = await open(place.url);
      const account = defaultAccount(store);
      const mine = await create(store, account, "vault", emptyVault({ password: "mine" }));
      const theirs = await create(store, account, "vault", emptyVault({ password: "theirs" }));
      await store.close();
      const doc = `(select doc from objects where id = '${theirs.id}')`;
      const [row] = await execute(database.name, place.url, `select doc from objects where id = '${mine.id}'`);
      const original = String(row?.["doc"]);
      await execute(database.name, place.url, `update objects set doc = ${doc} where id = '${mine.id}'`);
      await assert.rejects(open(place.url), /it was altered or moved/);
      const sealed = (JSON.parse(original) as { password: { sealed: string } }).password.sealed;
      const damaged = original.replace(
        sealed,
        sealed.slice(0, 20) + (sealed[20] === "A" ? "B" : "A") + sealed.slice(21),
      );
      await execute(database.name, place.url, `update objects set doc = '${damaged}' where id = '${mine.id}'`);
      await assert.rejects(open(place.url), /it was altered or moved/);
      await execute(database.name, place.url, `update objects set doc = '${original}' where id = '${mine.id}'`);
      await (await open(place.url)).close();
      await place.drop();
    });

    it(`K4: another sealing key is rejected in one sentence, and a new one replaces the old one, on ${database.name}`, async () => {
      const place = await database.create();
      const [old, young, foreign] = [randomBytes(32), randomBytes(32), randomBytes(32)];
      let store = await open(place.url, { sealingKey: old });
      const account = defaultAccount(store);
      const vault = await create(store, account, "vault", emptyVault({ password: "kept" }));
      await store.close();
      await assert.rejects(
        open(place.url, { sealingKey: foreign }),
        /sealed under the key "[0-9a-f]{12}".*restore the file "sealing-key"/,
      );
      await (await open(place.url, { sealingKey: [young, old] })).close();
      store = await open(place.url, { sealingKey: young });
      assert.deepEqual(store.get(account, "vault", vault.id), vault);
      await store.close();
      await assert.rejects(open(place.url, { sealingKey: old }), /sealed under the key/);
      await place.drop();
    });
  });
}

describe("the sealing key", () => {
  it("the sealing key is created on first use, only for its owner, and does not change", async () => {
    await inDirectory(async (directory) => {
      const [key] = loadSealingKey(directory);
      assert.equal(key?.length, 32);
      assert.equal(statSync(join(directory, "sealing-key")).mode & 0o777, 0o600);
      assert.deepEqual(loadSealingKey(directory), [key]);
      await inDirectory(async (other) => assert.notDeepEqual(loadSealingKey(other), [key]));
    });
  });

  it("P8: the sealing key is rejected if others may read its file", async () => {
    await inDirectory(async (directory) => {
      loadSealingKey(directory);
      for (const mode of [0o640, 0o604, 0o660]) {
        chmodSync(join(directory, "sealing-key"), mode);
        assert.throws(() => loadSealingKey(directory), /other users can read it; run `chmod 600/);
      }
      chmodSync(join(directory, "sealing-key"), 0o600);
      loadSealingKey(directory);
    });
  });

  it("the sealing key can be configured, several to rotate, and is rejected if it is not 32 bytes", async () => {
    await inDirectory(async (directory) => {
      const keys = [randomBytes(32), randomBytes(32)];
      const text = keys.map((key) => key.toString("base64")).join("\n");
      assert.deepEqual(loadSealingKey(directory, text), keys);
      assert.deepEqual(readdirSync(directory), []);
      writeFileSync(join(directory, "sealing-key"), text, { mode: 0o600 });
      assert.deepEqual(loadSealingKey(directory), keys);
      for (const wrong of ["", "short", randomBytes(31).toString("base64")]) {
        assert.throws(() => loadSealingKey(directory, wrong), /must hold 32 bytes/);
      }
    });
  });
});
