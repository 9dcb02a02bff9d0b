/** Short-lived texts for all nodes: sealed, bounded, and valid for a limited time. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { NoteLimits } from "../../src/storage/cluster/shared-notes.ts";
import type { Store } from "../../src/storage/store.ts";
import { databases } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";
import { open } from "./fixture.ts";
import { execute } from "./sql.ts";

const postgres = databases.find(({ name }) => name === "postgres");
const limits: NoteLimits = { purpose: "test", keepMs: 60_000, maxPerOwner: 2, max: 3 };

describe("notes of nodes", { skip: skipWithoutPostgres }, () => {
  let url: string;
  let drop: () => Promise<void>;
  let one: Store;
  let other: Store;
  before(async () => {
    if (!postgres) return;
    ({ url, drop } = await postgres.create());
    [one, other] = [await open(url, { cluster: true }), await open(url, { cluster: true })];
  });
  after(async () => {
    await one.close();
    await other.close();
    await drop();
  });
  const notesOf = (store: Store, changes: Partial<NoteLimits> = {}) => {
    const notes = store.node?.notes({ ...limits, ...changes });
    assert.ok(notes);
    return notes;
  };

  it("a note of one node is read by another, by its owner and for its purpose alone", async () => {
    const [at, elsewhere] = [notesOf(one), notesOf(other)];
    // Both may be the first to use the table.
    await Promise.all([at.put("key a", "plan", "first"), elsewhere.put("key b", "plan", "of b")]);
    assert.equal(await elsewhere.find("key a", "plan"), "first");
    await elsewhere.put("key a", "plan", "second");
    assert.equal(await at.find("key a", "plan"), "second");
    for (const [owner, id] of [
      ["key a", "other"],
      ["key c", "plan"],
    ] as const) {
      assert.equal(await at.find(owner, id), undefined);
    }
    assert.equal(await notesOf(other, { purpose: "else" }).find("key a", "plan"), undefined);
  });

  it("notes are sealed in the database, and unreadable under the name of another owner", async () => {
    await notesOf(one).put("key a", "sealed", "a secret of the document");
    const rows = await execute("postgres", url, "select * from notes");
    assert.ok(rows.length > 0 && !JSON.stringify(rows).includes("a secret"));
    await execute("postgres", url, "update notes set owner = 'key z' where id = 'sealed'");
    await assert.rejects(notesOf(other).find("key z", "sealed"));
  });

  it("an owner and all owners together have a limited number of notes, and the oldest are dropped", async () => {
    const notes = notesOf(one, { purpose: "bounded" });
    const held = async (): Promise<readonly string[]> => {
      const rows = await execute("postgres", url, "select owner, id from notes where purpose = 'bounded' order by at");
      return rows.map((row) => String(row["owner"]) + String(row["id"]));
    };
    for (const id of ["1", "2", "3"]) await notes.put("a", id, "x");
    assert.deepEqual(await held(), ["a2", "a3"]);
    for (const owner of ["b", "c"]) await notes.put(owner, "1", "x");
    assert.deepEqual(await held(), ["a3", "b1", "c1"]);
  });

  it("a note ends after its time, and is deleted with the next one", async () => {
    const notes = notesOf(one, { purpose: "timed" });
    await notes.put("a", "1", "x");
    await execute("postgres", url, "update notes set at = at - interval '61 s' where purpose = 'timed'");
    assert.equal(await notesOf(other, { purpose: "timed" }).find("a", "1"), undefined);
    await notes.put("b", "1", "x");
    const [count] = await execute("postgres", url, "select count(*)::integer as n from notes where purpose = 'timed'");
    assert.equal(count?.["n"], 1);
  });
});
