/** Gets certificates for domains that have a management policy, and renews them in time. */
import { AcmeProblem } from "../../acme/problem.ts";
import { usualRetryMs } from "../../acme/renewal-info.ts";
import { timestamp } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { Doc } from "../../schema/parse.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import { attempt } from "./attempt.ts";
import { openAuthority } from "./authority.ts";
import { pauseMs, termsNotAgreed, wildcardRefused } from "./failure.ts";
import type { Failure } from "./failure.ts";
import { certificateOf, changeJob, deleteJob, dueAt, jobOf, policyOf, statusOf } from "./job.ts";
import type { AcmeSettings } from "./settings.ts";
import { systemWrite } from "./system-write.ts";

export interface Provisioning {
  /** `certificate_management_status` of a domain. */
  status(domain: StoredObject): Doc | null;
  /** An edge has put everything up to `revision` into effect. */
  applied(revision: number): void;
  /** Breaks off what is under way; it is begun anew by the next start. */
  stop(): Promise<void>;
}

export interface ProvisioningOptions {
  readonly store: Store;
  readonly settings: AcmeSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly random?: () => number;
}

/** A domain with a policy. */
interface Managed {
  readonly accountId: string;
  isBusy: boolean;
  /** When the authority is asked again for the time of renewal, milliseconds since 1970. */
  asksAt: number;
  /** Nothing is tried before, since what had happened could not be written. */
  restsUntil: number;
}

const lookEveryMs = 30_000;
/** Attempts and questions under way at once. */
const maxRunning = 4;
/** Questions of a server that has just started are spread over this. */
const firstAskMs = 60 * 60 * 1000;
/** An authority that wants new certificates renewed at once is not followed. */
const leastAgeMs = 60 * 60 * 1000;
const edgeTimeoutMs = 10_000;
const kind = "reserved_domain";

export function openProvisioning(options: ProvisioningOptions): Provisioning {
  const { store, settings, clock, log, metrics } = options;
  const random = options.random ?? Math.random;
  const stopping = new AbortController();
  const authority = openAuthority(store, settings, clock, stopping.signal);
  const managed = new Map<string, Managed>();
  const running = new Set<Promise<void>>();
  const waiting = new Set<{ readonly revision: number; readonly done: (error?: Error) => void }>();
  let appliedRevision = -1;
  let isLooking = false;
  metrics.gauge("postern_managed_certificates", "Domains with a certificate policy.", () => managed.size);

  const reachedEdge = async (revision: number): Promise<void> => {
    if (appliedRevision >= revision) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const one = { revision, done: (error?: Error) => (error ? reject(error) : resolve()) };
    waiting.add(one);
    const late = clock.after(edgeTimeoutMs, () => one.done(new AcmeProblem("noEdge", "no edge answers the authority")));
    await promise.finally(() => {
      late.cancel();
      waiting.delete(one);
    });
  };
  const context = { store, authority, challenges: settings.challenges, clock, random, reachedEdge } as const;

  /** Runs `work` as one of a bounded number, and looks for more when it is done. */
  const run = (entry: Managed, work: () => Promise<void>): void => {
    entry.isBusy = true;
    const all = work()
      .catch((error: unknown) => {
        entry.restsUntil = clock.now() + pauseMs(1, undefined, random);
        if (!stopping.signal.aborted) log.error("certificate management failed", { error });
      })
      .finally(() => {
        entry.isBusy = false;
        running.delete(all);
        lookSoon();
      });
    running.add(all);
  };
  const provision = async (domain: StoredObject, entry: Managed): Promise<void> => {
    const failure = await attempt({ ...context, signal: stopping.signal }, domain);
    if (stopping.signal.aborted) return;
    const result = failure?.code ?? "completed";
    metrics.counter("postern_certificate_attempts_total", "Attempts to get a certificate.", { result }).add();
    const name = domain.doc["domain"];
    if (failure) {
      const { code, message, cause } = failure;
      log.warn("certificate not obtained", {
        domain: name,
        code,
        reason: message,
        ...(cause !== undefined && { error: cause }),
      });
    } else {
      entry.asksAt = clock.now();
      log.info("certificate obtained", { domain: name });
    }
  };
  /** RFC 9773 §4.2: a random time within the window, and another only when the window has moved away from it. */
  const ask = async (domain: StoredObject, entry: Managed, pem: string): Promise<void> => {
    entry.asksAt = clock.now() + usualRetryMs;
    const window = await authority.renewalWindow(pem).catch((error: unknown) => {
      log.debug("renewal information not read", { domain: domain.doc["domain"], error });
      return undefined;
    });
    if (!window) return;
    entry.asksAt = clock.now() + window.retryAfterMs;
    const known = Date.parse(jobOf(store, domain.id).renews_at ?? "");
    if (known >= window.start - 1000 && known <= window.end) return;
    const issuedAt = issueTime(store, domain);
    const renewsAt = Math.max(window.start + random() * (window.end - window.start), issuedAt + leastAgeMs);
    await store.write(systemWrite(domain.account_id, "scheduleCertificateRenewal", clock), (draft) => {
      const now = draft.get(domain.account_id, kind, domain.id);
      if (!now || certificateOf(draft, now) !== pem || !policyOf(now)) return;
      changeJob(draft, now, { renews_at: timestamp(renewsAt) });
    });
  };
  const refuse = async (domain: StoredObject, { code, message }: Failure): Promise<void> => {
    log.warn("certificate not obtained", { domain: domain.doc["domain"], code, reason: message });
    await store.write(systemWrite(domain.account_id, "refuseCertificate", clock), (draft) => {
      const now = draft.get(domain.account_id, kind, domain.id);
      if (!now || !policyOf(now)) return;
      const started_at = timestamp(clock.now());
      changeJob(draft, now, { started_at, error_code: code, msg: message, retries_at: null });
    });
  };

  const look = (): void => {
    isLooking = false;
    const now = clock.now();
    for (const [id, entry] of managed) {
      if (running.size >= maxRunning || stopping.signal.aborted) return;
      const domain = entry.isBusy || entry.restsUntil > now ? undefined : store.get(entry.accountId, kind, id);
      if (!domain) continue;
      const refusal = refusalOf(domain, settings);
      const pem = certificateOf(store, domain);
      if (refusal) {
        if (jobOf(store, id).error_code !== refusal.code) run(entry, () => refuse(domain, refusal));
      } else if (dueAt(store, domain) <= now) run(entry, () => provision(domain, entry));
      else if (pem !== undefined && entry.asksAt <= now) run(entry, () => ask(domain, entry, pem));
    }
  };
  const lookSoon = (): void => {
    if (isLooking || stopping.signal.aborted) return;
    isLooking = true;
    setImmediate(look);
  };
  const note = (id: string, domain: StoredObject | undefined): void => {
    if (!domain || !policyOf(domain)) {
      managed.delete(id);
      if (domain && jobIsThere(store, domain)) {
        store
          .write(systemWrite(domain.account_id, "endCertificateManagement", clock), (draft) => {
            const now = draft.get(domain.account_id, kind, id);
            if (now && !policyOf(now)) deleteJob(draft, now);
          })
          .catch((error: unknown) => log.error("certificate management not ended", { error }));
      }
    } else if (!managed.has(id)) {
      const asksAt = clock.now() + random() * firstAskMs;
      managed.set(id, { accountId: domain.account_id, isBusy: false, asksAt, restsUntil: 0 });
    }
  };

  for (const domain of store.objects(new Set([kind]))) note(domain.id, domain);
  store.subscribe(({ changes }) => {
    const ours = changes.filter((change) => change.kind === kind);
    for (const { id, after } of ours) note(id, after);
    if (ours.length > 0) lookSoon();
  });
  const timer = clock.every(lookEveryMs, look);
  lookSoon();
  return {
    status: (domain) => statusOf(store, domain, managed.get(domain.id)?.isBusy ?? false, clock.now()),
    applied(revision) {
      appliedRevision = revision;
      for (const one of waiting) if (revision >= one.revision) one.done();
    },
    async stop() {
      timer.cancel();
      stopping.abort();
      for (const one of waiting) one.done(new AcmeProblem("unreachable", "the server is stopping"));
      await Promise.allSettled(running);
    },
  };
}

/** Why the authority is not even asked. */
function refusalOf(domain: StoredObject, settings: AcmeSettings): Failure | undefined {
  if (String(domain.doc["domain"]).startsWith("*.")) return wildcardRefused;
  return settings.agreed ? undefined : termsNotAgreed;
}

function jobIsThere(store: Store, domain: StoredObject): boolean {
  return store.children("certificate_job", domain.id).length > 0;
}

/** When the domain's certificate was obtained, milliseconds since 1970. */
function issueTime(store: Store, domain: StoredObject): number {
  const id = String(domain.doc["certificate_id"]);
  const issuedAt = store.get(domain.account_id, "tls_certificate", id)?.doc["issued_at"];
  return typeof issuedAt === "string" ? Date.parse(issuedAt) : 0;
}
