/** Key exchange: what both ends support, the shared secret, and the keys that follow from it (RFC 4253 §7, RFC 8731). */
import { createHash, createPublicKey, diffieHellman, generateKeyPairSync, randomBytes } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { shownKey } from "../keys/host-key.ts";
import type { HostKey } from "../keys/host-key.ts";
import { numbers } from "../numbers.ts";
import { encodeMessage, encodeMpint, no, SshViolation, encodeString, encodeUint32, WireReader } from "../ssh-wire.ts";
import { ciphers, macs } from "./packet-cipher.ts";
import type { DirectionKeys } from "./packet-cipher.ts";

interface Curve {
  readonly hash: string;
  /** Bytes of a public key. */
  readonly bytes: number;
  make(): { readonly privateKey: KeyObject; readonly publicKey: Buffer };
  read(publicKey: Buffer): KeyObject;
}

const x25519: Curve = {
  hash: "sha256",
  bytes: 32,
  make() {
    const { privateKey, publicKey } = generateKeyPairSync("x25519");
    return { privateKey, publicKey: Buffer.from(publicKey.export({ format: "jwk" }).x as string, "base64url") };
  },
  read: (bytes) =>
    createPublicKey({ format: "jwk", key: { kty: "OKP", crv: "X25519", x: bytes.toString("base64url") } }),
};

function nistCurve(crv: string, namedCurve: string, hash: string, length: number): Curve {
  return {
    hash,
    bytes: 1 + 2 * length,
    make() {
      const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve });
      const { x = "", y = "" } = publicKey.export({ format: "jwk" });
      const point = [Buffer.of(4), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")];
      return { privateKey, publicKey: Buffer.concat(point) };
    },
    read(bytes) {
      if (bytes[0] !== 4) throw new SshViolation("a public key is compressed");
      const x = bytes.subarray(1, 1 + length).toString("base64url");
      const y = bytes.subarray(1 + length).toString("base64url");
      return createPublicKey({ format: "jwk", key: { kty: "EC", crv, x, y } });
    },
  };
}

const curves: Readonly<Record<string, Curve>> = {
  "curve25519-sha256": x25519,
  "curve25519-sha256@libssh.org": x25519,
  "ecdh-sha2-nistp256": nistCurve("P-256", "prime256v1", "sha256", 32),
  "ecdh-sha2-nistp384": nistCurve("P-384", "secp384r1", "sha384", 48),
};

/** Says that this end resets sequence numbers and accepts no other messages (against Terrapin, CVE-2023-48795). */
const strictServer = "kex-strict-s-v00@openssh.com";
const strictClient = "kex-strict-c-v00@openssh.com";
const extensionsClient = "ext-info-c";

/** The client's offer: name lists in the order of RFC 4253 §7.1. */
export interface Offer {
  readonly bytes: Buffer;
  readonly exchanges: readonly string[];
  readonly hostKeys: readonly string[];
  readonly ciphersIn: readonly string[];
  readonly ciphersOut: readonly string[];
  readonly macsIn: readonly string[];
  readonly macsOut: readonly string[];
  readonly compressionIn: readonly string[];
  readonly compressionOut: readonly string[];
  readonly guesses: boolean;
}

/** Maximum bytes of the client's offer. */
const maxOfferBytes = 16_384;

export function readOffer(bytes: Buffer): Offer {
  if (bytes.length > maxOfferBytes) throw new SshViolation("the offered algorithms are too long");
  const reader = new WireReader(bytes, 17);
  const [exchanges, hostKeys, ciphersIn, ciphersOut, macsIn, macsOut, compressionIn, compressionOut] = Array.from(
    { length: 8 },
    () => reader.nameList(),
  ) as [readonly string[], ...(readonly string[])[]] & Record<number, readonly string[]>;
  // Languages.
  reader.string();
  reader.string();
  return {
    bytes: Buffer.from(bytes),
    exchanges: exchanges as readonly string[],
    hostKeys: hostKeys as readonly string[],
    ciphersIn: ciphersIn as readonly string[],
    ciphersOut: ciphersOut as readonly string[],
    macsIn: macsIn as readonly string[],
    macsOut: macsOut as readonly string[],
    compressionIn: compressionIn as readonly string[],
    compressionOut: compressionOut as readonly string[],
    guesses: reader.boolean(),
  };
}

/** Returns this end's offer. */
export function makeOffer(hostKey: HostKey, isFirst: boolean): Buffer {
  const names = (list: readonly string[]): Buffer => encodeString(list.join(","));
  return encodeMessage(
    numbers.keyExchange,
    randomBytes(16),
    names([...Object.keys(curves), ...(isFirst ? [strictServer] : [])]),
    names(hostKey.algorithms),
    names(Object.keys(ciphers)),
    names(Object.keys(ciphers)),
    names(Object.keys(macs)),
    names(Object.keys(macs)),
    names(["none"]),
    names(["none"]),
    names([]),
    names([]),
    no,
    encodeUint32(0),
  );
}

/** The algorithms of one exchange. */
export interface Agreement {
  readonly curve: Curve;
  readonly hostKeyAlgorithm: string;
  readonly in: Pick<DirectionKeys, "cipher" | "mac">;
  readonly out: Pick<DirectionKeys, "cipher" | "mac">;
  readonly isStrict: boolean;
  readonly wantsExtensions: boolean;
  /** The client's next message is for an exchange that was not chosen. */
  readonly skipsNext: boolean;
}

export function agreeAlgorithms(offer: Offer, hostKey: HostKey): Agreement {
  const exchange = chooseName("key exchange", offer.exchanges, Object.keys(curves));
  const hostKeyAlgorithm = chooseName("host key", offer.hostKeys, hostKey.algorithms);
  chooseName("compression", offer.compressionIn, ["none"]);
  chooseName("compression", offer.compressionOut, ["none"]);
  const isGuessed = offer.exchanges[0] === exchange && offer.hostKeys[0] === hostKeyAlgorithm;
  return {
    curve: curves[exchange] as Curve,
    hostKeyAlgorithm,
    in: directionOf(offer.ciphersIn, offer.macsIn),
    out: directionOf(offer.ciphersOut, offer.macsOut),
    isStrict: offer.exchanges.includes(strictClient),
    wantsExtensions: offer.exchanges.includes(extensionsClient),
    skipsNext: offer.guesses && !isGuessed,
  };
}

/** Ciphers with an own code ignore the chosen one. */
const unusedMac = { node: "sha256", keyBytes: 0, etm: false };

function directionOf(offeredCiphers: readonly string[], offeredMacs: readonly string[]) {
  const cipher = ciphers[chooseName("cipher", offeredCiphers, Object.keys(ciphers))];
  if (!cipher) throw new SshViolation("no cipher");
  if (cipher.gcm) return { cipher, mac: unusedMac };
  const mac = macs[chooseName("message code", offeredMacs, Object.keys(macs))];
  if (!mac) throw new SshViolation("no message code");
  return { cipher, mac };
}

/** Returns the client's first name that the server supports (RFC 4253 §7.1). */
function chooseName(what: string, offered: readonly string[], supported: readonly string[]): string {
  const found = offered.find((one) => supported.includes(one));
  if (found === undefined) {
    throw new SshViolation(`no common ${what} algorithm: the server supports ${supported.join(", ")}`);
  }
  return found;
}

/** Facts that the exchange hash covers. */
export interface ExchangeFacts {
  readonly clientVersion: string;
  readonly serverVersion: string;
  readonly clientOffer: Buffer;
  readonly serverOffer: Buffer;
  readonly hostKey: HostKey;
}

export interface Exchanged {
  /** Message to the client. */
  readonly reply: Buffer;
  readonly exchangeHash: Buffer;
  /** Returns the keys of both directions. `sessionId`: hash of the first exchange. */
  keys(sessionId: Buffer): { readonly in: DirectionKeys; readonly out: DirectionKeys };
}

/** @param init the client's message with its public key */
export function exchangeKeys(agreement: Agreement, init: Buffer, facts: ExchangeFacts): Exchanged {
  const { curve, hostKeyAlgorithm } = agreement;
  const reader = new WireReader(init, 1);
  const clientKey = reader.string();
  if (clientKey.length !== curve.bytes || reader.left > 0) throw new SshViolation("a public key has an invalid length");
  const { privateKey, publicKey } = curve.make();
  const secret = encodeMpint(computeSharedSecret(privateKey, curve, clientKey));
  const { hostKey } = facts;
  const shown = encodeString(shownKey(hostKey, hostKeyAlgorithm));
  const exchangeHash = createHash(curve.hash)
    .update(encodeString(facts.clientVersion))
    .update(encodeString(facts.serverVersion))
    .update(encodeString(facts.clientOffer))
    .update(encodeString(facts.serverOffer))
    .update(shown)
    .update(encodeString(clientKey))
    .update(encodeString(publicKey))
    .update(secret)
    .digest();
  const signature = hostKey.sign(hostKeyAlgorithm, exchangeHash);
  return {
    reply: encodeMessage(numbers.exchangeReply, shown, encodeString(publicKey), encodeString(signature)),
    exchangeHash,
    keys(sessionId) {
      const derive = (letter: string, length: number): Buffer => {
        const start = (): ReturnType<typeof createHash> => createHash(curve.hash).update(secret).update(exchangeHash);
        let key = start().update(letter).update(sessionId).digest();
        while (key.length < length) key = Buffer.concat([key, start().update(key).digest()]);
        return key.subarray(0, length);
      };
      const direction = ({ cipher, mac }: Agreement["in"], letters: string): DirectionKeys => ({
        cipher,
        mac,
        iv: derive(letters[0] as string, cipher.ivBytes),
        key: derive(letters[1] as string, cipher.keyBytes),
        macKey: derive(letters[2] as string, mac.keyBytes),
      });
      return { in: direction(agreement.in, "ACE"), out: direction(agreement.out, "BDF") };
    },
  };
}

/** OpenSSL rejects points of small order, which give no secret. */
function computeSharedSecret(privateKey: KeyObject, curve: Curve, clientKey: Buffer): Buffer {
  try {
    const secret = diffieHellman({ privateKey, publicKey: curve.read(clientKey) });
    if (secret.every((byte) => byte === 0)) throw new Error("no secret");
    return secret;
  } catch (error) {
    throw new SshViolation("a public key of the exchange is not valid", { cause: error });
  }
}
