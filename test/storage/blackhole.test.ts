/** A PostgreSQL server whose network drops everything without a word: callers get their answers all the same. */
import assert from "node:assert/strict";
import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";
import { describe, it } from "node:test";
import { Refusal } from "../../src/lib/errors.ts";
import type { Store } from "../../src/storage/store.ts";
import { freePort } from "../support/connections.ts";
import { eventually } from "../support/eventually.ts";
import { startPostgres } from "../support/postgres.ts";
import { skipWithoutPostgres } from "../support/programs.ts";
import { startRelay } from "../support/relay.ts";
import type { Relay } from "../support/relay.ts";
import { create, defaultAccount } from "./declarations.ts";
import { open } from "./fixture.ts";

/** What callers of the API wait for an answer, milliseconds. */
const patienceMs = 10_000;

/** @param hosts number of hosts in the URL. All of them lead through the relay */
async function withRelay(
  cluster: boolean,
  work: (store: Store, relay: Relay) => Promise<void>,
  hosts = 1,
): Promise<void> {
  const server = await startPostgres({ port: await freePort() });
  if (!server) return;
  const relay = await startRelay(server.port);
  const places = Array.from({ length: hosts }, () => `127.0.0.1:${relay.port}`).join(",");
  const store = await open(`postgres://postgres@${places}/postgres`, { cluster });
  try {
    await create(store, defaultAccount(store), "user", { name: "before" });
    await work(store, relay);
  } finally {
    relay.stop();
    await store.close();
    await server.remove();
  }
}

async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "done";
  } catch (error) {
    return error instanceof Refusal ? error.reason : "failed";
  }
}

const write = (store: Store, name: string): Promise<string> =>
  outcomeOf(create(store, defaultAccount(store), "user", { name }));

describe("a blackholed database", { skip: skipWithoutPostgres, timeout: 120_000 }, () => {
  it("S4: a node whose database is blackholed answers writes in progress when its lease is over, later ones immediately, and writes again afterwards", async () => {
    await withRelay(true, async (store, relay) => {
      relay.blackhole();
      assert.equal(await Promise.race([write(store, "in progress"), delay(patienceMs)]), "write_unavailable");
      assert.equal(store.node?.isAlive(), false);
      for (const name of ["first", "second"]) {
        assert.equal(await Promise.race([write(store, name), turn("late")]), "write_unavailable");
      }
      assert.equal(store.holder(defaultAccount(store), "user", "before") !== undefined, true);
      relay.mend();
      await eventually(
        () => write(store, "after"),
        (outcome) => outcome === "done",
      );
    });
  });

  it("S4: a lone server whose database is blackholed answers writes immediately after the first one, and writes again afterwards", async () => {
    await withRelay(false, async (store, relay) => {
      relay.blackhole();
      // A write that arrives while the first one waits does not wait longer.
      const [first, during] = [write(store, "first"), delay(3_000).then(() => write(store, "during"))];
      assert.equal(await Promise.race([first, delay(patienceMs)]), "write_unavailable");
      for (const name of ["second", "third"]) {
        assert.equal(await Promise.race([write(store, name), turn("late")]), "write_unavailable");
      }
      assert.equal(await Promise.race([during, turn("late")]), "write_unavailable");
      relay.mend();
      await eventually(
        () => write(store, "after"),
        (outcome) => outcome === "done",
      );
    });
  });

  for (const cluster of [false, true]) {
    for (const hosts of [1, 2, 3]) {
      it(`S4: ${cluster ? "a node" : "a lone server"} whose database is blackholed at ${hosts} of ${hosts} hosts ends every write and read of it within 10 s`, async () => {
        const work = async (store: Store, relay: Relay): Promise<void> => {
          relay.blackhole();
          const asked = [write(store, "lost"), outcomeOf(store.history.verify())];
          const outcomes = await Promise.race([Promise.all(asked), delay(patienceMs, ["late"])]);
          assert.deepEqual(outcomes, ["write_unavailable", "failed"]);
        };
        await withRelay(cluster, work, hosts);
      });
    }
  }
});
