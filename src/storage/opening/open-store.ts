import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { formatTimestamp } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import type { Log } from "../../lib/log.ts";
import { readAnchor } from "../history/anchor.ts";
import { ownJobs } from "../cluster/jobs.ts";
import type { InboxEngine } from "../inbox/inbox-engine.ts";
import { InboxStore } from "../inbox/inbox-store.ts";
import { sqliteEngine } from "../inbox/sqlite-engine.ts";
import { LoneCommits } from "../commits/commits.ts";
import { makeRecovery } from "./lost-writes.ts";
import { Unfit } from "../database/database.ts";
import type { Database } from "../database/database.ts";
import { documentsOf } from "../rows/documents.ts";
import type { Documents } from "../rows/documents.ts";
import { feedOf } from "../history/feed.ts";
import { historyOf } from "../history/history.ts";
import { kindsOf } from "../rows/kinds.ts";
import type { Declarations, Kinds } from "../rows/kinds.ts";
import { loadState } from "../state/load.ts";
import { backUp, backupPath } from "./back-up.ts";
import { migrateTables, migrations, findPendingSteps } from "./migrations.ts";
import { readHead } from "../commits/missed.ts";
import { makeNode } from "../commits/store-node.ts";
import type { StoreNode } from "../commits/store-node.ts";
import { packStored } from "./pack-stored.ts";
import { makePastObjects } from "../history/past-objects.ts";
import { makeHolding } from "../history/history-holding.ts";
import { readTimes } from "./known-times.ts";
import { startPruning } from "../history/prune.ts";
import type { Pruner } from "../history/prune.ts";
import { inboxFile, isUrl } from "../database-place.ts";
import { Published } from "../commits/published.ts";
import type { Retained } from "../history/retention.ts";
import { emptyDoc } from "../../schema/doc.ts";
import { defaultsOf, sliceOf } from "../../settings/setting.ts";
import { storageSettings } from "../../settings/storage.ts";
import type { StorageSettings } from "../../settings/storage.ts";
import { sealStored } from "./seal-stored.ts";
import { checkKeys, dataKeys } from "../sealing/data-keys.ts";
import { accountSealersWith, deriveKey, sealerWith } from "../sealing/sealing.ts";
import type { Sealer } from "../sealing/sealing.ts";
import { openSqlite } from "../sqlite/sqlite.ts";
import type { State } from "../state/state.ts";
import type { Account, Draft, Feed, Once, Store, WriteContext } from "../store.ts";
import { nodesHolder, takeOver, takeOverForNodes } from "../commits/take-over.ts";
import { verifyHistory } from "../history/verify-history.ts";
import { kindNamed, readerOf } from "../rows/state-view.ts";
import { Writer } from "../commits/commit-writer.ts";

/** Missing settings have their defaults. */
export interface StoreOptions extends Partial<StorageSettings> {
  /** Path of an SQLite file, relative to `dataDirectory`, or a `postgres://` URL. */
  readonly database: string;
  readonly dataDirectory: string;
  readonly declarations: Declarations;
  /** The operator's keys, see `loadSealingKey`: the first one seals, all open. */
  readonly sealingKey: Buffer | readonly Buffer[];
  /** Shown to other nodes, with the version. */
  readonly region?: string;
  readonly version?: string;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Opens the database, migrates its tables, and loads its objects into memory. The first start creates the default
 * account.
 * @throws Error with one sentence: another process holds the database, a newer version wrote it, or the sealing key is
 * wrong
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { database, holder } = await openDatabase(options);
  const inboxEngine = await inboxEngineFor(options);
  return await openStoreOn(database, holder, { ...options, backupBase: backupBase(options), inboxEngine });
}

/** Nothing is opened before the first message. */
async function inboxEngineFor({
  database,
  dataDirectory,
  log,
}: Pick<StoreOptions, "database" | "dataDirectory" | "log">): Promise<InboxEngine> {
  if (!isUrl(database)) return sqliteEngine(inboxFile(resolve(dataDirectory, database)));
  const { postgresEngine } = await import("../inbox/postgres-engine.ts");
  return postgresEngine(database, log);
}

/** The changes that `openStore` would make to the tables of a database. */
export interface StoreCheck {
  /** Names of the migration steps, in order. */
  readonly pending: readonly string[];
  /** Whether the database has no tables yet. */
  readonly isNew: boolean;
  /** Path of the backup that a start writes before it migrates; undefined if it writes none. */
  readonly backup: string | undefined;
}

/**
 * Checks whether `openStore` would accept the database with these keys. There may be no keys. The database may hold
 * data (`mayHold`). It changes nothing, so callers can check before they create files that belong to the database.
 * @throws Error as `openStore`
 */
export async function checkStore(
  options: Pick<
    StoreOptions,
    "database" | "dataDirectory" | "clock" | "log" | "cluster" | "version" | "noMigrationBackup"
  > & {
    readonly sealingKey: readonly Buffer[];
  },
): Promise<StoreCheck> {
  const { database } = await openDatabase(options);
  try {
    await checkKeys(database, options.sealingKey);
    const pending = await findPendingSteps(database, migrations, options.version);
    return {
      pending,
      isNew: pending.length === migrations.length,
      backup:
        !options.noMigrationBackup && (await isBackupNeeded(database, pending))
          ? backupPath(backupBase(options), pending)
          : undefined,
    };
  } finally {
    await database.close();
  }
}

/** Returns whether a migration changes data. A database whose first start failed has tables, but no revision. */
async function isBackupNeeded({ reads }: Database, pending: readonly string[]): Promise<boolean> {
  if (pending.length === 0 || pending.length === migrations.length) return false;
  return (await reads.selectFrom("revisions").select("revision").limit(1).execute()).length > 0;
}

/** Returns the SQLite file beside which backups are written. */
function backupBase({ database, dataDirectory }: Pick<StoreOptions, "database" | "dataDirectory">): string {
  return resolve(dataDirectory, isUrl(database) ? "postern.db" : database);
}

/**
 * Returns the database, and the holder to write into its head.
 * @throws Superseded if another process has it open
 */
export async function openDatabase({
  database,
  dataDirectory,
  cluster: isShared = false,
  clock,
  log,
}: Pick<StoreOptions, "database" | "dataDirectory" | "clock" | "log" | "cluster">): Promise<{
  readonly database: Database;
  readonly holder: string;
}> {
  const process = randomBytes(12).toString("hex");
  if (!isUrl(database)) {
    if (isShared) {
      throw new Unfit(
        "open database: several nodes (--cluster) need a PostgreSQL database: set its URL, postgres://…, with --database",
      );
    }
    return { database: await openSqlite(resolve(dataDirectory, database), log), holder: process };
  }
  const holder = isShared ? nodesHolder : process;
  // The driver is loaded only if it is used. Otherwise it would delay every start.
  const { openPostgres } = await import("../postgres/postgres.ts");
  return { database: await openPostgres({ url: database, holder, process, isShared, clock, log }), holder };
}

interface OpenedOptions extends Omit<StoreOptions, "database" | "dataDirectory"> {
  /** Same as `BackupPlan.file`. Default: no backup. */
  readonly backupBase?: string;
  /** Default: no inboxes. */
  readonly inboxEngine?: InboxEngine;
}

/** Runs `openStore` on an open database. `holder` identifies this process in it, or all nodes that share it. */
export async function openStoreOn(database: Database, holder: string, options: OpenedOptions): Promise<Store> {
  try {
    const opening = (): Promise<Store> => openOnDatabase(database, holder, options);
    return await (database.shared ? database.shared.alone(opening) : opening());
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function openOnDatabase(
  database: Database,
  holder: string,
  { declarations, sealingKey, clock, log, region = "", version = "", ...given }: OpenedOptions,
): Promise<Store> {
  const settings = sliceOf(storageSettings, { ...defaultsOf(storageSettings), ...given });
  const at = formatTimestamp(clock.now());
  const operatorKeys = [sealingKey].flat() as readonly Buffer[];
  await checkKeys(database, operatorKeys);
  const pending = await findPendingSteps(database, migrations, version);
  const isBackedUp = !settings.noMigrationBackup && (await isBackupNeeded(database, pending));
  const { backupBase: file, inboxEngine } = given;
  const backup =
    isBackedUp && file !== undefined ? await backUp(database, { file, steps: migrations, pending, log }) : undefined;
  await migrateTables(database, migrations, { at, version, backup });
  const sealingKeys = await dataKeys(database, operatorKeys, at, log);
  const sealer = sealerWith(sealingKeys);
  const kinds = kindsOf(declarations);
  const documents = documentsOf(kinds, sealer);
  const { head, predecessor, state, usage } = await takeOverDatabase(database, holder, { kinds, documents, log });
  const published = new Published({ state, usage, log });
  const { shared } = database;
  const node = shared
    ? makeNode({
        id: newId("nd", clock.now()),
        sealer,
        region,
        version,
        clock,
        log,
        database: { ...database, shared },
        kinds,
        documents,
        state,
        published,
        head,
      })
    : undefined;
  const { known, time } = await readTimes(database, settings, clock);
  const holding = makeHolding(log);
  const commits = { published, database, clock, log };
  const lost = { kinds, documents, state, published, sealer, database, log };
  const writer = new Writer({
    time,
    kinds,
    quotas: settings,
    state,
    usage,
    database,
    documents,
    sealer,
    clock,
    log,
    startsUnavailable: predecessor !== undefined,
    reach: node,
    commits: (availability) =>
      node?.commits(availability) ??
      // Pruning pauses while lost writes are recovered, because the pruner's commits wait for the writer.
      new LoneCommits({ ...commits, head, predecessor, availability, recover: makeRecovery(lost) }),
  });
  await node?.start((steps) => writer.maintain(steps));
  const retained = await readRetained(database, sealer, log);
  const pastObjects = makePastObjects(database.reads, documents, (kind) => kinds.get(kind)?.owner?.field);
  const history = historyOf(database, pastObjects, retained);
  const keep: Feed["keep"] = (name, cursor) => writer.keepCursor(name, cursor);
  const feed = feedOf({ database, documents, past: pastObjects, retained, keep });
  const addAccount = accountAdder({ kinds, state, writer, clock });
  const jobs = node?.jobs ?? ownJobs;
  const inbox = inboxEngine && new InboxStore(inboxEngine, accountSealersWith(sealingKeys), newId("ih", clock.now()));
  if (state.accounts().length === 0) await addAccount("default", undefined);
  database.beginServing?.();
  const pruner = startPruning({
    database,
    documents,
    sealer,
    retained,
    settings,
    clock,
    time,
    known,
    held: holding.tell,
    log,
    job: jobs.want("prune history"),
    store: (steps) => writer.maintain(steps),
  });
  return storeOf(state, writer, published, node, {
    history: Object.assign(history, {
      onHeld: holding.onHeld,
      verify: () => pruner.inTurn(() => verifyAll(database, sealer, documents)),
    }),
    feed,
    jobs,
    inbox,
    settledNow: () => time.now(),
    derivedKeys: (use) => sealingKeys.map((key) => deriveKey(key, use)),
    createAccount: (name) => addAccount(name, state.accounts()[0]?.id),
    close: makeCloser(database, { pruner, writer, node, inbox }),
  });
}

/** Returns a function that closes everything once, even if it is called again. */
function makeCloser(
  database: Database,
  {
    pruner,
    writer,
    node,
    inbox,
  }: {
    readonly pruner: Pruner;
    readonly writer: Writer;
    readonly node: StoreNode | undefined;
    readonly inbox: InboxStore | undefined;
  },
): () => Promise<void> {
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await Promise.all([pruner.stop(), writer.close(), inbox?.close()]);
    await node?.stop();
    await database.close();
  };
  return () => (closing ??= close());
}

interface AccountAdderNeeds {
  readonly kinds: Kinds;
  readonly state: State;
  readonly writer: Writer;
  readonly clock: Clock;
}

/** The first account belongs to itself. The others belong to the first one, the operator's. */
function accountAdder({ kinds, state, writer, clock }: AccountAdderNeeds) {
  return async (name: string, operator: string | undefined): Promise<Account> => {
    const { fields, idPrefix } = kindNamed(kinds, "account");
    const id = newId(idPrefix, clock.now());
    const account_id = operator ?? id;
    await writer.write(systemContext(account_id, clock), (draft) =>
      draft.revive({
        kind: "account",
        id,
        account_id,
        revision: 0,
        created_at: formatTimestamp(clock.now()),
        doc: { ...emptyDoc(fields), name },
      }),
    );
    return state.accounts().find((account) => account.id === id) as Account;
  };
}

/** Takes over the database for this process or as one of the nodes, and reads every object. */
async function takeOverDatabase(
  database: Database,
  holder: string,
  { kinds, documents, log }: { readonly kinds: Kinds; readonly documents: Documents; readonly log: Log },
): Promise<Awaited<ReturnType<typeof takeOver>> & Awaited<ReturnType<typeof loadState>>> {
  const { reads, shared } = database;
  if (!shared) {
    const taken = await takeOver(database, holder, log);
    await sealStored(database, documents, kinds.keys(), log);
    await packStored(database, kinds, log);
    return { ...taken, ...(await loadState(reads, kinds, documents)) };
  }
  await takeOverForNodes(database);
  await sealStored(database, documents, kinds.keys(), log);
  await packStored(database, kinds, log);
  // Other nodes write meanwhile, so the head and the objects are read in one transaction.
  return await reads
    .transaction()
    .setIsolationLevel("repeatable read")
    .execute(async (snapshot) => ({
      head: await readHead(snapshot),
      ...(await loadState(snapshot, kinds, documents)),
    }));
}

function storeOf(
  state: State,
  writer: Writer,
  published: Published,
  node: StoreNode | undefined,
  rest: Pick<Store, "history" | "feed" | "jobs" | "createAccount" | "settledNow" | "derivedKeys" | "close"> & {
    readonly inbox: InboxStore | undefined;
  },
): Store {
  return {
    ...readerOf(state),
    ...rest,
    ...(node && { node: node.membership }),
    get revision() {
      return writer.revision;
    },
    get commits() {
      return published.count;
    },
    get condition() {
      return node?.isSuperseded ? "superseded" : writer.condition;
    },
    write: ((context: WriteContext, work: (draft: Draft) => unknown, once?: Once<never>) =>
      writer.write(context, work, once)) as Store["write"],
    rehearse: (work, judge) => writer.rehearse(work, judge),
    subscribe: (listener) => published.subscribe(listener),
    objects: (kinds) => state.objects(kinds),
    packed: (kind) => state.packed(kind),
    accounts: () => state.accounts(),
    refresh: () => node?.refresh() ?? Promise.resolve(false),
  };
}

/** Other nodes write and prune meanwhile, so all reads must be of one point in time. */
async function verifyAll(
  { reads, shared }: Database,
  ...rest: [sealer: Sealer, documents: Documents]
): ReturnType<typeof verifyHistory> {
  if (!shared) return await verifyHistory(reads, ...rest);
  return await reads
    .transaction()
    .setIsolationLevel("repeatable read")
    .execute((snapshot) => verifyHistory(snapshot, ...rest));
}

/**
 * Returns the stored part of the history: after the anchor, or from the first remaining revision if some are missing.
 */
async function readRetained({ reads, shared }: Database, sealer: Sealer, log: Log): Promise<Retained> {
  const { anchor } = await readAnchor(reads, sealer);
  const refresh = async (): Promise<void> => {
    const { anchor: present } = await readAnchor(reads, sealer);
    retained.oldest = Math.max(retained.oldest, present.revision + 1);
  };
  const { first } = await reads
    .selectFrom("revisions")
    .select((row) => row.fn.min("revision").as("first"))
    .executeTakeFirstOrThrow();
  const oldest = anchor.revision + 1;
  const retained: Retained = { oldest, ...(shared && { refresh }) };
  if (first === null || first <= oldest) return retained;
  log.error("the history is damaged: its beginning is missing", {
    oldestRevision: first,
    prunedTo: anchor.revision,
  });
  retained.oldest = first;
  return retained;
}

function systemContext(accountId: string, clock: Clock): WriteContext {
  return {
    principal: { accountId, id: "system" },
    operation: "createAccount",
    operationId: newId("op", clock.now()),
  };
}
