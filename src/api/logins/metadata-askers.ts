/**
 * Tracks which logins need metadata of identity providers, and schedules the looks. Each asker has at most one look at
 * a time, and the total is limited.
 */
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import { makeSettledTime } from "../../lib/settled-time.ts";
import type { Log } from "../../lib/log.ts";
import { refreshAfter } from "../../identity/saml/metadata/idp-metadata.ts";
import type { IdpMetadata } from "../../identity/saml/metadata/idp-metadata.ts";
import type { MetadataAddress } from "../../identity/saml/metadata/metadata-address.ts";
import type { MetadataAsker, MetadataBook } from "./metadata-book.ts";
import type { MetadataLook } from "./metadata-look.ts";

export interface MetadataAskersOptions {
  readonly book: MetadataBook;
  readonly look: MetadataLook;
  readonly clock: Clock;
  readonly log: Log;
}

export interface MetadataAskers {
  /** Adds an asker. Its first look is immediate if the book has no usable metadata for the address. */
  note(asker: MetadataAsker): void;
  /** Removes an asker that is no longer needed and deletes its metadata. */
  drop(askedBy: string): void;
  /** Removes an asker whose metadata was already deleted. */
  leave(askedBy: string): void;
  /** Whether this asker is present with the same address. */
  has(asker: MetadataAsker): boolean;
  /**
   * Called when an edge reports a login that no route has. Resolves after the look with whether there is something new.
   */
  asked(accountId: string, askedBy: string, address: MetadataAddress): Promise<boolean>;
  /** Called when an edge met an unknown key. Resolves as `asked` does. */
  refetched(accountId: string, askedBy: string): Promise<boolean>;
  /** Starts the looks that are due, and removes askers that no edge has requested recently. */
  lookForDue(): void;
  /** Recomputes due times after another node did the looks. Metadata that it found is not due. */
  reconsider(): void;
  /** Number of askers whose last look failed. */
  readonly problems: number;
}

interface AskerState extends MetadataAsker {
  askedAt: number | undefined;
  /** Monotonic time. */
  dueAt: number;
  /** When the last look started. */
  lookedAt: number;
  /** When an unknown key last started a look. */
  refetchedAt: number;
  looking: Promise<boolean> | undefined;
  problem: string | undefined;
}

/** Delay after a failure, milliseconds. */
const retryMs = 60_000;
/** Minimum time between two looks for unknown keys. */
const unknownKeyMs = 60_000;
const maxLooking = 32;
/** Maximum number of simultaneous looks per account, so that slow providers do not block other accounts. */
const maxLookingOfAccount = 4;
/**
 * An asker without a route is removed if no edge requests it for this time. Edges repeat their request after half a
 * day.
 */
const forgottenMs = 7 * 86_400_000;
/** Maximum number of askers per account, besides those of routes. */
const maxAsked = 1000;
/** Maximum length, characters. */
const maxProblem = 1000;

export function makeMetadataAskers({ book, look, clock, log }: MetadataAskersOptions): MetadataAskers {
  const askers = new Map<string, AskerState>();
  const looks = makeLooks({ book, look, clock, log });
  const { lookAt } = looks;
  /** If the clock is wrong for an hour, nothing may be removed. */
  const time = makeSettledTime(clock);

  const note = (asker: MetadataAsker): void => {
    const before = askers.get(asker.askedBy);
    if (before && before.url === asker.url && before.document === asker.document) {
      before.askedAt = asker.askedAt;
      return;
    }
    askers.set(asker.askedBy, makeKept(asker, book, clock));
  };
  const drop = (askedBy: string): void => {
    const before = askers.get(askedBy);
    if (!before) return;
    askers.delete(askedBy);
    book
      .forget(before.accountId, askedBy)
      .catch((error: unknown) => log.warn("metadata not deleted", { login: askedBy, error }));
  };
  return {
    note,
    drop,
    leave: (askedBy) => void askers.delete(askedBy),
    has: (asker) => askers.get(asker.askedBy) === asker,
    async asked(accountId, askedBy, address) {
      const askedAt = clock.now();
      const before = askers.get(askedBy);
      const isSame = before?.url === address.url && before.document === address.document;
      if (before && (before.accountId !== accountId || before.askedAt === undefined)) return false;
      if (before && isSame) {
        before.askedAt = askedAt;
        if (before.looking) return await before.looking;
        if (before.problem !== undefined && !book.goodOf(before)) return false;
        await book.keepAsked(before);
        return false;
      }
      const own = [...askers.values()].filter((one) => one.askedAt !== undefined && one.accountId === accountId);
      if (!before && own.length >= maxAsked) {
        log.warn("metadata not fetched: the account has too many metadata URLs", { account: accountId });
        return false;
      }
      note({ ...address, accountId, askedBy, askedAt });
      const kept = askers.get(askedBy) as AskerState;
      // An asker without room stays due, and its look starts when there is room.
      return looks.haveRoom(accountId) && (await lookAt(kept));
    },
    async refetched(accountId, askedBy) {
      const kept = askers.get(askedBy);
      if (kept?.accountId !== accountId) return false;
      if (kept.looking) return await kept.looking;
      if (clock.monotonic() - kept.refetchedAt < unknownKeyMs || !looks.haveRoom(accountId)) return false;
      kept.refetchedAt = clock.monotonic();
      return await lookAt(kept);
    },
    lookForDue() {
      const now = time.now();
      for (const kept of askers.values()) {
        if (kept.askedAt !== undefined && now - kept.askedAt > forgottenMs) drop(kept.askedBy);
        else if (!kept.looking && isDue(kept, book, clock) && looks.haveRoom(kept.accountId))
          runUnattended("task", lookAt(kept));
      }
    },
    reconsider() {
      for (const kept of askers.values()) kept.dueAt = dueAt(kept, book, clock);
    },
    get problems() {
      return [...askers.values()].filter(({ problem }) => problem !== undefined).length;
    },
  };
}

interface Looks {
  /** Resolves with whether the metadata changed. Runs one look at a time. */
  lookAt(kept: AskerState): Promise<boolean>;
  /** Whether one more look may start for the account. */
  haveRoom(accountId: string): boolean;
}

function makeLooks({ book, look, clock, log }: MetadataAskersOptions): Looks {
  let looking = 0;
  const byAccount = new Map<string, number>();
  const count = (accountId: string, change: 1 | -1): void => {
    looking += change;
    const left = (byAccount.get(accountId) ?? 0) + change;
    if (left === 0) byAccount.delete(accountId);
    else byAccount.set(accountId, left);
  };
  const tried = async (kept: AskerState): Promise<boolean> => {
    const { askedBy, accountId: account } = kept;
    const url = kept.url.replace(/[?#].*/s, "");
    count(account, 1);
    try {
      const { isNew, againMs } = await look(kept);
      kept.dueAt = clock.monotonic() + againMs;
      kept.problem = undefined;
      return isNew;
    } catch (error) {
      const problem = (error instanceof Error ? error.message : String(error)).slice(0, maxProblem);
      kept.problem = problem;
      log.warn("metadata of an identity provider not renewed", { login: askedBy, account, url, problem });
      await book
        .keepProblem(kept, problem)
        .catch((cause: unknown) => log.warn("problem not stored", { login: askedBy, error: cause }));
      return false;
    } finally {
      count(account, -1);
      kept.looking = undefined;
    }
  };
  return {
    lookAt(kept) {
      kept.lookedAt = clock.monotonic();
      kept.dueAt = kept.lookedAt + retryMs;
      return (kept.looking ??= tried(kept));
    },
    haveRoom: (accountId) => looking < maxLooking && (byAccount.get(accountId) ?? 0) < maxLookingOfAccount,
  };
}

/** Returns a new asker, whose look is due immediately or when its known metadata needs renewal. */
function makeKept(asker: MetadataAsker, book: MetadataBook, clock: Clock): AskerState {
  return {
    ...asker,
    dueAt: dueAt(asker, book, clock),
    refetchedAt: Number.NEGATIVE_INFINITY,
    lookedAt: Number.NEGATIVE_INFINITY,
    looking: undefined,
    problem: undefined,
  };
}

/** Also true if the known metadata has expired, because a clock that was behind may have dated it. */
function isDue(kept: AskerState, book: MetadataBook, clock: Clock): boolean {
  const now = clock.monotonic();
  if (kept.dueAt <= now) return true;
  const goodUntil = Date.parse(String(book.goodOf(kept)?.doc["good_until"]));
  return goodUntil <= clock.now() && now - kept.lookedAt >= retryMs;
}

/** Returns the due time on the monotonic clock: now if there is no usable metadata. */
function dueAt(asker: MetadataAsker, book: MetadataBook, clock: Clock): number {
  const present = book.goodOf(asker);
  const age = present ? clock.now() - Date.parse(String(present.doc["fetched_at"])) : Number.POSITIVE_INFINITY;
  // The clock was ahead when this was fetched, so its age is unknown.
  if (age < 0) return clock.monotonic();
  const known = present && (JSON.parse(String(present.doc["metadata"])) as IdpMetadata);
  return clock.monotonic() + (known ? Math.max(0, refreshAfter(known) * 1000 - age) : 0);
}
