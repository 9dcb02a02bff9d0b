/** A copy of the database made under writes is a working server again, as docs/guides/backup.md promises. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { modules } from "../../src/modules/index.ts";
import { resources } from "../../src/resources/index.ts";
import { openStore } from "../../src/storage/opening/open-store.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { databases, postgresTool } from "../support/postgres.ts";
import type { TestDatabase } from "../support/postgres.ts";

const run = promisify(execFile);

interface Copy {
  readonly url: string;
  drop(): Promise<void>;
}

/** A copy of the database at `from`, while that one is in use. */
async function copyOf(database: TestDatabase, from: string): Promise<Copy> {
  if (database.name === "sqlite") {
    const directory = mkdtempSync(join(tmpdir(), "postern-backup-"));
    const url = join(directory, "postern.db");
    const source = new DatabaseSync(from);
    source.exec(`vacuum into '${url}'`);
    source.close();
    return { url, drop: async () => rmSync(directory, { recursive: true, force: true }) };
  }
  const made = await database.create();
  const { stdout } = await run(postgresTool("pg_dump"), ["--no-owner", from], { maxBuffer: 1 << 28 });
  const restoring = run(postgresTool("psql"), ["--quiet", "--set=ON_ERROR_STOP=1", made.url]);
  restoring.child.stdin?.end(stdout);
  await restoring;
  return made;
}

async function namesIn(api: TestApi): Promise<Set<string>> {
  const names = new Set<string>();
  for (let path: string | null = "/bot_users"; path !== null;) {
    const { bot_users, next_page_uri } = await api.ok("GET", path);
    for (const { name } of bot_users) names.add(name);
    path = next_page_uri && next_page_uri.slice(api.baseUrl.length);
  }
  return names;
}

for (const database of databases) {
  describe(`a backup on ${database.name}`, () => {
    it(`S6: a backup on ${database.name} made under writes contains all confirmed writes, and is a working server`, async () => {
      const api = await startApi(database);
      const edge = await api.ok("POST", "/edges/https", {});
      const path = `/edges/https/${edge.id}/routes`;
      const webhook_verification = { provider: "github", secret: "s3cret-hook" };
      const body = { match_type: "path_prefix", match: "/", webhook_verification };
      const route = await api.ok("POST", path, body);
      const answered: string[] = [];
      const work = { ended: false };
      const writer = async (who: number): Promise<void> => {
        for (let count = 0; !work.ended; count += 1) {
          answered.push((await api.ok("POST", "/bot_users", { name: `bot ${who} ${count}` })).name);
        }
      };
      const writers = Promise.all([1, 2, 3, 4].map(writer));
      while (answered.length < 40) await new Promise<void>((resolve) => void setImmediate(resolve));
      const before = [...answered];
      let copy: Copy;
      try {
        copy = await copyOf(database, api.databaseUrl);
      } finally {
        work.ended = true;
        await writers;
        await api.stop();
      }
      const { apiKey, sealingKey } = api;
      const restored = await startApi(database, { databaseUrl: copy.url, bootstrap: { apiKey }, sealingKey });
      try {
        assert.equal(restored.plane.firstStart, undefined);
        const names = await namesIn(restored);
        for (const name of before) assert.ok(names.has(name), name);
        assert.ok(names.size <= answered.length);
        const read = await restored.ok("GET", `${path}/${route.id}`);
        assert.equal(read.webhook_verification.secret, "s3cret-hook");
        await restored.ok("POST", "/bot_users", { name: "after" });
      } finally {
        await restored.stop();
      }
      const store = await openStore({
        database: copy.url,
        dataDirectory: "/",
        sealingKey,
        declarations: { resources, modules },
        clock: systemClock,
        log: silentLog,
      });
      assert.deepEqual(await store.history.verify(), { revisions: store.revision });
      await store.close();
      await copy.drop();
    });
  });
}
