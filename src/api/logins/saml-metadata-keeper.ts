/**
 * Keeps metadata of identity providers up to date when it has an address. Looks as often as the metadata demands, and
 * stores the last usable version, which every edge loads from the store.
 */
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { metadataAddressOf } from "../../identity/saml/metadata/metadata-address.ts";
import { startIdentityWorker } from "../../identity/worker/worker-client.ts";
import type { StoredObject, Store } from "../../storage/store.ts";
import type { EdgeObserver } from "../edges/edges.ts";
import { makeMetadataAskers } from "./metadata-askers.ts";
import { askerOf, makeMetadataBook, metadataKind, routeKind } from "./metadata-book.ts";
import { makeMetadataFetch } from "./metadata-fetch.ts";
import { makeMetadataLook } from "./metadata-look.ts";

export interface SamlMetadataOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Whether tenants' providers may use local addresses and plain HTTP. */
  readonly allowLocal: boolean;
  /** PEM of the authorities that issued the providers' certificates. */
  readonly ca: string | undefined;
}

export interface SamlMetadataKeeper extends EdgeObserver {
  stop(): Promise<void>;
}

const tickMs = 5_000;

export function keepSamlMetadata(options: SamlMetadataOptions): SamlMetadataKeeper {
  const { store, clock, log, metrics } = options;
  const worker = startIdentityWorker({ clock, log });
  const fetch = makeMetadataFetch(options);
  const book = makeMetadataBook(store, clock, (asker) => askers.has(asker));
  const askers = makeMetadataAskers({ book, look: makeMetadataLook({ clock, book, fetch, worker }), clock, log });
  metrics.gauge(
    "postern_saml_metadata_problems",
    "SAML logins whose provider's metadata could not be fetched or is invalid.",
    () => askers.problems,
  );

  const noteRoute = (route: StoredObject | undefined, id: string): void => {
    const address = route && metadataAddressOf(route.doc);
    if (address) askers.note({ ...address, accountId: route.account_id, askedBy: id, askedAt: undefined });
    else askers.drop(id);
  };
  const noteRow = (row: StoredObject | undefined, before: StoredObject | undefined): void => {
    const asker = row && askerOf(row);
    if (asker) askers.note(asker);
    else if (!row && before && askerOf(before)) askers.leave(String(before.doc["asked_by"]));
  };
  const job = store.jobs.want("renew metadata", () => {
    if (job.isHeld()) askers.reconsider();
  });
  const tick = (): void => {
    if (job.isHeld()) askers.lookForDue();
  };
  for (const object of store.objects(new Set([routeKind, metadataKind]))) {
    if (object.kind === routeKind) noteRoute(object, object.id);
    else noteRow(object, undefined);
  }
  store.subscribe(({ changes }) => {
    let isOurs = false;
    for (const change of changes) {
      if (change.kind === metadataKind) noteRow(change.after, change.before);
      if (change.kind !== routeKind) continue;
      noteRoute(change.after, change.id);
      isOurs = true;
    }
    if (isOurs) queueMicrotask(tick);
  });
  const timer = clock.every(tickMs, tick);
  queueMicrotask(tick);
  return {
    receive(message, line) {
      if (message.type !== "metadata_wanted") return;
      const { call, accountId, askedBy, address } = message;
      const looked = address ? askers.asked(accountId, askedBy, address) : askers.refetched(accountId, askedBy);
      runUnattended(
        "message",
        looked.then((isNew) => line.send({ type: "metadata_looked_for", call, isNew })),
      );
    },
    async stop() {
      timer.cancel();
      fetch.close();
      await worker.stop();
    },
  };
}
