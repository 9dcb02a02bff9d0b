/**
 * Finds certificates with their keys in a folder. Certificates and keys are recognized by their content and belong
 * together by their key, so the layouts of certbot, acme.sh, Caddy, lego and others need no rules.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { certificateDetails } from "../../lib/certificates/certificate-details.ts";
import { Failure } from "../process/exit.ts";

export interface FoundCertificate {
  readonly file: string;
  /** The certificate, then its chain in order. */
  readonly certificatePem: string;
  readonly privateKeyPem: string;
  readonly fingerprint: string;
  readonly names: readonly string[];
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface SkippedCertificate {
  readonly file: string;
  readonly reason: string;
}

interface Chain {
  readonly file: string;
  readonly certificates: readonly X509Certificate[];
  readonly leaf: X509Certificate;
}

const limits = { depth: 6, entries: 20_000, fileBytes: 262_144 };
const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;
const keyBlock = /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----[\s\S]+?-----END (?:[A-Z]+ )?PRIVATE KEY-----/g;

/**
 * Returns the certificates that a server can use: for each set of names the one that expires last. Throws `Failure`
 * (usage) for a folder that cannot be read.
 *
 * @param now milliseconds since 1970
 */
export function findCertificates(
  folder: string,
  now: number,
): { readonly found: readonly FoundCertificate[]; readonly skipped: readonly SkippedCertificate[] } {
  const chains: Chain[] = [];
  const keys: { readonly key: KeyObject; readonly pem: string }[] = [];
  const skipped: SkippedCertificate[] = [];
  for (const file of filesIn(folder)) {
    const text = readFileSync(file, "latin1");
    const certificates = (text.match(certificateBlock) ?? []).flatMap(readCertificate);
    const [leaf] = certificates;
    if (leaf && !leaf.ca) chains.push({ file, leaf, certificates: inOrder(certificates) });
    for (const pem of text.match(keyBlock) ?? []) {
      const key = readKey(pem);
      if (key) keys.push({ key, pem });
      else skipped.push({ file, reason: "the key is encrypted, or of an unknown type" });
    }
  }
  const found = new Map<string, FoundCertificate>();
  const longestFirst = chains.sort((one, other) => other.certificates.length - one.certificates.length);
  const seen = new Set<string>();
  for (const { file, leaf, certificates } of longestFirst) {
    if (seen.has(leaf.fingerprint256)) continue;
    seen.add(leaf.fingerprint256);
    const key = keys.find((one) => leaf.checkPrivateKey(one.key));
    const expiresAt = Date.parse(leaf.validTo);
    const names = certificateDetails(leaf).dnsNames;
    if (!key) skipped.push({ file, reason: "the folder does not have its private key" });
    else if (expiresAt <= now)
      skipped.push({ file, reason: `expired on ${new Date(expiresAt).toISOString().slice(0, 10)}` });
    else if (names.length === 0) skipped.push({ file, reason: "has no DNS names" });
    else {
      const certificatePem = certificates.map((one) => one.toString().trim()).join("\n");
      const fingerprint = leaf.fingerprint256;
      const one = { file, certificatePem, privateKeyPem: key.pem, fingerprint, names, expiresAt };
      const known = found.get(namesKey(names));
      if (known) skipped.push({ file: pickOlder(known, one).file, reason: "a later certificate has the same names" });
      found.set(namesKey(names), known ? pickLater(known, one) : one);
    }
  }
  return { found: [...found.values()], skipped };
}

function namesKey(names: readonly string[]): string {
  return [...names].sort().join();
}

function pickLater(one: FoundCertificate, other: FoundCertificate): FoundCertificate {
  return other.expiresAt > one.expiresAt ? other : one;
}

function pickOlder(one: FoundCertificate, other: FoundCertificate): FoundCertificate {
  return pickLater(one, other) === one ? other : one;
}

/** Returns the first certificate and its chain of issuers. Other certificates are left out. */
function inOrder(certificates: readonly X509Certificate[]): readonly X509Certificate[] {
  const chain = certificates.slice(0, 1);
  for (let last = chain[0]; last;) {
    const current: X509Certificate = last;
    last = certificates.find((one) => !chain.includes(one) && current.checkIssued(one));
    if (last) chain.push(last);
  }
  return chain;
}

function readCertificate(pem: string): readonly X509Certificate[] {
  try {
    return [new X509Certificate(pem)];
  } catch {
    return [];
  }
}

function readKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

function filesIn(folder: string): readonly string[] {
  const files: string[] = [];
  let entries = 0;
  const walk = (directory: string, depth: number): void => {
    for (const name of readdirSync(directory).sort()) {
      entries += 1;
      if (entries > limits.entries)
        throw new Failure(
          "usage",
          `"${folder}" has more than ${limits.entries} entries: name the folder with the certificates`,
        );
      const path = join(directory, name);
      // Links of certbot lead to the current files.
      const stat = statSync(path, { throwIfNoEntry: false });
      if (stat?.isDirectory() === true && depth < limits.depth) walk(path, depth + 1);
      else if (stat?.isFile() === true && stat.size <= limits.fileBytes) files.push(path);
    }
  };
  try {
    walk(folder, 0);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure("usage", `cannot read the folder "${folder}": ${(error as Error).message}`, { cause: error });
  }
  return files;
}
