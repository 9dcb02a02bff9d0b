import { constants, createHash, createHmac, createPrivateKey, randomBytes } from "node:crypto";
import { createSecureContext, createServer } from "node:tls";
import type { SecureContext, SecureContextOptions, TLSSocket } from "node:tls";
import type { Socket } from "node:net";
import type { Clock, Timer } from "../../lib/clock.ts";
import { Lru } from "../../lib/collections/lru.ts";
import { readCertificates } from "../../lib/certificates/x509.ts";
import type { Handshake } from "../../traffic/handshake.ts";
import { makeHandshaker, tlsStrength } from "./handshaker.ts";
import type { Handshaker, SharedHandshaker } from "./handshaker.ts";
import { makeRenewedTickets } from "./renewed-tickets.ts";
import type { ServerCertificate } from "./server-certificate.ts";

/**
 * The TLS contexts behind the listener, one for each site and certificate, made when first needed. `SNICallback`
 * of one server for all would neither hold a site's minimum version nor ask for its client certificates.
 */
export interface TlsContexts {
  /** Throws when the certificate, or an authority in `handshake`, cannot be used. */
  handshaker(siteId: string, handshake: Handshake, certificate: ServerCertificate): Handshaker;
  stop(): void;
}

const ticketRotationMs = 8 * 60 * 60 * 1000;
/** Contexts that are given new ticket keys in one go, some 5 µs each. */
const rotatedAtOnce = 100;
const ticketKeyBytes = 48;

/**
 * @param protocols offered by ALPN, the preferred one first; without any, what clients offer is left unanswered
 * @param most contexts kept, of 22 KiB each: those asked for last
 */
export function makeTlsContexts(protocols: readonly string[], clock: Clock, most: number): TlsContexts {
  const kept = new Lru<string, HostHandshaker>(most);
  const handshakerFor = makeSharedHandshakers(protocols);
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
  const rotateAll = (entries: readonly [string, HostHandshaker][], from = 0): void => {
    for (const [key, entry] of entries.slice(from, from + rotatedAtOnce)) entry.rotate(secret, key);
    if (from + rotatedAtOnce < entries.length) setImmediate(rotateAll, entries, from + rotatedAtOnce);
  };
  const rotation: Timer = clock.every(ticketRotationMs, () => {
    secret = randomBytes(32);
    rotateAll([...kept.entries()]);
  });
  const renewedTickets = makeRenewedTickets(clock, ticketRotationMs);
  return {
    handshaker(siteId, handshake, certificate) {
      const key = keyOf(siteId, handshake, certificate);
      let entry = kept.get(key);
      if (!entry) {
        const context = makeContext(key, handshake, certificate);
        if (isSignatureDear(certificate.keyPem)) renewedTickets.serve(context, key.slice(-24));
        entry = new HostHandshaker(handshakerFor(handshake), context);
        kept.set(key, entry);
      }
      entry.rotate(secret, key);
      return entry;
    },
    stop() {
      rotation.cancel();
      renewedTickets.stop();
    },
  };
}

/**
 * Whether a handshake with it costs more than one with a ticket that is renewed (decision 4): with all keys but those on
 * P-256 and of Ed25519, for which Node's own tickets cost less.
 */
function isSignatureDear(keyPem: string): boolean {
  const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(keyPem);
  return asymmetricKeyType !== "ed25519" && asymmetricKeyDetails?.namedCurve !== "prime256v1";
}

/** Takes connections through the handshake with a context. */
class HostHandshaker implements Handshaker {
  readonly #shared: SharedHandshaker;
  readonly #context: SecureContext;
  /** What its ticket keys are made of. */
  #secret: Buffer | undefined;

  constructor(shared: SharedHandshaker, context: SecureContext) {
    this.#shared = shared;
    this.#context = context;
  }

  accept(socket: Socket, settled: (result: TLSSocket | Error) => void): void {
    this.#shared.acceptWith(this.#context, socket, settled);
  }

  /** K2: ticket keys of its own, so that no session is resumed under another site or other demands. */
  rotate(secret: Buffer, key: string): void {
    if (this.#secret === secret) return;
    this.#secret = secret;
    this.#context.context.setTicketKeys(ticketKeys(secret, key));
  }
}

/** By what a server asks of clients, which is not the context's to say. */
function makeSharedHandshakers(protocols: readonly string[]): (handshake: Handshake) => SharedHandshaker {
  // with an empty list clients that offer anything would be refused
  const alpn = protocols.length > 0 ? { ALPNProtocols: [...protocols] } : {};
  const make = (requestCert: boolean, rejectUnauthorized: boolean): SharedHandshaker =>
    makeHandshaker(createServer({ ...tlsStrength, ...alpn, requestCert, rejectUnauthorized }));
  const [asking, demanding, unasked] = [make(true, false), make(true, true), make(false, false)];
  return (handshake) => {
    if (!asksClients(handshake)) return unasked;
    return (handshake.clientCertificates ?? "verify") === "verify" ? demanding : asking;
  };
}

function asksClients({ clientAuthorities, clientCertificates }: Handshake): boolean {
  return clientAuthorities !== undefined || clientCertificates !== undefined;
}

function demands(handshake: Handshake): string[] {
  const { minVersion = "", maxVersion = "", clientAuthorities = "", clientCertificates = "", passthrough } = handshake;
  return [minVersion, maxVersion, clientAuthorities, clientCertificates, String(passthrough ?? false)];
}

function makeContext(key: string, handshake: Handshake, certificate: ServerCertificate): SecureContext {
  return createSecureContext({
    ...tlsStrength,
    cert: certificate.certificatePem,
    key: certificate.keyPem,
    minVersion: handshake.minVersion ?? tlsStrength.minVersion,
    maxVersion: handshake.maxVersion ?? tlsStrength.maxVersion,
    // K2: with the ticket keys, keeps a session from being resumed under another site or other demands
    sessionIdContext: key.slice(0, 32),
    ...(asksClients(handshake) && clientDemands(handshake)),
  });
}

/** Throws when an authority cannot be read. */
function clientDemands({ clientAuthorities }: Handshake): SecureContextOptions {
  return {
    // read one by one: given none that it can read, OpenSSL would trust the public authorities
    ...(clientAuthorities !== undefined && { ca: readCertificates(clientAuthorities).map(String) }),
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
