/** Who asks for metadata of identity providers, and when it is looked for: each has one look at a time, all have some at once. */
import { letGo } from "../../lib/boundary.ts";
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
  /** It is looked for from now on; at once where nothing good is known of the address. */
  note(asker: MetadataAsker): void;
  /** Nobody asks for it any more: what is kept of it is forgotten. */
  drop(askedBy: string): void;
  /** What was kept of it has been forgotten. */
  leave(askedBy: string): void;
  /** Whether it still asks, and for the same. */
  has(asker: MetadataAsker): boolean;
  /** An edge tells of a login that no route has. Resolves with whether there is something new, once it was looked for. */
  asked(accountId: string, askedBy: string, address: MetadataAddress): Promise<boolean>;
  /** An edge has met a key that is not known. Resolves as `asked` does. */
  refetched(accountId: string, askedBy: string): Promise<boolean>;
  /** Begins with those that are due, and forgets those that no edge has asked for lately. */
  lookForDue(): void;
  /** Another has looked for them meanwhile: what it has found is not due. */
  reconsider(): void;
  /** Of how many the last look came to nothing. */
  readonly problems: number;
}

interface Kept extends MetadataAsker {
  askedAt: number | undefined;
  /** On the monotonic clock. */
  dueAt: number;
  /** When it was last looked for. */
  lookedAt: number;
  /** When an unknown key last had it looked for. */
  refetchedAt: number;
  looking: Promise<boolean> | undefined;
  problem: string | undefined;
}

/** After a failure, milliseconds. */
const retryMs = 60_000;
/** An unknown key has it looked for once in so long. */
const unknownKeyMs = 60_000;
const maxLooking = 32;
/** Of one account: providers that take their time hold up nobody else's. */
const maxLookingOfAccount = 4;
/** What no route asks for goes when no edge has asked for so long; each asks again when half a day is over. */
const forgottenMs = 7 * 86_400_000;
/** Of an account, besides those of routes. */
const maxAsked = 1000;
/** Characters. */
const maxProblem = 1000;

export function makeMetadataAskers({ book, look, clock, log }: MetadataAskersOptions): MetadataAskers {
  const askers = new Map<string, Kept>();
  const looks = makeLooks({ book, look, clock, log });
  const { lookAt } = looks;
  /** A clock that is wrong for an hour must not have anything forgotten. */
  const time = makeSettledTime(clock);

  const note = (asker: MetadataAsker): void => {
    const before = askers.get(asker.askedBy);
    if (before && before.url === asker.url && before.document === asker.document) {
      before.askedAt = asker.askedAt;
      return;
    }
    askers.set(asker.askedBy, keptOf(asker, book, clock));
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
      const kept = askers.get(askedBy) as Kept;
      // One that there is no room for is due, and looked for when there is.
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
          letGo("task", lookAt(kept));
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
  /** Resolves with whether it has changed; one look at a time. */
  lookAt(kept: Kept): Promise<boolean>;
  /** Whether one more may begin for the account. */
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
  const tried = async (kept: Kept): Promise<boolean> => {
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

/** One that is looked after from now on: at once, or when what is known of it should be renewed. */
function keptOf(asker: MetadataAsker, book: MetadataBook, clock: Clock): Kept {
  return {
    ...asker,
    dueAt: dueAt(asker, book, clock),
    refetchedAt: Number.NEGATIVE_INFINITY,
    lookedAt: Number.NEGATIVE_INFINITY,
    looking: undefined,
    problem: undefined,
  };
}

/** Also when what is known has ended by now: a clock that was behind may have dated it. */
function isDue(kept: Kept, book: MetadataBook, clock: Clock): boolean {
  const now = clock.monotonic();
  if (kept.dueAt <= now) return true;
  const goodUntil = Date.parse(String(book.goodOf(kept)?.doc["good_until"]));
  return goodUntil <= clock.now() && now - kept.lookedAt >= retryMs;
}

/** On the monotonic clock: at once where nothing good is known. */
function dueAt(asker: MetadataAsker, book: MetadataBook, clock: Clock): number {
  const present = book.goodOf(asker);
  const age = present ? clock.now() - Date.parse(String(present.doc["fetched_at"])) : Number.POSITIVE_INFINITY;
  // Fetched under a clock that was ahead: nothing tells how old it is.
  if (age < 0) return clock.monotonic();
  const known = present && (JSON.parse(String(present.doc["metadata"])) as IdpMetadata);
  return clock.monotonic() + (known ? Math.max(0, refreshAfter(known) * 1000 - age) : 0);
}
