/** Obtains certificates for domains with a management policy, and renews them in time. */
import { challengeTypes, connectionChallenges } from "../../acme/challenge-types.ts";
import type { ChallengeType } from "../../acme/challenge-types.ts";
import type { DnsChallenges } from "../../acme/dns/challenges.ts";
import { AcmeProblem } from "../../acme/problem.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { SpanRecorder } from "../../lib/span-recorder.ts";
import type { Doc } from "../../schema/doc.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import type { AppliedRevisions } from "../edges/applied.ts";
import { makeAuthorities } from "./acme-authorities.ts";
import type { AcmeAuthorities } from "./acme-authorities.ts";
import { openAuthority } from "./acme-authority.ts";
import { makeCertificateWork } from "./certificate-work.ts";
import { pauseMs, termsNotAgreed, wildcardRefused } from "./attempt-failure.ts";
import type { AttemptFailure } from "./attempt-failure.ts";
import { certificateOf, challengesFor, isDue, jobOf, policyOf, statusOf } from "./job.ts";
import type { AcmeSettings } from "../../settings/acme.ts";
import { docOf } from "../../schema/doc.ts";
import { reservedDomain } from "../../resources/reserved-domain.ts";

export interface Provisioning {
  /** Returns `certificate_management_status` of a domain. */
  status(domain: StoredObject): Doc | null;
  /** Aborts current work. The next start begins it again. */
  stop(): Promise<void>;
}

export interface ProvisioningOptions {
  readonly store: Store;
  readonly settings: AcmeSettings;
  /** Undefined without a DNS provider. */
  readonly dns: DnsChallenges | undefined;
  /** The authority sends its challenge to an edge, so an order proceeds only once the edges can answer. */
  readonly applied: Pick<AppliedRevisions, "wait">;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly recorder?: SpanRecorder | undefined;
}

/** A domain with a policy. */
interface Managed {
  readonly accountId: string;
  isBusy: boolean;
  /** When to ask the authority for the renewal time again, monotonic time. */
  asksAt: number;
  /** Nothing is tried before this monotonic time, because the last result could not be stored. */
  restsUntil: number;
}

const lookEveryMs = 30_000;
/** Maximum number of parallel attempts and questions. */
const maxRunning = 4;
/** Questions after a start are spread over this time. */
const firstAskMs = 60 * 60 * 1000;
const edgeTimeoutMs = 10_000;
const kind = reservedDomain.name;

export function openProvisioning(options: ProvisioningOptions): Provisioning {
  const { store, settings, dns, applied, clock, log, metrics } = options;
  const random = Math.random;
  const stopping = new AbortController();
  const managed = new Map<string, Managed>();
  const running = new Set<Promise<void>>();
  const challenges = challengesOf(settings);
  const job = store.jobs.want("certificates", () => lookSoon());
  const work = makeCertificateWork({
    store,
    job,
    authorities: authoritiesOf(options, stopping.signal),
    challenges,
    dns,
    clock,
    random,
    async reachedEdge(revision) {
      const progress = await applied.wait(revision, edgeTimeoutMs);
      if (!progress.applied) throw new AcmeProblem("noEdge", "no edge answers the authority");
    },
    signal: stopping.signal,
    log,
    metrics,
    recorder: options.recorder,
  });
  let isLooking = false;
  metrics.gauge("postern_managed_certificates", "Domains with a certificate policy.", () => managed.size);

  /** Runs `task` as one of a limited number, and then looks for more work. */
  const run = (entry: Managed, task: () => Promise<void>): void => {
    entry.isBusy = true;
    const all = task()
      .catch((error: unknown) => {
        entry.restsUntil = clock.monotonic() + pauseMs(1, undefined, random);
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
    if (await work.provision(domain)) entry.asksAt = clock.monotonic();
  };
  const askRenewal = async (domain: StoredObject, entry: Managed, pem: string): Promise<void> => {
    entry.asksAt = await work.askRenewal(domain, pem);
  };
  const look = (): void => {
    isLooking = false;
    if (!job.isHeld()) return;
    const now = clock.monotonic();
    for (const [id, entry] of managed) {
      if (running.size >= maxRunning || stopping.signal.aborted) return;
      const domain = entry.isBusy || entry.restsUntil > now ? undefined : store.get(entry.accountId, kind, id);
      if (!domain) continue;
      const refusal = refusalOf(domain, settings, challenges);
      const pem = certificateOf(store, domain);
      if (refusal) {
        if (jobOf(store, id).error_code !== refusal.code) run(entry, () => work.refuse(domain, refusal));
      } else if (isDue(store, domain, clock.now())) run(entry, () => provision(domain, entry));
      else if (pem !== undefined && entry.asksAt <= now) run(entry, () => askRenewal(domain, entry, pem));
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
      if (domain)
        work.end(domain).catch((error: unknown) => log.error("certificate management not stopped", { error }));
    } else if (!managed.has(id)) {
      const asksAt = clock.monotonic() + random() * firstAskMs;
      managed.set(id, { accountId: domain.account_id, isBusy: false, asksAt, restsUntil: -Infinity });
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
    async stop() {
      timer.cancel();
      stopping.abort();
      await Promise.allSettled(running);
    },
  };
}

function authoritiesOf(options: ProvisioningOptions, signal: AbortSignal): AcmeAuthorities {
  const { store, settings, clock, log } = options;
  const directories = [settings.acmeDirectory, ...settings.acmeFallbackDirectory];
  const all = directories.map((directoryUrl) => openAuthority({ store, settings, directoryUrl, clock, signal }));
  return makeAuthorities(all, clock, log);
}

/** Returns the types in the order in which they are tried. */
function challengesOf({ acmeChallenge, acmeDnsProvider }: AcmeSettings): readonly ChallengeType[] {
  if (acmeChallenge !== undefined) return [acmeChallenge];
  return acmeDnsProvider === undefined ? connectionChallenges : challengeTypes;
}

/** Returns why the authority is not asked. */
function refusalOf(
  domain: StoredObject,
  { acmeAgree }: AcmeSettings,
  challenges: readonly ChallengeType[],
): AttemptFailure | undefined {
  if (challengesFor(docOf(domain, reservedDomain).domain, challenges).length === 0) return wildcardRefused;
  return acmeAgree ? undefined : termsNotAgreed;
}
