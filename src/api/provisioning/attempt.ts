/** One attempt to obtain a certificate for a domain, and its stored result. */
import { challengeCertificate } from "../../acme/challenge-certificate.ts";
import type { Challenge } from "../../acme/challenge-certificate.ts";
import type { ChallengeType } from "../../acme/challenge-types.ts";
import type { DnsChallenges } from "../../acme/dns/challenges.ts";
import { obtainCertificate } from "../../acme/obtain.ts";
import { renewalId } from "../../acme/renewal-info.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import type { KeyedCertificate } from "../../lib/certificates/x509.ts";
import type { Log } from "../../lib/log.ts";
import { tlsCertificate } from "../../resources/tls-certificate.ts";
import { docOf, emptyDoc } from "../../schema/doc.ts";
import type { DocOf } from "../../schema/doc.ts";
import type { Job as SoleJob } from "../../storage/cluster/jobs.ts";
import type { Draft, Store, StoredObject } from "../../storage/store.ts";
import type { AcmeAuthorities } from "./acme-authorities.ts";
import { makeDnsProof } from "./dns-proof.ts";
import type { DnsProof } from "./dns-proof.ts";
import { failureOf, pauseMs } from "./attempt-failure.ts";
import type { AttemptFailure } from "./attempt-failure.ts";
import { certificateOf, changeJob, challengesFor, jobOf, policyOf, defaultRenewal } from "./job.ts";
import type { CertificateJob, Policy } from "./job.ts";
import { systemWrite } from "../operation/system-write.ts";
import { reservedDomain } from "../../resources/reserved-domain.ts";
import { certificateJob } from "../../resources/certificate-job.ts";
import { acmeChallenge } from "../../resources/acme-challenge.ts";

export interface AttemptContext {
  readonly store: Store;
  /** Only the holder of this job makes attempts. */
  readonly job: SoleJob;
  readonly authorities: AcmeAuthorities;
  /** Acceptable types; `dns-01` only with `dns`. */
  readonly challenges: readonly ChallengeType[];
  readonly dns: DnsChallenges | undefined;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: () => number;
  /** Resolves once an edge serves the write of `revision`. */
  reachedEdge(revision: number): Promise<void>;
  /** Aborted when the server stops. */
  readonly signal: AbortSignal;
}

/** The domain was deleted, or its policy has changed. */
class Abandoned extends Error {}

const operation = "provisionCertificate";

/**
 * Resolves with undefined if the domain has a certificate or no longer wants one. Otherwise resolves with the reason,
 * which is also stored in the domain's job. Rejects if it cannot be stored.
 */
export async function attemptCertificate(
  context: AttemptContext,
  domain: StoredObject,
): Promise<AttemptFailure | undefined> {
  const { store, clock, dns, log, signal } = context;
  const proof = makeDnsProof({
    dns,
    domain: docOf(domain, reservedDomain).domain,
    log,
    signal,
    store: (record) =>
      store.write({ ...systemWrite(domain.account_id, operation, clock), job: context.job }, (draft) => {
        if (draft.children(certificateJob.name, domain.id).length > 0) changeJob(draft, domain, { dns_record: record });
      }),
  });
  try {
    return await attemptWith(context, domain, proof);
  } finally {
    await proof.end();
  }
}

async function attemptWith(
  context: AttemptContext,
  domain: StoredObject,
  proof: DnsProof,
): Promise<AttemptFailure | undefined> {
  const { store, clock, random, authorities } = context;
  const policy = policyOf(domain);
  if (!policy) return undefined;
  const job = jobOf(store, domain.id);
  const write = (work: (draft: Draft) => void) =>
    store.write({ ...systemWrite(domain.account_id, operation, clock), job: context.job }, (draft) => {
      if (!stillWants(draft, domain, policy)) throw new Abandoned();
      work(draft);
    });
  // A crash during the attempt counts as a failure.
  const retriesAt = timestampAfter(clock, pauseMs(job.failures + 1, 0, random));
  const started = { started_at: formatTimestamp(clock.now()), retries_at: retriesAt, under_way: true };
  try {
    await write((draft) => changeJob(draft, domain, started));
    await proof.clear(job.dns_record);
    const name = docOf(domain, reservedDomain).domain;
    const types = challengesFor(name, context.challenges);
    const type = challengeType(types, job);
    let shown: Challenge | undefined;
    const { made, directoryUrl } = await authorities.first(name, async (authority) => {
      const made = await obtainCertificate(await authority.account(), {
        name,
        keyType: policy.private_key_type === "rsa" ? "rsa" : "ec",
        challenges: [type, ...types.filter((one) => one !== type)],
        replaces: authority === authorities.of(job.directory) ? nameReplaced(store, domain) : undefined,
        async present(challenge) {
          shown = challenge;
          if (challenge.type === "dns-01") {
            await proof.present(challenge.keyAuthorization);
            return;
          }
          const doc = await challengeDoc(domain, challenge, clock);
          const { revision } = await write((draft) => {
            withdrawCertificate(draft, domain);
            draft.create(domain.account_id, acmeChallenge.name, doc);
          });
          await context.reachedEdge(revision);
        },
      });
      return { made, directoryUrl: authority.directoryUrl };
    });
    const doc = certificateDoc(domain, made, clock);
    await write((draft) =>
      installCertificate(draft, domain, doc, {
        challenge_type: shown?.type ?? job.challenge_type,
        directory: directoryUrl,
      }),
    );
    return undefined;
  } catch (error) {
    if (error instanceof Abandoned) return undefined;
    if (context.signal.aborted) {
      const { started_at, retries_at } = job;
      await write((draft) => {
        withdrawCertificate(draft, domain);
        changeJob(draft, domain, { started_at, retries_at, under_way: false });
      });
      return undefined;
    }
    const failure = failureOf(error);
    const failures = job.failures + 1;
    await write((draft) => {
      withdrawCertificate(draft, domain);
      changeJob(draft, domain, {
        under_way: false,
        failures,
        error_code: failure.code,
        msg: failure.message,
        retries_at: timestampAfter(clock, pauseMs(failures, failure.retryAfterMs, random)),
      });
    });
    return failure;
  }
}

/** Whether the domain exists with the same policy as when the attempt began. */
function stillWants(draft: Draft, { account_id, kind, id }: StoredObject, policy: Policy): boolean {
  const now = draft.get(account_id, kind, id);
  return now !== undefined && policyOf(now)?.private_key_type === policy.private_key_type;
}

/** Starts with the type that succeeded last, and advances by one after each failure. */
function challengeType(types: readonly ChallengeType[], { challenge_type, failures }: CertificateJob): ChallengeType {
  const last = Math.max(
    0,
    types.findIndex((type) => type === challenge_type),
  );
  return types[(last + failures) % types.length] as ChallengeType;
}

/** RFC 9773 §5: names the replaced certificate, so that the authority counts the order as a renewal. */
function nameReplaced(store: Store, domain: StoredObject): string | undefined {
  const pem = certificateOf(store, domain);
  return pem === undefined ? undefined : renewalId(pem);
}

async function challengeDoc(
  domain: StoredObject,
  challenge: Challenge,
  clock: Clock,
): Promise<DocOf<typeof acmeChallenge>> {
  const name = docOf(domain, reservedDomain).domain;
  const shown = await challengeCertificate(name, challenge.keyAuthorization, clock.now());
  return {
    reserved_domain_id: domain.id,
    domain: name,
    token: challenge.token,
    key_authorization: challenge.keyAuthorization,
    certificate_pem: shown.certificatePem,
    private_key_pem: shown.keyPem,
  };
}

function withdrawCertificate(draft: Draft, domain: StoredObject): void {
  for (const challenge of draft.children(acmeChallenge.name, domain.id)) draft.delete(challenge);
}

/** Throws if the certificate would be invalid as an upload. */
function certificateDoc(domain: StoredObject, made: KeyedCertificate, clock: Clock): DocOf<typeof tlsCertificate> {
  const doc = {
    ...emptyDoc(tlsCertificate.fields),
    description: `Obtained for ${docOf(domain, reservedDomain).domain}`.slice(0, 255),
    certificate_pem: made.certificatePem,
    private_key_pem: made.keyPem,
    issued_at: formatTimestamp(clock.now()),
  };
  const derived = tlsCertificate.derive?.(doc) ?? {};
  if ("path" in derived) throw new Error(`obtain certificate: its ${derived.path} ${derived.message}`);
  return { ...doc, ...derived };
}

/** Sets the domain's certificate, and deletes the previously obtained one unless another object uses it. */
function installCertificate(
  draft: Draft,
  domain: StoredObject,
  doc: DocOf<typeof tlsCertificate>,
  change: Partial<CertificateJob>,
): void {
  const now = draft.get(domain.account_id, domain.kind, domain.id) as StoredObject;
  const before = jobOf(draft, domain.id).certificate_made;
  const certificate = draft.create(domain.account_id, tlsCertificate.name, doc);
  draft.replace(now, { ...now.doc, certificate_id: certificate.id });
  withdrawCertificate(draft, domain);
  changeJob(draft, domain, {
    started_at: null,
    under_way: false,
    failures: 0,
    error_code: null,
    msg: "",
    retries_at: null,
    renews_at: formatTimestamp(defaultRenewal(doc.certificate_pem)),
    certificate_made: certificate.id,
    ...change,
  });
  const old = before === null ? undefined : draft.get(domain.account_id, tlsCertificate.name, before);
  if (old && draft.referrers(old.id).length === 0) draft.delete(old);
}

function timestampAfter(clock: Clock, delayMs: number): string {
  return formatTimestamp(clock.now() + delayMs);
}
