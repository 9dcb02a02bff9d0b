import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { makeManualClock } from "../support/clock.ts";
import type { ManualClock } from "../support/clock.ts";
import { eventually } from "../support/eventually.ts";
import { databases } from "../support/postgres.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** Reads of one look of the pruner. */
const readsOfLook = 6;

/** Passes hours in steps of ten minutes. In each step, the pruner gets as much time as it needs for its reads. */
async function passHours(clock: ManualClock, api: TestApi, hours: number): Promise<void> {
  for (let turn = 0; turn < 6 * hours; turn += 1) {
    clock.pass(10 * 60 * 1000);
    for (let read = 0; read < readsOfLook; read += 1) await api.request("GET", "/revisions?limit=1");
  }
}

for (const database of databases) {
  describe(`a history that was pruned on ${database.name}`, () => {
    const clock = makeManualClock();
    let api: TestApi;
    let old: { readonly id: string; readonly uri: string };
    /** The last revision before the pause, and the first one after it. */
    let last: number;
    let oldest: number;

    const revisionOf = async (method: string, path: string, body?: unknown): Promise<number> => {
      const response = await api.request(method, path, { body });
      assert.ok(response.status < 300, response.text);
      return Number(response.headers["postern-revision"]);
    };

    before(async () => {
      api = await startApi(database, { clock, historyDays: 30 });
      old = await api.ok("POST", "/ip_policies", { description: "first" });
      last = await revisionOf("PATCH", `/ip_policies/${old.id}`, { description: "long ago" });
      // Each jump is less than a tenth of the history, so nobody has to confirm the clock.
      for (let jump = 0; jump < 12; jump += 1) {
        clock.step(2.6 * dayMs);
        await passHours(clock, api, 3);
      }
      oldest = await revisionOf("POST", "/bot_users", { name: "recent" });
      while ((await api.request("GET", `/revisions/${last}`)).status === 200) clock.pass(10 * 60 * 1000);
    });
    after(() => api.stop());

    it(`D10: a pruned history on ${database.name} lists the remaining revisions, on pages that end there`, async () => {
      const numbers = async (path: string): Promise<number[]> => {
        const { revisions, next_page_uri } = await api.ok("GET", path);
        assert.equal(next_page_uri, null);
        return revisions.map(({ revision }: { revision: number }) => revision);
      };
      const { revision } = (await api.ok("GET", "/revisions?limit=1")).revisions[0];
      const all = Array.from({ length: revision - oldest + 1 }, (_, n) => revision - n);
      assert.deepEqual(await numbers("/revisions"), all);
      assert.deepEqual(await numbers("/revisions?kind=ip_policy"), []);
      assert.deepEqual(await numbers(`/revisions?before_id=${oldest}`), []);
      assert.equal((await api.ok("GET", `/revisions/${oldest}`)).changes[0].fields[0].path, "name");
    });

    it(`D10: a pruned history on ${database.name} answers 410 for older revisions, with the oldest remaining one and the setting`, async () => {
      for (const [method, path] of [
        ["GET", `/revisions/${last}`],
        ["GET", "/revisions/1"],
        ["POST", `/revisions/${last}/rollback`],
        ["POST", `/revisions/${last}/rollback?dry_run=true`],
        ["GET", `/ip_policies?at_revision=${last}`],
        ["GET", "/ip_policies?at_revision=0"],
        ["GET", `/ip_policies/${old.id}?at_revision=${last}`],
      ] as const) {
        const response = await api.request(method, path);
        const { error_code, msg, details } = response.body;
        assert.deepEqual([response.status, error_code], [410, errorCode("revision_pruned")], `${method} ${path}`);
        assert.match(msg, new RegExp(`the oldest stored revision is ${oldest} \\(setting --history-days\\)`));
        assert.equal(details.oldest_revision, String(oldest));
      }
      const unknown = await api.request("GET", "/revisions/999999");
      assert.deepEqual([unknown.status, unknown.body.error_code], [404, errorCode("revision_unknown")]);
    });

    it(`a pruned history on ${database.name} shows and restores objects that were last changed long before the oldest revision`, async () => {
      const path = `/ip_policies/${old.id}`;
      const before = await api.request("GET", `${path}?at_revision=${oldest}`);
      assert.deepEqual([before.status, before.body.description], [200, "long ago"]);
      const changed = await revisionOf("PATCH", path, { description: "now" });
      const [change] = (await api.ok("GET", `/revisions/${changed}`)).changes;
      assert.deepEqual(change.fields, [{ path: "description", before: "long ago", after: "now" }]);
      await api.request("DELETE", path);
      const listed = await api.ok("GET", `/ip_policies?at_revision=${oldest}`);
      assert.deepEqual(listed.ip_policies, [before.body]);
      const back = await api.ok("POST", `/revisions/${oldest}/rollback`);
      assert.deepEqual(back.summary, { create: 1, update: 0, delete: 0, unchanged: 0 });
      assert.deepEqual(await api.ok("GET", path), before.body);
    });
  });

  it(`P6: an operator is told by /problems that the clock is to be confirmed, and other accounts are not, on ${database.name}`, async () => {
    const clock = makeManualClock();
    const api = await startApi(database, { clock, historyDays: 10 });
    try {
      const { api_key: other } = await api.ok("POST", "/accounts", { name: "other" });
      for (const description of ["first", "second"]) await api.ok("POST", "/ip_policies", { description });
      await passHours(clock, api, 1);
      assert.deepEqual((await api.ok("GET", "/problems")).problems, []);
      clock.step(400 * dayMs);
      await passHours(clock, api, 3);
      const read = async () => {
        clock.pass(10 * 60 * 1000);
        return (await api.ok("GET", "/problems")).problems;
      };
      const [problem] = await eventually(read, ({ length }) => length > 0);
      assert.equal(problem.kind, "account");
      assert.match(problem.message, /restart with --clock-confirmed \d{4}-\d\d-\d\d$/);
      assert.deepEqual((await api.ok("GET", "/problems", undefined, other)).problems, []);
      clock.step(-400 * dayMs);
      await passHours(clock, api, 3);
      await eventually(read, ({ length }) => length === 0);
    } finally {
      await api.stop();
    }
  });
}
