import { createServer } from "node:tls";
import type { Log } from "../../lib/log.ts";
import type { RoutingChange } from "../../routing/planes/messages.ts";
import type { ResourceObject } from "../../schema/object.ts";
import { makeHandshaker, tlsStrength } from "./handshaker.ts";
import type { Handshaker } from "./handshaker.ts";

/** Answers for certificate authorities that check control of a domain. */
export interface AcmeChallenges {
  /** Replaces all challenges. */
  load(objects: Iterable<ResourceObject>): void;
  change(changes: readonly RoutingChange[]): void;
  /** Returns the body for a path of `host`, lower case (RFC 8555 §8.3). Undefined without a current challenge there. */
  readonly body: (host: string, path: string) => string | undefined;
  /** Returns the handshake for a ClientHello that offers only `acme-tls/1` for `host` (RFC 8737). */
  handshaker(host: string, alpn: readonly string[]): Handshaker | undefined;
}

interface PendingChallenge {
  readonly domain: string;
  readonly path: string;
  readonly body: string;
  readonly certificatePem: string;
  readonly keyPem: string;
  /** Created on first use. */
  handshaker: Handshaker | undefined;
}

const kind = "acme_challenge";
const pathPrefix = "/.well-known/acme-challenge/";
const protocol = "acme-tls/1";

export function makeAcmeChallenges(log: Log): AcmeChallenges {
  const byId = new Map<string, PendingChallenge>();
  /** A domain has one account and at most one challenge at a time. */
  const byDomain = new Map<string, PendingChallenge>();

  const remove = (id: string): void => {
    const entry = byId.get(id);
    byId.delete(id);
    if (entry && byDomain.get(entry.domain) === entry) byDomain.delete(entry.domain);
  };
  const put = ({ id, doc }: ResourceObject): void => {
    remove(id);
    const entry: PendingChallenge = {
      domain: String(doc["domain"]),
      path: `${pathPrefix}${String(doc["token"])}`,
      body: String(doc["key_authorization"]),
      certificatePem: String(doc["certificate_pem"]),
      keyPem: String(doc["private_key_pem"]),
      handshaker: undefined,
    };
    byId.set(id, entry);
    byDomain.set(entry.domain, entry);
  };
  return {
    load(objects) {
      byId.clear();
      byDomain.clear();
      for (const object of objects) if (object.kind === kind) put(object);
    },
    change(changes) {
      for (const change of changes) {
        if (change.kind !== kind) continue;
        if (change.object) put(change.object);
        else remove(change.id);
      }
    },
    body(host, path) {
      if (byDomain.size === 0 || !path.startsWith(pathPrefix)) return undefined;
      const entry = byDomain.get(host);
      return entry?.path === path ? entry.body : undefined;
    },
    handshaker(host, alpn) {
      if (byDomain.size === 0 || alpn.length !== 1 || alpn[0] !== protocol) return undefined;
      const entry = byDomain.get(host);
      if (!entry) return undefined;
      try {
        entry.handshaker ??= makeHandshaker(
          createServer({ ...tlsStrength, cert: entry.certificatePem, key: entry.keyPem, ALPNProtocols: [protocol] }),
        );
      } catch (error) {
        log.warn("challenge unusable", { domain: entry.domain, error });
      }
      return entry.handshaker;
    },
  };
}
