/** One control plane per database. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { databases } from "../support/postgres.ts";
import { startStoreProcess } from "./child.ts";
import { create, defaultAccount } from "./declarations.ts";
import { open } from "./fixture.ts";

for (const database of databases) {
  describe(`a second control plane on ${database.name}`, () => {
    it(`a second control plane on ${database.name} is rejected in one sentence while the first one lives, and accepted after it was killed`, async () => {
      const place = await database.create();
      const first = await startStoreProcess(place.url);
      await assert.rejects(open(place.url), /^Error: open database: another process has it open.*stop it first$/);
      first.send("write unharmed");
      await first.line((line) => line === "stored unharmed");
      await first.kill();
      const store = await open(place.url);
      assert.ok(store.holder(defaultAccount(store), "user", "unharmed"));
      const second = await startStoreProcess(place.url);
      assert.match(second.lines[0] ?? "", /^failed open database: another process has it open/);
      await create(store, defaultAccount(store), "user", { name: "also unharmed" });
      await store.close();
      await (await open(place.url)).close();
      await place.drop();
    });
  });
}
