/**
 * Documents of hundreds of kilobytes, such as metadata and certificates. A start reads them without combining all of
 * them in one text.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openDatabase, openStore } from "../../src/storage/opening/open-store.ts";
import { pagesOfRows } from "../../src/storage/rows/rows.ts";
import { databases } from "../support/postgres.ts";
import { contextFor, defaultAccount, optionsFor } from "./declarations.ts";
import { closedAtEnd } from "./fixture.ts";

/** Lengths around the part of a document that a page reads, with one byte per character and with several. */
const lengths = [10, 65_400, 65_536, 65_600, 200_000, 20, 1_000_000, 30];
const texts = lengths.flatMap((length) => ["x".repeat(length), "ü".repeat(length / 2)]);
/** Maximum page in characters. The largest document alone is longer. */
const longestPage = 600_000;

for (const { name, create } of databases) {
  describe(`large documents on ${name}`, () => {
    it(`large documents are the same after a restart, and are never read many at a time, on ${name}`, async () => {
      const { url } = await create();
      let store = await closedAtEnd(openStore(optionsFor(url)));
      const account = defaultAccount(store);
      const { result: ids } = await store.write(contextFor(account), (draft) =>
        texts.map((text) => draft.create(account, "user", { name: text }).id),
      );
      await store.close();
      store = await closedAtEnd(openStore(optionsFor(url)));
      assert.ok(ids.every((id, at) => store.get(account, "user", id)?.doc["name"] === texts[at]));
      await store.close();
      const { database } = await openDatabase(optionsFor(url));
      for await (const { rows } of pagesOfRows(database.reads)) assert.ok(rows.length < longestPage, `${rows.length}`);
      await database.close();
    });
  });
}
