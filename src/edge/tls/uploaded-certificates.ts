import type { X509Certificate } from "node:crypto";
import type { Log } from "../../lib/log.ts";
import { tlsDemand } from "../../lib/certificates/tls-usable.ts";
import { readCertificates } from "../../lib/certificates/x509.ts";
import type { RoutingChange } from "../../routing/planes/messages.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { ServerCertificate } from "./server-certificate.ts";

/** Certificates that accounts have uploaded (`tls_certificate` objects), by the names in them. */
export interface UploadedCertificates {
  /** Replaces all certificates. */
  load(objects: Iterable<ResourceObject>): void;
  change(changes: readonly RoutingChange[]): void;
  /**
   * Returns the account's certificate for `host`. An exact name comes before a wildcard. Among several, the newest one
   * that is valid at `now` comes first. Unusable certificates are skipped.
   */
  find(accountId: string, host: string, now: number): ServerCertificate | undefined;
}

interface UploadedCertificate {
  readonly revision: number;
  readonly accountId: string;
  /** Names under which the certificate is found. */
  readonly names: readonly string[];
  readonly certificate: ServerCertificate;
  readonly notBefore: number;
  /** Known after the first use. */
  usable: boolean | undefined;
}

const kind = "tls_certificate";

export function makeUploadedCertificates(log: Log): UploadedCertificates {
  const byId = new Map<string, UploadedCertificate>();
  /**
   * By account, then by name. Certificates only count for hosts of their own account, because anyone can put any name
   * into one.
   */
  const byName = new Map<string, Map<string, readonly UploadedCertificate[]>>();

  const remove = (id: string): void => {
    const entry = byId.get(id);
    if (!entry) return;
    byId.delete(id);
    const named = byName.get(entry.accountId);
    for (const name of entry.names) {
      const left = named?.get(name)?.filter((one) => one !== entry) ?? [];
      if (left.length > 0) named?.set(name, left);
      else named?.delete(name);
    }
    if (named?.size === 0) byName.delete(entry.accountId);
  };
  const put = (object: ResourceObject): void => {
    if (byId.get(object.id)?.revision === object.revision) return;
    remove(object.id);
    let entry: UploadedCertificate;
    try {
      entry = readEntry(object);
    } catch (error) {
      log.warn("certificate unusable", { certificate: object.id, error });
      return;
    }
    byId.set(object.id, entry);
    const named = byName.get(entry.accountId) ?? new Map<string, readonly UploadedCertificate[]>();
    byName.set(entry.accountId, named);
    for (const name of entry.names) {
      const all = [...(named.get(name) ?? []), entry];
      named.set(
        name,
        all.sort((one, other) => other.notBefore - one.notBefore),
      );
    }
  };
  const isUsable = (entry: UploadedCertificate): boolean => {
    if (entry.usable !== undefined) return entry.usable;
    const { id, certificatePem, keyPem } = entry.certificate;
    const demand = tlsDemand(certificatePem, keyPem);
    if (demand !== undefined) log.warn("certificate unusable", { certificate: id, error: `it must ${demand}` });
    entry.usable = demand === undefined;
    return entry.usable;
  };
  const newest = (entries: readonly UploadedCertificate[] | undefined, now: number): ServerCertificate | undefined =>
    entries?.find((entry) => entry.notBefore <= now && now < entry.certificate.notAfter && isUsable(entry))
      ?.certificate;

  return {
    load(objects) {
      const gone = new Set(byId.keys());
      for (const object of objects) {
        if (object.kind !== kind) continue;
        gone.delete(object.id);
        put(object);
      }
      for (const id of gone) remove(id);
    },
    change(changes) {
      for (const change of changes) {
        if (change.kind !== kind) continue;
        if (change.object) put(change.object);
        else remove(change.id);
      }
    },
    find(accountId, host, now) {
      const named = byName.get(accountId);
      if (!named) return undefined;
      return newest(named.get(host), now) ?? newest(named.get(`*${host.slice(Math.max(0, host.indexOf(".")))}`), now);
    },
  };
}

function readEntry(object: ResourceObject): UploadedCertificate {
  const { certificate_pem: certificatePem, private_key_pem: keyPem } = object.doc;
  if (typeof certificatePem !== "string" || typeof keyPem !== "string") throw new Error("it has no certificate or key");
  const [leaf] = readCertificates(certificatePem);
  if (!leaf) throw new Error("it has no certificate");
  return {
    revision: object.revision,
    accountId: object.account_id,
    names: dnsNames(leaf),
    certificate: {
      id: `${object.id}@${object.revision}`,
      certificatePem,
      keyPem,
      notAfter: leaf.validToDate.getTime(),
    },
    notBefore: leaf.validFromDate.getTime(),
    usable: undefined,
  };
}

function dnsNames(leaf: X509Certificate): string[] {
  const names = (leaf.subjectAltName ?? "").split(", ").flatMap((entry) => {
    // OpenSSL quotes names with unusual characters. Those are not host names.
    const match = /^DNS:([A-Za-z0-9*._-]+)$/.exec(entry);
    return match ? [(match[1] as string).toLowerCase()] : [];
  });
  return [...new Set(names)];
}
