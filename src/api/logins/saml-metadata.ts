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
import { startIdentityWorker } from "../../identity/worker/client.ts";
import type { StoredObject, Store } from "../../storage/store.ts";
import type { EdgeObserver } from "../edges/edges.ts";
import { makeMetadataBook, routeKind } from "./metadata-book.ts";
import type { MetadataBook, MetadataRoute } from "./metadata-book.ts";
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

interface Kept extends MetadataRoute {
  /** On the monotonic clock. */
  dueAt: number;
  /** When an unknown key last had it looked for. */
  askedAt: number;
  looking: Promise<boolean> | undefined;
  problem: string | undefined;
}

const tickMs = 5_000;
/** After a failure, milliseconds. */
const retryMs = 60_000;
/** An unknown key has it looked for once in so long. */
const unknownKeyMs = 60_000;
const maxLooking = 8;
/** Characters. */
const maxProblem = 1000;

export function keepSamlMetadata(options: SamlMetadataOptions): SamlMetadataKeeper {
  const { store, clock, log, metrics } = options;
  const worker = startIdentityWorker({ clock, log });
  const fetch = makeMetadataFetch(options);
  const routes = new Map<string, Kept>();
  const book = makeMetadataBook(store, clock, (route) => routes.get(route.routeId) === route);
  const look = makeMetadataLook({ clock, book, fetch, worker });
  let looking = 0;
  metrics.gauge(
    "postern_saml_metadata_problems",
    "Routes with SAML whose identity provider's metadata could not be had from its address, or not be used.",
    () => [...routes.values()].filter(({ problem }) => problem !== undefined).length,
  );

  const tried = async (kept: Kept): Promise<boolean> => {
    const { routeId: route, accountId: account } = kept;
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
      log.warn("metadata of an identity provider not renewed", { route, account, url, problem });
      await book
        .keepProblem(kept, problem)
        .catch((cause: unknown) => log.warn("problem not kept", { route, error: cause }));
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
  const note = (route: StoredObject | undefined, id: string): void => {
    const address = route && metadataAddressOf(route.doc);
    const before = routes.get(id);
    if (before && before.url === address?.url && before.document === address.document) return;
    if (address && route) routes.set(id, keptOf({ ...address, accountId: route.account_id, routeId: id }, book, clock));
    else routes.delete(id);
  };
  const job = store.jobs.want("renew metadata", () => {
    // What another node has looked for meanwhile is not due.
    if (job.isHeld()) for (const kept of routes.values()) kept.dueAt = dueAt(kept, book, clock);
  });
  const tick = (): void => {
    if (!job.isHeld()) return;
    for (const kept of routes.values()) {
      if (looking >= maxLooking) return;
      if (!kept.looking && kept.dueAt <= clock.monotonic()) void lookAt(kept);
    }
  };
  for (const route of store.objects(new Set([routeKind]))) note(route, route.id);
  store.subscribe(({ changes }) => {
    let isOurs = false;
    for (const change of changes) {
      if (change.kind !== routeKind) continue;
      note(change.after, change.id);
      isOurs = true;
    }
    if (isOurs) queueMicrotask(tick);
  });
  const timer = clock.every(tickMs, tick);
  queueMicrotask(tick);

  const refetched = async (accountId: string, routeId: string): Promise<boolean> => {
    const kept = routes.get(routeId);
    if (kept?.accountId !== accountId) return false;
    if (kept.looking) return await kept.looking;
    if (clock.monotonic() - kept.askedAt < unknownKeyMs) return false;
    kept.askedAt = clock.monotonic();
    return await lookAt(kept);
  };
  return {
    receive(message, line) {
      if (message.type !== "metadata_wanted") return;
      const { call, accountId, routeId } = message;
      void refetched(accountId, routeId).then((isNew) => line.send({ type: "metadata_looked_for", call, isNew }));
    },
    async stop() {
      timer.cancel();
      fetch.close();
      await worker.stop();
    },
  };
}

/** A route that is looked after from now on: at once, or when what is known of it should be renewed. */
function keptOf(route: MetadataRoute, book: MetadataBook, clock: Clock): Kept {
  return {
    ...route,
    dueAt: dueAt(route, book, clock),
    askedAt: Number.NEGATIVE_INFINITY,
    looking: undefined,
    problem: undefined,
  };
}

/** On the monotonic clock: at once where nothing good is known. */
function dueAt(route: MetadataRoute, book: MetadataBook, clock: Clock): number {
  const present = book.goodOf(route);
  const age = present ? clock.now() - Date.parse(String(present.doc["fetched_at"])) : Number.POSITIVE_INFINITY;
  const known = present && (JSON.parse(String(present.doc["metadata"])) as IdpMetadata);
  return clock.monotonic() + (known ? Math.max(0, refreshAfter(known) * 1000 - age) : 0);
}
