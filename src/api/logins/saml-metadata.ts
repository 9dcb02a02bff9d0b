/**
 * Metadata of identity providers that has an address of its own: looked for as often as it wishes, the last good one kept
 * in the store, from where every edge gets it.
 */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { refreshAfter } from "../../identity/saml/metadata/idp-metadata.ts";
import type { IdpMetadata } from "../../identity/saml/metadata/idp-metadata.ts";
import { metadataAddressOf } from "../../identity/saml/metadata/metadata-address.ts";
import type { MetadataAddress } from "../../identity/saml/metadata/metadata-address.ts";
import { startIdentityWorker } from "../../identity/worker/client.ts";
import type { StoredObject, Store } from "../../storage/store.ts";
import type { EdgeObserver } from "../edges/edges.ts";
import { askerOf, makeMetadataBook, metadataKind, routeKind } from "./metadata-book.ts";
import type { MetadataAsker, MetadataBook } from "./metadata-book.ts";
import { makeMetadataFetch } from "./metadata-fetch.ts";
import { makeMetadataLook } from "./metadata-look.ts";

export interface SamlMetadataOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Tenants' providers may be at local addresses, and without TLS. */
  readonly allowLocal: boolean;
  /** PEM of the authorities that providers have their certificates from. */
  readonly ca: string | undefined;
}

export interface SamlMetadataKeeper extends EdgeObserver {
  stop(): Promise<void>;
}

interface Kept extends MetadataAsker {
  askedAt: number | undefined;
  /** On the monotonic clock. */
  dueAt: number;
  /** When an unknown key last had it looked for. */
  refetchedAt: number;
  looking: Promise<boolean> | undefined;
  problem: string | undefined;
}

const tickMs = 5_000;
/** After a failure, milliseconds. */
const retryMs = 60_000;
/** An unknown key has it looked for once in so long. */
const unknownKeyMs = 60_000;
const maxLooking = 8;
/** What no route asks for goes when no edge has asked for so long; each asks again when half a day is over. */
const forgottenMs = 7 * 86_400_000;
/** Of an account, besides those of routes. */
const maxAsked = 1000;
/** Characters. */
const maxProblem = 1000;

export function keepSamlMetadata(options: SamlMetadataOptions): SamlMetadataKeeper {
  const { store, clock, log, metrics } = options;
  const worker = startIdentityWorker({ clock, log });
  const fetch = makeMetadataFetch(options);
  const askers = new Map<string, Kept>();
  const book = makeMetadataBook(store, clock, (asker) => askers.get(asker.askedBy) === asker);
  const look = makeMetadataLook({ clock, book, fetch, worker });
  let looking = 0;
  metrics.gauge(
    "postern_saml_metadata_problems",
    "Logins by SAML whose identity provider's metadata could not be had from its address, or not be used.",
    () => [...askers.values()].filter(({ problem }) => problem !== undefined).length,
  );

  const tried = async (kept: Kept): Promise<boolean> => {
    const { askedBy, accountId: account } = kept;
    const url = kept.url.replace(/[?#].*/s, "");
    looking += 1;
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
        .catch((cause: unknown) => log.warn("problem not kept", { login: askedBy, error: cause }));
      return false;
    } finally {
      looking -= 1;
      kept.looking = undefined;
    }
  };
  /** Resolves with whether it has changed; one look at a time. */
  const lookAt = (kept: Kept): Promise<boolean> => {
    kept.dueAt = clock.monotonic() + retryMs;
    return (kept.looking ??= tried(kept));
  };
  const noteAsker = (asker: MetadataAsker): void => {
    const before = askers.get(asker.askedBy);
    if (before && before.url === asker.url && before.document === asker.document) {
      before.askedAt = asker.askedAt;
      return;
    }
    askers.set(asker.askedBy, keptOf(asker, book, clock));
  };
  const note = (route: StoredObject | undefined, id: string): void => {
    const address = route && metadataAddressOf(route.doc);
    if (address) noteAsker({ ...address, accountId: route.account_id, askedBy: id, askedAt: undefined });
    else drop(id);
  };
  const drop = (askedBy: string): void => {
    const before = askers.get(askedBy);
    if (!before) return;
    askers.delete(askedBy);
    book
      .forget(before.accountId, askedBy)
      .catch((error: unknown) => log.warn("metadata not forgotten", { login: askedBy, error }));
  };
  const noteRow = (row: StoredObject | undefined, before: StoredObject | undefined): void => {
    const asker = row && askerOf(row);
    if (asker) noteAsker(asker);
    else if (!row && before && askerOf(before)) askers.delete(String(before.doc["asked_by"]));
  };
  const job = store.jobs.want("renew metadata", () => {
    // What another node has looked for meanwhile is not due.
    if (job.isHeld()) for (const kept of askers.values()) kept.dueAt = dueAt(kept, book, clock);
  });
  const tick = (): void => {
    if (!job.isHeld()) return;
    for (const kept of askers.values()) {
      if (looking >= maxLooking) return;
      if (kept.askedAt !== undefined && clock.now() - kept.askedAt > forgottenMs) drop(kept.askedBy);
      else if (!kept.looking && kept.dueAt <= clock.monotonic()) void lookAt(kept);
    }
  };
  for (const object of store.objects(new Set([routeKind, metadataKind]))) {
    if (object.kind === routeKind) note(object, object.id);
    else noteRow(object, undefined);
  }
  store.subscribe(({ changes }) => {
    let isOurs = false;
    for (const change of changes) {
      if (change.kind === metadataKind) noteRow(change.after, change.before);
      if (change.kind !== routeKind) continue;
      note(change.after, change.id);
      isOurs = true;
    }
    if (isOurs) queueMicrotask(tick);
  });
  const timer = clock.every(tickMs, tick);
  queueMicrotask(tick);

  /** An edge tells of a login that no route has. Resolves with whether there is something new, once it was looked for. */
  const asked = async (accountId: string, askedBy: string, address: MetadataAddress): Promise<boolean> => {
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
      log.warn("metadata not looked for: the account has too many addresses of it", { account: accountId });
      return false;
    }
    noteAsker({ ...address, accountId, askedBy, askedAt });
    return await lookAt(askers.get(askedBy) as Kept);
  };
  const refetched = async (accountId: string, askedBy: string): Promise<boolean> => {
    const kept = askers.get(askedBy);
    if (kept?.accountId !== accountId) return false;
    if (kept.looking) return await kept.looking;
    if (clock.monotonic() - kept.refetchedAt < unknownKeyMs) return false;
    kept.refetchedAt = clock.monotonic();
    return await lookAt(kept);
  };
  return {
    receive(message, line) {
      if (message.type !== "metadata_wanted") return;
      const { call, accountId, askedBy, address } = message;
      const looked = address ? asked(accountId, askedBy, address) : refetched(accountId, askedBy);
      void looked.then((isNew) => line.send({ type: "metadata_looked_for", call, isNew }));
    },
    async stop() {
      timer.cancel();
      fetch.close();
      await worker.stop();
    },
  };
}

/** One that is looked after from now on: at once, or when what is known of it should be renewed. */
function keptOf(asker: MetadataAsker, book: MetadataBook, clock: Clock): Kept {
  return {
    ...asker,
    dueAt: dueAt(asker, book, clock),
    refetchedAt: Number.NEGATIVE_INFINITY,
    looking: undefined,
    problem: undefined,
  };
}

/** On the monotonic clock: at once where nothing good is known. */
function dueAt(asker: MetadataAsker, book: MetadataBook, clock: Clock): number {
  const present = book.goodOf(asker);
  const age = present ? clock.now() - Date.parse(String(present.doc["fetched_at"])) : Number.POSITIVE_INFINITY;
  const known = present && (JSON.parse(String(present.doc["metadata"])) as IdpMetadata);
  return clock.monotonic() + (known ? Math.max(0, refreshAfter(known) * 1000 - age) : 0);
}
