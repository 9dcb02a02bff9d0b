import { X509Certificate, hash } from "node:crypto";
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { issueLeaf } from "../../lib/certificates/x509.ts";
import type { KeyedCertificate } from "../../lib/certificates/x509.ts";
import { Lru } from "../../lib/collections/lru.ts";
import { makeRate } from "../../lib/rate.ts";
import type { ServerCertificate } from "./server-certificate.ts";
import { dayMs } from "../../lib/durations.ts";

/** Leaf certificates of the server's own authority. Issued on first use of a name and renewed before they end. */
export interface OwnCertificates {
  /**
   * Returns a certificate for configured names, whose number is limited by the configuration. Returns an existing one
   * immediately. Undefined if the rate limit is exceeded.
   */
  forListed(names: readonly string[]): ServerCertificate | Promise<ServerCertificate> | undefined;
  /** Returns an existing certificate. */
  made(names: readonly string[]): ServerCertificate | undefined;
  /**
   * Returns a certificate for a name covered by a site's wildcard. Anyone can invent such names, so the rate limit is
   * lower.
   */
  forCovered(names: readonly string[]): ServerCertificate | Promise<ServerCertificate> | undefined;
  /** Returns a certificate for a name without a site. The rate limit is much lower. */
  forStranger(names: readonly string[]): ServerCertificate | Promise<ServerCertificate> | undefined;
  /** Issues by another authority from now on, and forgets the leaves of the previous one. */
  replaceAuthority(authority: KeyedCertificate): void;
}

const lifetimeDays = 90;
/** Time before its end at which a leaf is renewed. It is used until the new one is ready. */
const renewMs = 30 * dayMs;
/** A leaf costs about 0.3 ms of processor time, mostly on other threads. All leaves are issued again after a start. */
const listedRate = { perSecond: 500, burst: 5000 };
const coveredRate = { perSecond: 100, burst: 1000 };
const strangerRate = { perSecond: 5, burst: 50 };

interface Leaf {
  certificate: ServerCertificate | undefined;
  /** Pending first issue or renewal. */
  making: Promise<ServerCertificate> | undefined;
}

/** @param maxLeaves maximum number of cached leaves. Drops the least recently used */
export function makeOwnCertificates(
  authority: KeyedCertificate,
  maxLeaves: number,
  clock: Clock,
  log: Log,
): OwnCertificates {
  let leaves = new Lru<string, Leaf>(maxLeaves);
  let issuer = authority;
  let count = 0;

  const issue = async (names: readonly string[]): Promise<ServerCertificate> => {
    const by = issuer;
    const issued = await issueLeaf(by, { names, now: clock.now(), days: lifetimeDays });
    count += 1;
    const notAfter = new X509Certificate(issued.certificatePem).validToDate.getTime();
    const lineage = `own ${hash("sha256", by.certificatePem)} ${names.join(" ")}`;
    return { id: `own-${count}`, lineage, ...issued, notAfter };
  };
  const make = (leaf: Leaf, names: readonly string[]): void => {
    const making = issue(names);
    leaf.making = making;
    const made = making
      .then((certificate) => {
        leaf.certificate = certificate;
      })
      .catch((error: unknown) => log.error("certificate not issued", { name: names[0], error }))
      .finally(() => {
        leaf.making = undefined;
      });
    runUnattended("task", made);
  };
  const bounded = ({ perSecond, burst }: { readonly perSecond: number; readonly burst: number }) => {
    const rate = makeRate(perSecond, burst, () => clock.monotonic());
    return (names: readonly string[]): ServerCertificate | Promise<ServerCertificate> | undefined => {
      const name = names[0] as string;
      let leaf = leaves.get(name);
      const left = leaf?.certificate ? leaf.certificate.notAfter - clock.now() : -Infinity;
      if (left > renewMs) return leaf?.certificate;
      if (!leaf?.making && rate.take()) {
        if (!leaf) leaves.set(name, (leaf = { certificate: undefined, making: undefined }));
        make(leaf, names);
      }
      return left > 0 ? leaf?.certificate : leaf?.making;
    };
  };
  return {
    made(names) {
      const certificate = leaves.get(names[0] as string)?.certificate;
      return certificate && certificate.notAfter - clock.now() > renewMs ? certificate : undefined;
    },
    forListed: bounded(listedRate),
    forCovered: bounded(coveredRate),
    forStranger: bounded(strangerRate),
    replaceAuthority(other) {
      issuer = other;
      leaves = new Lru(maxLeaves);
    },
  };
}
