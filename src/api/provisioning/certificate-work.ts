/** Work on one domain with a certificate policy: obtain, schedule renewal, refuse, end. */
import { usualRetryMs } from "../../acme/renewal-info.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { SpanRecorder } from "../../lib/span-recorder.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import { attemptCertificate } from "./attempt.ts";
import type { AttemptContext } from "./attempt.ts";
import type { AttemptFailure } from "./attempt-failure.ts";
import { certificateOf, changeJob, deleteJob, jobOf, policyOf } from "./job.ts";
import { systemWrite } from "../operation/system-write.ts";
import { docOf } from "../../schema/doc.ts";
import { reservedDomain } from "../../resources/reserved-domain.ts";
import { tlsCertificate } from "../../resources/tls-certificate.ts";

export interface CertificateWork {
  /** Tries to obtain a certificate. Resolves with true if there is a new one. */
  provision(domain: StoredObject): Promise<boolean>;
  /**
   * Asks the authority when to renew the certificate `pem`, and stores the time. Resolves with when to ask again,
   * monotonic time.
   */
  askRenewal(domain: StoredObject, pem: string): Promise<number>;
  /** Stores the reason why the authority is not asked. */
  refuse(domain: StoredObject, failure: AttemptFailure): Promise<void>;
  /** Deletes the state of a domain without a policy. */
  end(domain: StoredObject): Promise<void>;
}

export interface CertificateWorkOptions extends AttemptContext {
  readonly metrics: Metrics;
  readonly recorder?: SpanRecorder | undefined;
}

/** Minimum age before a renewal, even if the authority wants new certificates renewed immediately. */
const leastAgeMs = 60 * 60 * 1000;
const kind = reservedDomain.name;

export function makeCertificateWork(options: CertificateWorkOptions): CertificateWork {
  const { store, authorities, clock, log, metrics, random, signal } = options;
  const write = (
    domain: StoredObject,
    operation: string,
    change: (draft: Parameters<Parameters<Store["write"]>[1]>[0], now: StoredObject) => void,
  ): Promise<unknown> =>
    store.write(systemWrite(domain.account_id, operation, clock), (draft) => {
      const now = draft.get(domain.account_id, kind, domain.id);
      if (now) change(draft, now);
    });

  return {
    async provision(domain) {
      const startedAt = clock.now();
      const failure = await attemptCertificate(options, domain);
      if (signal.aborted) return false;
      options.recorder?.record({
        name: "obtain certificate",
        kind: "internal",
        startedAt,
        endedAt: clock.now(),
        error: failure?.message,
        attributes: {
          "postern.domain.id": domain.id,
          "postern.account.id": domain.account_id,
          "error.type": failure?.code,
        },
      });
      const result = failure?.code ?? "completed";
      metrics.counter("postern_certificate_attempts_total", "Attempts to get a certificate.", { result }).add();
      noteResult(log, docOf(domain, reservedDomain).domain, failure);
      return failure === undefined;
    },
    // RFC 9773 §4.2: choose a random time within the window. Choose another only if the window no longer contains it.
    async askRenewal(domain, pem) {
      const window = await authorities
        .of(jobOf(store, domain.id).directory)
        .renewalWindow(pem)
        .catch((error: unknown) => {
          log.debug("renewal information not read", { domain: docOf(domain, reservedDomain).domain, error });
          return undefined;
        });
      if (!window) return clock.monotonic() + usualRetryMs;
      const asksAt = clock.monotonic() + window.retryAfterMs;
      const known = Date.parse(jobOf(store, domain.id).renews_at ?? "");
      if (known >= window.start - 1000 && known <= window.end) return asksAt;
      const issuedAt = issueTime(store, domain);
      const renewsAt = Math.max(window.start + random() * (window.end - window.start), issuedAt + leastAgeMs);
      await write(domain, "scheduleCertificateRenewal", (draft, now) => {
        if (certificateOf(draft, now) !== pem || !policyOf(now)) return;
        changeJob(draft, now, { renews_at: formatTimestamp(renewsAt) });
      });
      return asksAt;
    },
    async refuse(domain, { code, message }) {
      log.warn("certificate not obtained", { domain: docOf(domain, reservedDomain).domain, code, reason: message });
      await write(domain, "refuseCertificate", (draft, now) => {
        if (!policyOf(now)) return;
        const started_at = formatTimestamp(clock.now());
        changeJob(draft, now, { started_at, error_code: code, msg: message, retries_at: null });
      });
    },
    async end(domain) {
      if (store.children("certificate_job", domain.id).length === 0) return;
      await write(domain, "endCertificateManagement", (draft, now) => {
        if (!policyOf(now)) deleteJob(draft, now);
      });
    },
  };
}

function noteResult(log: Log, domain: string, failure: AttemptFailure | undefined): void {
  if (!failure) {
    log.info("certificate obtained", { domain });
    return;
  }
  const { code, message, cause } = failure;
  log.warn("certificate not obtained", {
    domain,
    code,
    reason: message,
    ...(cause !== undefined && { error: cause }),
  });
}

/** Returns when the domain's certificate was obtained, milliseconds since 1970. */
function issueTime(store: Store, domain: StoredObject): number {
  const id = docOf(domain, reservedDomain).certificate_id;
  const certificate = id === null ? undefined : store.get(domain.account_id, tlsCertificate.name, id);
  const issuedAt = certificate && docOf(certificate, tlsCertificate).issued_at;
  return typeof issuedAt === "string" ? Date.parse(issuedAt) : 0;
}
