import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { timestamp } from "../lib/clock.ts";
import type { Clock } from "../lib/clock.ts";
import { newId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import { readAnchor } from "./anchor.ts";
import { chainStart } from "./database/chain.ts";
import { checkKeys, dataKeys } from "./sealing/data-keys.ts";
import { Superseded } from "./database/database.ts";
import type { Database } from "./database/database.ts";
import { documentsOf } from "./documents.ts";
import { feedOf } from "./feed.ts";
import { historyOf } from "./history.ts";
import { pastObjectsOf } from "./past-objects.ts";
import type { Retained } from "./retention.ts";
import { emptyDoc } from "../schema/doc.ts";
import { kindsOf } from "./kinds.ts";
import type { Declarations } from "./kinds.ts";
import { loadState } from "./load.ts";
import { migrate, migrations } from "./migrations.ts";
import type { openPostgres } from "./postgres/postgres.ts";
import { startPruning } from "./prune.ts";
import { defaultsOf, sliceOf } from "../settings/setting.ts";
import { storageSettings } from "../settings/storage.ts";
import type { StorageSettings } from "../settings/storage.ts";
import type { Head } from "./record.ts";
import { sealStored } from "./seal-stored.ts";
import { sealerWith } from "./sealing/sealing.ts";
import type { Sealer } from "./sealing/sealing.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import type { State } from "./state.ts";
import type { Account, Draft, Feed, Once, Store, WriteContext } from "./store.ts";
import { verify } from "./verify.ts";
import { kindNamed, readerOf } from "./view.ts";
import { Writer } from "./writer.ts";

/** Settings that are not given have their defaults. */
export interface StoreOptions extends Partial<StorageSettings> {
  /** Path of an SQLite file, relative to `dataDirectory`, or a `postgres://` URL. */
  readonly database: string;
  readonly dataDirectory: string;
  readonly declarations: Declarations;
  /** The operator's keys, see `loadSealingKey`: the first one seals, all open. */
  readonly sealingKey: Buffer | readonly Buffer[];
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Opens the database, brings its tables up to date and its objects into memory. The first start makes the
 * default account.
 * @throws Error one sentence: another process has it, it is of a newer version, the sealing key is another's
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { database, dataDirectory, clock, log } = options;
  const holder = randomBytes(12).toString("hex");
  const opened = isUrl(database)
    ? await openUrl({ url: database, holder, clock, log })
    : await openSqlite(resolve(dataDirectory, database), log);
  return await openStoreOn(opened, holder, options);
}

/**
 * Whether `openStore` would accept the database with these keys; there may be none, and no database. It leaves nothing
 * behind: to be asked before files are made that would have to go with the database.
 * @throws Error as `openStore`
 */
export async function checkStore({
  database,
  dataDirectory,
  sealingKey,
  clock,
  log,
}: Pick<StoreOptions, "database" | "dataDirectory" | "clock" | "log"> & {
  readonly sealingKey: readonly Buffer[];
}): Promise<void> {
  const file = resolve(dataDirectory, database);
  if (!isUrl(database) && !existsSync(file)) return;
  const opened = isUrl(database)
    ? await openUrl({ url: database, holder: randomBytes(12).toString("hex"), clock, log })
    : await openSqlite(file, log);
  try {
    await checkKeys(opened, sealingKey);
  } finally {
    await opened.close();
  }
}

function isUrl(database: string): boolean {
  return /^postgres(ql)?:\/\//.test(database);
}

/** Its driver is loaded only by those who use it: every start would wait for it. */
async function openUrl(options: Parameters<typeof openPostgres>[0]): Promise<Database> {
  const { openPostgres } = await import("./postgres/postgres.ts");
  return await openPostgres(options);
}

/** `openStore` on a database that is open. `holder` names this process in it. */
export async function openStoreOn(
  database: Database,
  holder: string,
  { declarations, sealingKey, clock, log, ...given }: Omit<StoreOptions, "database" | "dataDirectory">,
): Promise<Store> {
  const settings = sliceOf(storageSettings, { ...defaultsOf(storageSettings), ...given });
  try {
    const at = timestamp(clock.now());
    const operatorKeys = [sealingKey].flat() as readonly Buffer[];
    await checkKeys(database, operatorKeys);
    await migrate(database, migrations, at);
    const sealer = sealerWith(await dataKeys(database, operatorKeys, at, log));
    const kinds = kindsOf(declarations);
    const documents = documentsOf(kinds, sealer);
    const { head, predecessor } = await takeOver(database, holder, log);
    await sealStored(database, documents, kinds.keys(), log);
    const { state, usage } = await loadState(database, kinds, documents);
    const rest = { head, predecessor, clock, log };
    const writer = new Writer({ kinds, quotas: settings, state, usage, database, documents, sealer, ...rest });
    const retained = await retainedIn(database, sealer, log);
    const past = pastObjectsOf(database.reads, documents, (kind) => kinds.get(kind)?.owner?.field);
    const history = historyOf(database, past, retained);
    const keep: Feed["keep"] = (name, cursor) => writer.keepCursor(name, cursor);
    const feed = feedOf({ database, documents, past, retained, keep });
    const addAccount = async (name: string, operator: string | undefined): Promise<Account> => {
      const { fields, idPrefix } = kindNamed(kinds, "account");
      const id = newId(idPrefix, clock.now());
      // The first account belongs to itself, the others to the first.
      const account_id = operator ?? id;
      await writer.write(systemContext(account_id, clock), (draft) =>
        draft.revive({
          kind: "account",
          id,
          account_id,
          revision: 0,
          created_at: timestamp(clock.now()),
          doc: { ...emptyDoc(fields), name },
        }),
      );
      return state.accounts().find((account) => account.id === id) as Account;
    };
    if (state.accounts().length === 0) await addAccount("default", undefined);
    const pruner = startPruning({
      database,
      documents,
      sealer,
      retained,
      settings,
      clock,
      log,
      store: (steps) => writer.maintain(steps),
    });
    const close = async (): Promise<void> => {
      await Promise.all([pruner.stop(), writer.close()]);
      await database.close();
    };
    let closing: Promise<void> | undefined;
    return storeOf(state, writer, {
      history: Object.assign(history, { verify: () => pruner.inTurn(() => verify(database.reads, sealer, documents)) }),
      feed,
      createAccount: (name) => addAccount(name, state.accounts()[0]?.id),
      close: () => (closing ??= close()),
    });
  } catch (error) {
    await database.close();
    throw error;
  }
}

function storeOf(
  state: State,
  writer: Writer,
  rest: Pick<Store, "history" | "feed" | "createAccount" | "close">,
): Store {
  return {
    ...readerOf(state),
    ...rest,
    get revision() {
      return writer.revision;
    },
    get commits() {
      return writer.commits;
    },
    get condition() {
      return writer.condition;
    },
    write: ((context: WriteContext, work: (draft: Draft) => unknown, once?: Once<never>) =>
      writer.write(context, work, once)) as Store["write"],
    rehearse: (work, judge) => writer.rehearse(work, judge),
    subscribe: (listener) => writer.subscribe(listener),
    *objects(kinds) {
      for (const object of state.objects()) if (kinds.has(object.kind)) yield object;
    },
    accounts: () => state.accounts(),
  };
}

/**
 * From here on only this process writes: every commit checks that the head still names it. Where that cannot be stored
 * now, configuration and reads need it not: the first write that can be stored does it (S3).
 */
async function takeOver(
  database: Database,
  holder: string,
  log: Log,
): Promise<{ readonly head: Head; readonly predecessor?: string }> {
  const found = await database.transact(async (transaction) => {
    const head = await transaction.selectFrom("head").selectAll().executeTakeFirst();
    const { max } = await transaction
      .selectFrom("revisions")
      .select((row) => row.fn.max("revision").as("max"))
      .executeTakeFirstOrThrow();
    if ((head?.revision ?? 0) !== (max ?? 0)) {
      throw new Error(
        `open database: it is damaged (the last write is revision ${head?.revision ?? 0}, the log ends at ${max ?? 0}); ` +
          "restore a backup",
      );
    }
    if (head) return head;
    await transaction.insertInto("head").values({ id: 1, revision: 0, hash: chainStart, holder }).execute();
    return { revision: 0, hash: chainStart, holder };
  });
  const head = { revision: found.revision, hash: found.hash, holder };
  if (found.holder === holder) return { head };
  try {
    await database.transact((transaction) => transaction.updateTable("head").set({ holder }).execute());
    return { head };
  } catch (error) {
    if (error instanceof Superseded) throw error;
    log.error("the database takes no writes: what is stored is served, and writes are answered 503 until it does", {
      error,
    });
    return { head, predecessor: found.holder };
  }
}

/** The anchor's, unless rows were taken out behind it: what they said is not kept either. */
async function retainedIn({ reads }: Database, sealer: Sealer, log: Log): Promise<Retained> {
  const { anchor } = await readAnchor(reads, sealer);
  const { first } = await reads
    .selectFrom("revisions")
    .select((row) => row.fn.min("revision").as("first"))
    .executeTakeFirstOrThrow();
  const oldest = anchor.revision + 1;
  if (first === null || first <= oldest) return { oldest };
  log.error("the history is damaged: its beginning was taken out", {
    oldestRevision: first,
    prunedTo: anchor.revision,
  });
  return { oldest: first };
}

function systemContext(accountId: string, clock: Clock): WriteContext {
  return {
    principal: { accountId, id: "system" },
    operation: "createAccount",
    operationId: newId("op", clock.now()),
  };
}
