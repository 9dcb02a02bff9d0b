/** State of the server's work on the certificate of a domain: stored, shown, and used to find due work. */
import { X509Certificate } from "node:crypto";
import type { ChallengeType } from "../../acme/challenge-types.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import { certificateJob } from "../../resources/certificate-job.ts";
import { docOf, emptyDoc } from "../../schema/doc.ts";
import type { Doc, DocOf } from "../../schema/doc.ts";
import type { Draft, Reader, StoredObject } from "../../storage/store.ts";
import { reservedDomain } from "../../resources/reserved-domain.ts";
import { tlsCertificate } from "../../resources/tls-certificate.ts";
import { acmeChallenge } from "../../resources/acme-challenge.ts";

/** The stored job. Times are RFC 3339. */
export type CertificateJob = DocOf<typeof certificateJob>;

export type Policy = NonNullable<DocOf<typeof reservedDomain>["certificate_management_policy"]>;

const kind = certificateJob.name;
/** Maximum clock difference between nodes. */
const clockErrorMs = 5 * 60_000;
const newJob = emptyDoc(certificateJob.fields);

export function policyOf(domain: StoredObject): Policy | undefined {
  const doc = docOf(domain, reservedDomain);
  // An unproven domain belongs to no account yet, so it gets no certificate.
  return doc.unproven ? undefined : (doc.certificate_management_policy ?? undefined);
}

export function jobOf(reader: Reader, domainId: string): CertificateJob {
  const [job] = reader.children(kind, domainId);
  return job ? docOf(job, certificateJob) : newJob;
}

export function changeJob(draft: Draft, domain: StoredObject, change: Partial<CertificateJob>): void {
  const present = draft.children(kind, domain.id)[0];
  if (present) draft.replace(present, { ...present.doc, ...change });
  else draft.create(domain.account_id, kind, { ...newJob, ...change, reserved_domain_id: domain.id });
}

export function deleteJob(draft: Draft, domain: StoredObject): void {
  for (const one of [...draft.children(kind, domain.id), ...draft.children(acmeChallenge.name, domain.id)]) {
    draft.delete(one);
  }
}

/** Returns the types that can prove `name`: for a wildcard only by DNS (RFC 8555 §7.1.3). */
export function challengesFor(name: string, types: readonly ChallengeType[]): readonly ChallengeType[] {
  return name.startsWith("*.") ? types.filter((type) => type === "dns-01") : types;
}

/** Returns the default renewal time, after two thirds of the lifetime. Milliseconds since 1970. */
export function defaultRenewal(certificatePem: string): number {
  const { validFromDate, validToDate } = new X509Certificate(certificatePem);
  return validFromDate.getTime() + ((validToDate.getTime() - validFromDate.getTime()) * 2) / 3;
}

/**
 * Whether an attempt is due.
 * @param now milliseconds since 1970
 */
export function isDue(reader: Reader, domain: StoredObject, now: number): boolean {
  const { started_at: startedAt, retries_at: retriesAt, renews_at: renewsAt } = jobOf(reader, domain.id);
  // An attempt in the future was made while the clock was wrong, so its retry time is wrong too.
  const isOfWrongClock = startedAt !== null && Date.parse(startedAt) > now + clockErrorMs;
  if (retriesAt !== null && !isOfWrongClock) return Date.parse(retriesAt) <= now;
  const certificate = certificateOf(reader, domain);
  if (!certificate) return true;
  return (renewsAt === null ? defaultRenewal(certificate) : Date.parse(renewsAt)) <= now;
}

/** Returns the PEM of the domain's certificate. */
export function certificateOf(reader: Reader, domain: StoredObject): string | undefined {
  const id = docOf(domain, reservedDomain).certificate_id;
  const certificate = id === null ? undefined : reader.get(domain.account_id, tlsCertificate.name, id);
  return certificate && docOf(certificate, tlsCertificate).certificate_pem;
}

/**
 * Returns `certificate_management_status` of a domain.
 * @param isBusy whether this process is working on it
 */
export function statusOf(reader: Reader, domain: StoredObject, isBusy: boolean, now: number): Doc | null {
  if (!policyOf(domain)) return null;
  const job = jobOf(reader, domain.id);
  const hasCertificate = docOf(domain, reservedDomain).certificate_id !== null;
  const isRunning = isBusy && job.under_way;
  const isIdle = job.started_at === null && hasCertificate;
  return {
    renews_at: hasCertificate ? job.renews_at : null,
    challenge_type: hasCertificate ? job.challenge_type : null,
    provisioning_job: isIdle
      ? null
      : {
          error_code: job.error_code,
          msg:
            job.msg ||
            (isRunning ? "The server is requesting the certificate." : "The server will request the certificate."),
          started_at: job.started_at ?? formatTimestamp(now),
          retries_at: isRunning ? null : job.retries_at,
        },
  };
}
