/**
 * Retention: deletes expired data in the background, in small commits between those of writes. The anchor shows the
 * next step where the previous one ended.
 */
import { formatTimestamp } from "../../lib/clock.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { SettledTime } from "../../lib/settled-time.ts";
import type { StorageSettings } from "../../settings/storage.ts";
import type { Job } from "../cluster/jobs.ts";
import { anchorSteps, lastPosition, readAnchor, sumWith } from "./anchor.ts";
import type { Anchor } from "./anchor.ts";
import type { KnownTime } from "./known-time.ts";
import { answerLifeMs } from "../commits/idempotency.ts";
import type { Database, DatabaseStep, Tables } from "../database/database.ts";
import type { Documents } from "../rows/documents.ts";
import { renderPlaceholder } from "../database/insert.ts";
import type { Retained } from "./retention.ts";
import { rowsWithPrior } from "./prior-row.ts";
import type { Sealer } from "../sealing/sealing.ts";
import type { Cursor } from "../store.ts";
import { asWritten, walkChain } from "./verify-history.ts";
import { dayMs } from "../../lib/durations.ts";

export interface PrunerOptions {
  readonly database: Database;
  readonly documents: Pick<Documents, "asWritten">;
  readonly sealer: Sealer;
  readonly retained: Retained;
  /** Older revisions are deleted; 0 keeps all. */
  readonly settings: StorageSettings;
  readonly clock: Clock;
  readonly time: SettledTime;
  readonly known: KnownTime;
  /** Called with the reason why pruning waits for the operator to confirm the clock; undefined once it is confirmed. */
  readonly held: (why: string | undefined) => void;
  readonly log: Log;
  /** Only the holder of this job prunes. */
  readonly job: Job;
  /** Same as `Writer.maintain`. */
  readonly store: (steps: readonly DatabaseStep[]) => Promise<void>;
}

export interface Pruner {
  /** Runs `work` while no pruning runs. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when no work is in progress. */
  stop(): Promise<void>;
}

/** Delay of the first check, because a start has enough other work. */
const firstLookMs = 60 * 1000;
/** Interval between checks for expired data. */
const lookEveryMs = 10 * 60 * 1000;
/** Pause between two steps, for other work. */
const pauseMs = 25;
/** Maximum revisions deleted in one step. */
const maxRevisions = 100;
/** Maximum rows of `history` checked in one step. A single revision may have more. */
const maxRows = 250;
/** Maximum idempotency keys deleted in one step. Keys of one commit are deleted together. */
const maxAnswers = 500;
/** Time between the announcement of a deletion and the deletion. */
const noticeMs = 2 * 60 * 60 * 1000;
/** Nothing is deleted if the time is behind the newest revision by more than this. */
const maxBehindMs = 5 * 60 * 1000;
/** Rows named in one statement. */
const chunkRows = 64;
type PrunedRow = Tables["history"];

export function startPruning(options: PrunerOptions): Pruner {
  const { clock, retained, log } = options;
  let last: Promise<unknown> = Promise.resolve();
  let timer: Timer | undefined;
  let stopped = false;
  let oldestTold = retained.oldest;
  const notice: Notice = { jumps: -1, until: 0 };
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work, work);
    last = turn.catch(() => undefined);
    return turn;
  };
  const look = async (): Promise<void> => {
    let isMore = false;
    try {
      isMore = await inTurn(async () => !stopped && (await pruneStep(options, notice)));
    } catch (error) {
      if (!stopped) log.warn("the history could not be pruned; the server will retry", { error });
    }
    if (!isMore && retained.oldest > oldestTold) {
      oldestTold = retained.oldest;
      log.info("history pruned", { oldestRevision: retained.oldest });
    }
    if (!stopped) timer = clock.after(isMore ? pauseMs : lookEveryMs, () => void look());
  };
  timer = clock.after(firstLookMs, () => void look());
  return {
    inTurn,
    async stop() {
      stopped = true;
      timer?.cancel();
      await last;
    },
  };
}

/** Last announcement of a deletion. */
interface Notice {
  /** `SettledTime.jumps` at the announcement; -1 before the first one. */
  jumps: number;
  /** Nothing is deleted before this time on the monotonic clock. */
  until: number;
}

/** Prunes as much as fits in one or two commits. Returns whether there may be more to prune. */
async function pruneStep(options: PrunerOptions, notice: Notice): Promise<boolean> {
  const { database, sealer, known, time, store } = options;
  const isKnown = known.accepts(time.now());
  const { anchor, sealed } = await readAnchor(database.reads, sealer);
  const to = await findLastExpired(options, anchor.revision);
  options.held(isKnown || to === undefined ? undefined : explainHeld(options));
  if (!options.job.isHeld()) return false;
  const forgot = await forgetAnswers(options);
  const swept = await sweepRows(options, anchor, sealed);
  const cut = !swept && isKnown && to !== undefined && (await cutOff(options, notice, anchor, sealed, to));
  if (swept || cut || forgot) return true;
  const steps = known.steps(database.dialect);
  if (steps.length > 0) await store(steps);
  return false;
}

/** Includes the known time, so the operator can see whether the clock or the evidence is wrong. */
function explainHeld({ known, time }: PrunerOptions): string {
  const [now, last] = [time.now(), known.now()].map((at) => formatTimestamp(at).slice(0, 10));
  return (
    `delete old revisions: the clock says ${now}, but by the time that has passed since the server last knew it, it is ` +
    `${last}; nothing is deleted. Set the clock if it is wrong. If it is right, restart with --clock-confirmed ${now}`
  );
}

/** Responses under idempotency keys contain tokens that were shown once, so they expire even without writes. */
async function forgetAnswers(options: PrunerOptions): Promise<boolean> {
  const { database, time, store } = options;
  await redateAnswers(options);
  const old = await database.reads
    .selectFrom("idempotency")
    .select("created_ms")
    .where("created_ms", "<=", time.now() - answerLifeMs)
    .orderBy("created_ms")
    .limit(maxAnswers)
    .execute();
  const newest = old.at(-1)?.created_ms;
  if (newest === undefined) return false;
  const text = `delete from idempotency where created_ms <= ${renderPlaceholder(database.dialect, 0)}`;
  await store([{ sql: text, parameters: [newest] }]);
  return old.length === maxAnswers;
}

/** Responses that a wrong clock dated in the future get the present date. Otherwise they would be kept for too long. */
async function redateAnswers(options: PrunerOptions): Promise<void> {
  const { clock, time, known, store } = options;
  const { dialect, reads } = options.database;
  const now = time.now();
  const isClockRight = Math.abs(clock.now() - now) <= maxBehindMs && known.now() <= now + maxBehindMs;
  if (!isClockRight) return;
  const limit = now + answerLifeMs;
  const { late } = await reads
    .selectFrom("idempotency")
    .select((row) => row.fn.countAll<number>().as("late"))
    .where("created_ms", ">", limit)
    .executeTakeFirstOrThrow();
  if (late === 0) return;
  const [to, above] = [renderPlaceholder(dialect, 0), renderPlaceholder(dialect, 1)];
  const sql = `update idempotency set created_ms = ${to} where created_ms > ${above}`;
  await store([{ sql, parameters: [now, limit] }]);
}

/** Removes the next expired revisions from the log. Their changes stay, and the anchor now covers them. */
async function cutOff(
  options: PrunerOptions,
  notice: Notice,
  anchor: Anchor,
  sealed: string,
  to: number,
): Promise<boolean> {
  const { database, documents, sealer, retained, log, store } = options;
  if (!(await isAnnounced(options, notice, anchor))) return false;
  const { end, changes, brokenAt } = await walkChain(database.reads, anchor, to, documents);
  if (brokenAt !== undefined) {
    log.error("the history is damaged, so it is not pruned from there on", { revision: brokenAt });
    return false;
  }
  const next = { ...anchor, ...end, sum: sumWith(anchor, changes) };
  retained.oldest = Math.max(retained.oldest, end.revision + 1);
  const { dialect } = database;
  await store(
    anchorSteps(dialect, sealer, sealed, next, (stands) => [
      {
        sql: `delete from revisions where ${stands.sql} and revision <= ${renderPlaceholder(dialect, 1)}`,
        parameters: [stands.parameter, end.revision],
      },
    ]),
  );
  return true;
}

/**
 * Whether the log has announced the next deletion for long enough. After each start and each jump of the wall clock,
 * the operator has time to correct a wrong clock (P6).
 */
async function isAnnounced(options: PrunerOptions, notice: Notice, { revision: from }: Anchor): Promise<boolean> {
  const { clock, time, log, database, settings } = options;
  const now = time.now();
  const { jumps } = time;
  if (notice.jumps === jumps) return clock.monotonic() >= notice.until;
  const oldest = formatTimestamp(now - settings.historyDays * dayMs);
  const { count, last } = await database.reads
    .selectFrom("revisions")
    .select((row) => [row.fn.countAll<number>().as("count"), row.fn.max("revision").as("last")])
    .where("revision", ">", from)
    .where("at", "<", oldest)
    .executeTakeFirstOrThrow();
  notice.jumps = jumps;
  notice.until = clock.monotonic() + noticeMs;
  const what = { revisions: count, upToRevision: last, writtenBefore: oldest, historyDays: settings.historyDays };
  // Each start logs this. A clock that has jumped may be wrong.
  log[jumps > 0 ? "warn" : "info"](
    "history will be pruned in two hours: check the clock, or raise --history-days to keep more",
    what,
  );
  return false;
}

/**
 * Returns the last of the next revisions that has expired and fits in one step. The newest revision always stays. So
 * does every revision from the first unexpired one, whatever later dates say.
 */
async function findLastExpired(
  { database: { reads }, settings: { historyDays }, time }: PrunerOptions,
  from: number,
): Promise<number | undefined> {
  if (historyDays === 0) return undefined;
  const now = time.now();
  const before = now - historyDays * dayMs;
  const next = await reads
    .selectFrom("revisions")
    .select(["revision", "at"])
    .where("revision", ">", from)
    .orderBy("revision")
    .limit(maxRevisions + 1)
    .execute();
  const newest = await readNewestTime(reads);
  // A clock that is behind the newest revision may be wrong.
  if (newest === undefined || now < newest - maxBehindMs) return undefined;
  const isTooOld = ({ at }: { readonly at: string }): boolean => Date.parse(at) < before;
  // A revision dated later than now by a clock that was ahead proves nothing.
  const end = next.findIndex((one) => !isTooOld(one) && Date.parse(one.at) <= now + maxBehindMs);
  const run = next.slice(0, end === -1 ? -1 : Math.min(end, next.length - 1));
  const old = run.findLast(isTooOld)?.revision;
  if (old === undefined) return undefined;
  const counts = await reads
    .selectFrom("history")
    .select(["revision", (row) => row.fn.countAll<number>().as("rows")])
    .where("revision", ">", from)
    .where("revision", "<=", old)
    .groupBy("revision")
    .orderBy("revision")
    .execute();
  let rows = 0;
  const tooMany = counts.findIndex((one) => (rows += one.rows) > maxRows);
  return tooMany === -1 ? old : counts[Math.max(0, tooMany - 1)]?.revision;
}

/** Time of the newest revision, milliseconds since 1970; undefined if there is none. */
export async function readNewestTime(reads: Database["reads"]): Promise<number | undefined> {
  const newest = await reads
    .selectFrom("revisions")
    .select("at")
    .orderBy("revision", "desc")
    .limit(1)
    .executeTakeFirst();
  return newest && Date.parse(newest.at);
}

/** Deletes the rows that the next of the anchor's rows replace: the state before them can no longer be requested. */
async function sweepRows(options: PrunerOptions, anchor: Anchor, sealed: string): Promise<boolean> {
  const { database, documents, sealer, store } = options;
  if (anchor.swept.revision === anchor.revision && anchor.swept.position === lastPosition) return false;
  const { isLast, swept, removed } = await findReplaced(database, anchor);
  const next: Anchor = {
    ...anchor,
    swept: isLast ? { revision: anchor.revision, position: lastPosition } : swept,
    sum: sumWith(
      anchor,
      [],
      removed.map((row) => asWritten(row, documents)),
    ),
  };
  const { dialect } = database;
  await store(
    anchorSteps(dialect, sealer, sealed, next, (stands) => {
      const steps: DatabaseStep[] = [];
      for (let at = 0; at < removed.length; at += chunkRows) {
        const rows = removed.slice(at, at + chunkRows);
        const named = rows.map((_, index) => {
          const [revision, position] = [
            renderPlaceholder(dialect, 2 * index + 1),
            renderPlaceholder(dialect, 2 * index + 2),
          ];
          return `(revision = ${revision} and position = ${position})`;
        });
        steps.push({
          sql: `delete from history where ${stands.sql} and (${named.join(" or ")})`,
          parameters: [stands.parameter, ...rows.flatMap(({ revision, position }) => [revision, position])],
        });
      }
      return steps;
    }),
  );
  return true;
}

/**
 * Returns, for the next of the anchor's rows, each row that one of them replaced, and those rows that are deletions.
 */
async function findReplaced(
  { reads }: Database,
  { revision: upTo, swept: { revision, position } }: Anchor,
): Promise<{ readonly isLast: boolean; readonly swept: Cursor; readonly removed: readonly PrunedRow[] }> {
  const rows = await rowsWithPrior(reads)
    .select(["prior.position as prior_position", "prior.created_at as prior_created_at"])
    .where("row.revision", "<=", upTo)
    .where("row.revision", ">=", revision)
    .where((is) => is.or([is("row.revision", ">", revision), is("row.position", ">", position)]))
    .orderBy("row.revision")
    .orderBy("row.position")
    .limit(maxRows)
    .execute();
  const removed = new Map<string, PrunedRow>();
  const remove = (row: PrunedRow): void => void removed.set(`${row.revision} ${row.position}`, row);
  for (const { prior_revision, prior_position, prior_created_at, prior_doc, ...row } of rows) {
    if (prior_revision !== null) {
      remove({
        ...row,
        revision: prior_revision,
        position: prior_position as number,
        created_at: prior_created_at as string,
        doc: prior_doc,
      });
    }
    if (row.doc === null) remove(row);
  }
  return {
    isLast: rows.length < maxRows,
    swept: rows.at(-1) ?? { revision, position },
    removed: [...removed.values()],
  };
}
