import { constants, createHash, createPrivateKey } from "node:crypto";
import { createSecureContext, createServer } from "node:tls";
import type { SecureContext, SecureContextOptions, TLSSocket } from "node:tls";
import type { Socket } from "node:net";
import { Lru } from "../../lib/collections/lru.ts";
import { readCertificates } from "../../lib/certificates/x509.ts";
import type { Handshake } from "../../traffic/handshake.ts";
import { makeHandshaker, tlsStrength } from "./handshaker.ts";
import type { Handshaker, SharedHandshaker } from "./handshaker.ts";
import { makeRenewedTickets } from "./renewed-tickets.ts";
import type { ServerCertificate } from "./server-certificate.ts";
import type { TicketSecret } from "./ticket-secret.ts";

/**
 * TLS contexts of the listener, one per site and certificate, created on first use. The `SNICallback` of a single
 * server could neither enforce a site's minimum version nor request its client certificates.
 */
export interface TlsContexts {
  /** Throws if the certificate, or an authority in `handshake`, is unusable. */
  handshaker(siteId: string, handshake: Handshake, certificate: ServerCertificate): Handshaker;
}

/** Number of contexts that get new ticket keys in one batch, about 5 µs each. */
const rotatedAtOnce = 100;
const ticketKeyBytes = 48;

/**
 * @param purpose of these contexts: tickets do not resume for another purpose
 * @param protocols offered by ALPN, the preferred one first. Without any, clients' offers get no answer
 * @param most maximum number of contexts of 22 KiB each. Drops the least recently used
 */
export function makeTlsContexts(
  purpose: string,
  protocols: readonly string[],
  tickets: TicketSecret,
  most: number,
): TlsContexts {
  const kept = new Lru<string, HostHandshaker>(most);
  const handshakerFor = makeSharedHandshakers(protocols);
  // Usually one site shows a certificate with the same demands. Hashing the demands is expensive compared with this
  // look-up.
  const last = new WeakMap<ServerCertificate, { siteId: string; handshake: Handshake; key: string }>();
  const keyOf = (siteId: string, handshake: Handshake, certificate: ServerCertificate): string => {
    const known = last.get(certificate);
    if (known?.siteId === siteId && known.handshake === handshake) return known.key;
    const key = computeDigest([siteId, certificate.id, ...listDemands(handshake)]);
    last.set(certificate, { siteId, handshake, key });
    return key;
  };
  const rotateAll = (entries: readonly HostHandshaker[], from = 0): void => {
    for (const entry of entries.slice(from, from + rotatedAtOnce)) entry.rotate(generation);
    if (from + rotatedAtOnce < entries.length) setImmediate(rotateAll, entries, from + rotatedAtOnce);
  };
  let generation = 0;
  tickets.onChange(() => {
    generation += 1;
    rotateAll(Array.from(kept.entries(), ([, entry]) => entry));
  });
  const renewedTickets = makeRenewedTickets(tickets);
  return {
    handshaker(siteId, handshake, certificate) {
      const key = keyOf(siteId, handshake, certificate);
      let entry = kept.get(key);
      if (!entry) {
        const at = ticketsAt(purpose, siteId, handshake, certificate);
        const context = makeContext(at, handshake, certificate);
        if (isSignatureDear(certificate.keyPem)) renewedTickets.serve(context, at.slice(-24));
        const use = (): void => void context.context.setTicketKeys(tickets.key(at, ticketKeyBytes));
        entry = new HostHandshaker(handshakerFor(handshake), context, use);
        kept.set(key, entry);
      }
      entry.rotate(generation);
      return entry;
    },
  };
}

/**
 * Whether a handshake with this key costs more than one with a renewed ticket (decision 4). Node's own tickets cost
 * less for P-256 and Ed25519 keys.
 */
function isSignatureDear(keyPem: string): boolean {
  const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(keyPem);
  return asymmetricKeyType !== "ed25519" && asymmetricKeyDetails?.namedCurve !== "prime256v1";
}

/** Performs handshakes with a context. */
class HostHandshaker implements Handshaker {
  readonly #shared: SharedHandshaker;
  readonly #context: SecureContext;
  readonly #useTicketKeys: () => void;
  /** Generation of the secret whose keys are in use. */
  #generation = -1;

  /** @param useTicketKeys gives the context the keys of the present secret */
  constructor(shared: SharedHandshaker, context: SecureContext, useTicketKeys: () => void) {
    this.#shared = shared;
    this.#context = context;
    this.#useTicketKeys = useTicketKeys;
  }

  accept(socket: Socket, settled: (result: TLSSocket | Error) => void): void {
    this.#shared.acceptWith(this.#context, socket, settled);
  }

  rotate(generation: number): void {
    if (this.#generation === generation) return;
    this.#generation = generation;
    this.#useTicketKeys();
  }
}

/**
 * K2: each context has its own ticket keys, so that no session resumes under another site or other demands. The result
 * is the same at all edges.
 */
function ticketsAt(purpose: string, siteId: string, handshake: Handshake, certificate: ServerCertificate): string {
  return computeDigest([purpose, siteId, certificate.lineage ?? certificate.id, ...listDemands(handshake)]);
}

/** Groups handshakers by the demands that Node sets on a server and not on a context. */
function makeSharedHandshakers(protocols: readonly string[]): (handshake: Handshake) => SharedHandshaker {
  // An empty list would refuse clients that offer any protocol.
  const alpn = protocols.length > 0 ? { ALPNProtocols: [...protocols] } : {};
  const make = (requestCert: boolean, rejectUnauthorized: boolean): SharedHandshaker =>
    makeHandshaker(createServer({ ...tlsStrength, ...alpn, requestCert, rejectUnauthorized }));
  const [asking, demanding, unasked] = [make(true, false), make(true, true), make(false, false)];
  return (handshake) => {
    if (!requestsCertificate(handshake)) return unasked;
    return (handshake.clientCertificates ?? "verify") === "verify" ? demanding : asking;
  };
}

function requestsCertificate({ clientAuthorities, clientCertificates }: Handshake): boolean {
  return clientAuthorities !== undefined || clientCertificates !== undefined;
}

function listDemands(handshake: Handshake): string[] {
  const { minVersion = "", maxVersion = "", clientAuthorities = "", clientCertificates = "", passthrough } = handshake;
  return [minVersion, maxVersion, clientAuthorities, clientCertificates, String(passthrough ?? false)];
}

function makeContext(tickets: string, handshake: Handshake, certificate: ServerCertificate): SecureContext {
  return createSecureContext({
    ...tlsStrength,
    cert: certificate.certificatePem,
    key: certificate.keyPem,
    minVersion: handshake.minVersion ?? tlsStrength.minVersion,
    maxVersion: handshake.maxVersion ?? tlsStrength.maxVersion,
    // K2: together with the ticket keys, prevents resumption under another site or other demands.
    sessionIdContext: tickets.slice(0, 32),
    ...(requestsCertificate(handshake) && clientDemands(handshake)),
  });
}

/** Throws if an authority is invalid. */
function clientDemands({ clientAuthorities }: Handshake): SecureContextOptions {
  return {
    // Parsed one by one: if OpenSSL could read none of them, it would trust the public authorities.
    ...(clientAuthorities !== undefined && { ca: readCertificates(clientAuthorities).map(String) }),
    // A resumed session is not verified again and would outlive the client's certificate.
    secureOptions: tlsStrength.secureOptions | constants.SSL_OP_NO_TICKET,
  };
}

function computeDigest(parts: readonly string[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length}:${part}`);
  return hash.digest("hex");
}
