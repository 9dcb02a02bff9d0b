/** No acknowledged webhook is lost when servers, agents and the service are killed. By hand with more messages. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runInboxModel } from "../support/inbox-model.ts";
import { databases } from "../support/postgres.ts";

describe("an inbox whose server, agent or service is killed", { timeout: 300_000 }, () => {
  it("S9: an inbox delivers every acknowledged webhook at least once, and each line in order", async () => {
    const { accepted, duplicates } = await runInboxModel({ messages: 240, kills: 6 });
    assert.equal(accepted, 240);
    // Only attempts that a kill has cut can repeat: at most one per line and kill.
    assert.ok(duplicates <= 6 * 8, `${duplicates} duplicates`);
  });

  const postgres = databases.find(({ name }) => name === "postgres");
  it("an inbox loses nothing with two servers on one database", { skip: postgres === undefined }, async () => {
    const place = await postgres?.create();
    const { accepted } = await runInboxModel({ messages: 80, kills: 3, database: place?.url ?? "", seed: 5 });
    assert.equal(accepted, 80);
    await place?.drop();
  });
});
