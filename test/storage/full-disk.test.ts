/** A start on a full disk: all stored data is readable, and writes work automatically when there is room. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, rmSync, statSync } from "node:fs";
import { describe, it } from "node:test";
import { startStoreProcess } from "./child.ts";
import { defaultAccount } from "./declarations.ts";
import { inDirectory, open } from "./fixture.ts";

/**
 * Maximum size of any file, bytes. 0: no file can be written. 4096: the database's header fits. 16,384: half of its
 * log's index fits. 32,768 and 65,536: the index fits, and the log has no room.
 */
const limits = [0, 4096, 16_384, 32_768, 65_536];

/** The limit makes write(2) fail as on a full disk. Without the trap, the accompanying signal would end the process. */
function limited(bytes: number): string {
  return `trap '' XFSZ; ulimit -S -f ${bytes / 512}; exec "$@"`;
}

function lift(pid: number): void {
  const { status, stderr } = spawnSync("prlimit", ["--pid", String(pid), "--fsize=unlimited"], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
}

/** Leaves a database with writes in its log, after a crash or a normal exit. */
async function leaveDatabase(url: string, after: string): Promise<void> {
  const child = await startStoreProcess(url);
  for (let n = 0; n < 40; n += 1) {
    child.send(`write early-${n}`);
    await child.line((line) => line === `stored early-${n}`);
  }
  if (after === "a crash") await child.kill();
  else {
    child.send("close");
    await child.line((line) => line === "closed");
  }
}

describe("a start on a full disk under SQLite", () => {
  for (const after of ["a crash", "an orderly stop"]) {
    for (const limit of limits) {
      it(`S3: a start on a full disk under SQLite after ${after} and with ${limit} bytes per file reads the stored data, and writes when there is room`, async () => {
        await inDirectory(async (directory) => {
          const url = `${directory}/postern.db`;
          await leaveDatabase(url, after);
          assert.equal(existsSync(`${url}-wal`) && statSync(`${url}-wal`).size > 65_536, after === "a crash");
          const child = await startStoreProcess(url, limited(limit));
          assert.equal(child.lines[0], "open");
          for (const n of [0, 39]) {
            child.send(`read early-${n}`);
            await child.line((line) => line === `found early-${n}`);
            child.send(`past early-${n}`);
            await child.line((line) => line === `was early-${n}`);
          }
          const outcomes: string[] = [];
          for (const n of [0, 1, 2]) {
            child.send(`write full-${n}`);
            outcomes.push(await child.line((line) => line.includes(`full-${n}`)));
          }
          if (after === "a crash") {
            assert.deepEqual(
              outcomes,
              [0, 1, 2].map((n) => `refused full-${n} write_unavailable`),
            );
            child.send("read early-0");
            await child.line((line) => line === "found early-0");
            child.send("condition");
            await child.line((line) => line === "condition unavailable");
          }
          lift(child.pid);
          child.send("await open");
          await child.line((line) => line === "is open");
          child.send("write late");
          outcomes.push(await child.line((line) => line.endsWith("stored late")));
          child.send("past early-39");
          let count = 0;
          await child.line((line) => line === "was early-39" && (count += 1) === 2);
          await child.kill();
          const store = await open(url);
          const account = defaultAccount(store);
          const isThere = (name: string): boolean => store.holder(account, "user", name) !== undefined;
          for (let n = 0; n < 40; n += 1) assert.ok(isThere(`early-${n}`));
          for (const line of outcomes) {
            const [outcome, name] = line.split(" ") as [string, string];
            assert.equal(isThere(name), outcome === "stored", line);
          }
          assert.deepEqual(await store.history.verify(), { revisions: store.revision });
          await store.close();
        });
      });
    }
  }

  it("a file that is not a database is rejected with that reason, whatever the disk", async () => {
    await inDirectory(async (directory) => {
      const url = `${directory}/postern.db`;
      spawnSync("sh", ["-c", `yes garbage | head -c 20000 > '${url}'`]);
      for (const wrap of ['exec "$@"', limited(0)]) {
        const child = await startStoreProcess(url, wrap);
        assert.match(child.lines[0] as string, /^failed open database .*it is not a valid SQLite database/);
        rmSync(`${url}-shm`, { force: true });
      }
    });
  });
});
