import { constants, createHash, createHmac, randomBytes } from "node:crypto";
import { createServer } from "node:tls";
import type { Server, TlsOptions } from "node:tls";
import type { Clock, Timer } from "../../lib/clock.ts";
import { readCertificates } from "../../lib/x509.ts";
import type { Handshake } from "../../traffic/handshake.ts";
import { makeHandshaker, tlsStrength } from "./handshaker.ts";
import type { Handshaker } from "./handshaker.ts";
import { Lru } from "../../lib/lru.ts";
import type { ServerCertificate } from "./server-certificate.ts";

/**
 * The TLS servers behind the listener, one for each site and certificate, made when first needed. `SNICallback`
 * of one server for all would neither hold a site's minimum version nor ask for its client certificates.
 */
export interface TlsServers {
  /** Throws when the certificate, or an authority in `handshake`, cannot be used. */
  server(siteId: string, handshake: Handshake, certificate: ServerCertificate): Handshaker;
  stop(): void;
}

const ticketRotationMs = 8 * 60 * 60 * 1000;
/** Servers that are given new ticket keys in one go, some 5 µs each. */
const rotatedAtOnce = 100;
const ticketKeyBytes = 48;

/**
 * @param protocols offered by ALPN, the preferred one first; without any, what clients offer is left unanswered
 * @param most servers kept, of 28 KiB each: those asked for last
 */
export function makeTlsServers(protocols: readonly string[], clock: Clock, most: number): TlsServers {
  const servers = new Lru<string, Entry>(most);
  // Mostly a certificate is shown by one site with the same demands: hashing those is dear beside the look-up.
  const last = new WeakMap<ServerCertificate, { siteId: string; handshake: Handshake; key: string }>();
  const keyOf = (siteId: string, handshake: Handshake, certificate: ServerCertificate): string => {
    const known = last.get(certificate);
    if (known?.siteId === siteId && known.handshake === handshake) return known.key;
    const key = digest([siteId, certificate.id, ...demands(handshake)]);
    last.set(certificate, { siteId, handshake, key });
    return key;
  };
  let secret = randomBytes(32);
  const rotate = (key: string, entry: Entry): void => {
    if (entry.secret === secret) return;
    entry.secret = secret;
    entry.tls.setTicketKeys(ticketKeys(secret, key));
  };
  const rotateAll = (entries: readonly [string, Entry][], from = 0): void => {
    for (const [key, entry] of entries.slice(from, from + rotatedAtOnce)) rotate(key, entry);
    if (from + rotatedAtOnce < entries.length) setImmediate(rotateAll, entries, from + rotatedAtOnce);
  };
  const rotation: Timer = clock.every(ticketRotationMs, () => {
    secret = randomBytes(32);
    rotateAll([...servers.entries()]);
  });
  return {
    server(siteId, handshake, certificate) {
      const key = keyOf(siteId, handshake, certificate);
      let entry = servers.get(key);
      if (!entry) {
        // with an empty list clients that offer anything would be refused
        const alpn = protocols.length > 0 ? { ALPNProtocols: [...protocols] } : {};
        const options = { ...alpn, ticketKeys: ticketKeys(secret, key) };
        servers.set(key, (entry = makeEntry(key, secret, options, handshake, certificate)));
      }
      rotate(key, entry);
      return entry;
    },
    stop: () => rotation.cancel(),
  };
}

function demands(handshake: Handshake): string[] {
  const { minVersion = "", maxVersion = "", clientAuthorities = "", clientCertificates = "", passthrough } = handshake;
  return [minVersion, maxVersion, clientAuthorities, clientCertificates, String(passthrough ?? false)];
}

interface Entry extends Handshaker {
  readonly tls: Server;
  /** What its ticket keys are made of. */
  secret: Buffer;
}

function makeEntry(
  key: string,
  secret: Buffer,
  options: TlsOptions,
  handshake: Handshake,
  certificate: ServerCertificate,
): Entry {
  const tls = createServer({
    ...tlsStrength,
    ...options,
    cert: certificate.certificatePem,
    key: certificate.keyPem,
    minVersion: handshake.minVersion ?? tlsStrength.minVersion,
    maxVersion: handshake.maxVersion ?? tlsStrength.maxVersion,
    // K2: with the ticket keys, keeps a session from being resumed under another site or other demands
    sessionIdContext: key.slice(0, 32),
    ...clientDemands(handshake),
  });
  return { tls, secret, ...makeHandshaker(tls) };
}

/** Throws when an authority cannot be read. */
function clientDemands({ clientAuthorities, clientCertificates }: Handshake): TlsOptions {
  if (clientAuthorities === undefined && clientCertificates === undefined) return {};
  return {
    // read one by one: given none that it can read, OpenSSL would trust the public authorities
    ...(clientAuthorities !== undefined && { ca: readCertificates(clientAuthorities).map(String) }),
    requestCert: true,
    rejectUnauthorized: clientCertificates === undefined || clientCertificates === "verify",
    // a resumed session is not verified again, and would outlive the client's certificate
    secureOptions: tlsStrength.secureOptions | constants.SSL_OP_NO_TICKET,
  };
}

function ticketKeys(secret: Buffer, key: string): Buffer {
  return createHmac("sha512", secret).update(key).digest().subarray(0, ticketKeyBytes);
}

function digest(parts: readonly string[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length}:${part}`);
  return hash.digest("hex");
}
