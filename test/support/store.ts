/** A store with all declarations of the server, in this process, on SQLite. */
import type { Clock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { modules } from "../../src/modules/index.ts";
import { resources } from "../../src/resources/index.ts";
import { openStore } from "../../src/storage/opening/open-store.ts";
import type { Store } from "../../src/storage/store.ts";
import { databases } from "./postgres.ts";

export interface ServerStore {
  readonly store: Store;
  /** The first account, which already exists. */
  readonly accountId: string;
  stop(): Promise<void>;
}

export async function openServerStore(clock: Clock): Promise<ServerStore> {
  const [sqlite] = databases;
  if (!sqlite) throw new Error("open a store: there is no database");
  const { url, drop } = await sqlite.create();
  const store = await openStore({
    database: url,
    dataDirectory: "/",
    sealingKey: Buffer.alloc(32, 7),
    declarations: { resources, modules },
    clock,
    log: silentLog,
  });
  return {
    store,
    accountId: store.accounts()[0]?.id as string,
    async stop() {
      await store.close();
      await drop();
    },
  };
}

/** Returns the store with some functions replaced. */
export function storeBut(store: Store, own: Partial<Record<keyof Store, unknown>>): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Object.hasOwn(own, name) ? Reflect.get(own, name) : Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
