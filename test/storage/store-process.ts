/**
 * A process with a store, for tests that kill it or fill its disk. Arguments: the database, and `cluster` for one of
 * several nodes. It writes one line for each user whose creation was acknowledged (`stored NAME`) or rejected (`refused
 * NAME REASON`). It accepts these commands as lines: `flood WRITERS`, `write NAME`, `read NAME`, `past NAME` (from the
 * history), `condition`, `await CONDITION`, `close`.
 */
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { urlOf } from "../../bin/bundled.ts";
import type { Refusal } from "../../src/lib/errors.ts";
import type { openStore as openStoreOf } from "../../src/storage/opening/open-store.ts";
import { create, defaultAccount, optionsFor } from "./declarations.ts";

/** Like servers, starts from the bundle if the bundle is up to date with the sources. */
const { openStore } = (await import(urlOf("src/storage/opening/open-store.ts"))) as {
  readonly openStore: typeof openStoreOf;
};

const store = await openStore({
  ...optionsFor(process.argv[2] as string),
  cluster: process.argv[3] === "cluster",
}).catch((error: unknown) => {
  say(`failed ${(error as Error).message}`);
  process.exit(1);
});
const account = defaultAccount(store);
const flood = { on: true };
const pause = new Int32Array(new SharedArrayBuffer(4));

/** Written synchronously, even to a slow reader. A line written before a kill remains readable after it. */
function say(line: string): void {
  for (let rest = Buffer.from(`${line}\n`); rest.length > 0;) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}

async function write(name: string): Promise<void> {
  try {
    await create(store, account, "user", { name });
    say(`stored ${name}`);
  } catch (error) {
    say(`refused ${name} ${(error as Partial<Refusal>).reason ?? String(error)}`);
  }
}

async function writeOn(writer: number): Promise<void> {
  for (let n = 0; flood.on; n += 1) await write(`${process.pid}-${writer}-${n}`);
}

const commands: Record<string, (argument: string) => Promise<unknown>> = {
  flood: (writers) => Promise.all(Array.from({ length: Number(writers) }, (_, writer) => writeOn(writer))),
  write,
  read: async (name) => say(`${store.holder(account, "user", name) ? "found" : "missing"} ${name}`),
  past: async (name) => {
    const { id = "" } = store.holder(account, "user", name) ?? {};
    const past = await store.history.objectAt(store.revision, account, "user", id);
    say(`${past ? "was" : "was not"} ${name}`);
  },
  condition: async () => say(`condition ${store.condition}`),
  await: async (condition) => {
    while (store.condition !== condition) await delay(20);
    say(`is ${condition}`);
  },
  close: async () => {
    flood.on = false;
    await store.close();
    say("closed");
    process.exit(0);
  },
};

say("open");
for await (const line of createInterface(process.stdin)) {
  const [command, argument] = line.split(" ") as [string, string];
  void commands[command]?.(argument);
}
