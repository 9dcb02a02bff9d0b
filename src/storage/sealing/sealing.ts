/**
 * Secrets at rest (K4): every secret field is sealed with AES-256-GCM under a data key of the database. The data keys
 * are sealed under the operator's key, so that a new operator's key changes one row. A sealed text authenticates its
 * object and field (see `context`): moved elsewhere, it does not open.
 */
import { createCipheriv, createDecipheriv, createHash, createSecretKey, hkdfSync, randomBytes } from "node:crypto";
import type { KeyObject } from "node:crypto";

export interface Sealer {
  seal(text: string, context: string): string;
  /** @throws Error if it was not sealed here, or for another context, or was altered */
  open(sealed: string, context: string): string;
  /** Same as `seal`, for bytes. */
  sealBytes(bytes: Buffer, context: string): Buffer;
  /** @throws Error as `open` */
  openBytes(sealed: Buffer, context: string): Buffer;
}

export interface DataKey {
  readonly id: string;
  readonly key: Buffer;
}

export const sealingKeyBytes = 32;
/** Standard size for GCM: 96 random bits are safe for 2³² texts under one key (NIST SP 800-38D §8.3). */
const ivBytes = 12;
const tagBytes = 16;

/** Returns an id of an operator's key that reveals nothing about the key. */
export function keyIdOf(key: Buffer): string {
  return createHash("sha256").update("postern sealing key id\0").update(key).digest("hex").slice(0, 12);
}

export function newDataKey(): DataKey {
  return { id: randomBytes(6).toString("hex"), key: randomBytes(sealingKeyBytes) };
}

export function wrapDataKey({ id, key }: DataKey, under: Buffer): string {
  return encryptSecret(under, key, `data key\0${id}`).toString("base64url");
}

/** @throws Error if `under` is not the key that it was wrapped with */
export function unwrapDataKey(id: string, wrapped: string, under: Buffer): DataKey {
  return { id, key: decryptSecret(under, Buffer.from(wrapped, "base64url"), `data key\0${id}`) };
}

/** Returns a key for another use than sealing secrets. */
export function deriveKey({ id, key }: DataKey, use: string): DataKey {
  return { id, key: Buffer.from(hkdfSync("sha256", key, id, `postern ${use}`, sealingKeyBytes)) };
}

/** Seals with the last of `keys`, opens with all. */
export function sealerWith(keys: readonly DataKey[]): Sealer {
  const byId = new Map(keys.map(({ id, key }) => [id, createSecretKey(key)]));
  const last = keys.at(-1);
  if (!last) throw new Error("seal: there is no data key");
  const newest = { id: last.id, key: byId.get(last.id) as KeyObject };
  const opened = (id: string, sealed: Buffer, context: string): Buffer => {
    const key = byId.get(id);
    if (!key) throw new Error(`open sealed text of ${context.replaceAll("\0", " ")}: its data key is missing`);
    try {
      return decryptSecret(key, sealed, context);
    } catch (error) {
      throw new Error(`open sealed text of ${context.replaceAll("\0", " ")}: it was altered or moved`, {
        cause: error,
      });
    }
  };
  return {
    seal: (text, context) =>
      `${newest.id}.${encryptSecret(newest.key, Buffer.from(text), context).toString("base64url")}`,
    open(sealed, context) {
      const dot = sealed.indexOf(".");
      return opened(sealed.slice(0, dot), Buffer.from(sealed.slice(dot + 1), "base64url"), context).toString();
    },
    sealBytes: (bytes, context) =>
      Buffer.concat([Buffer.from(`${newest.id}.`), encryptSecret(newest.key, bytes, context)]),
    openBytes(sealed, context) {
      const dot = sealed.indexOf(dotByte);
      return opened(sealed.toString("latin1", 0, Math.max(dot, 0)), sealed.subarray(dot + 1), context);
    },
  };
}

/** Maximum number of accounts whose keys are remembered. */
const maxAccounts = 10_000;

/** Returns the sealer of an account. Its keys are derived, so what it sealed does not open with another account's. */
export function accountSealersWith(keys: readonly DataKey[]): (accountId: string) => Sealer {
  const known = new Map<string, Sealer>();
  return (accountId) => {
    const before = known.get(accountId);
    if (before) return before;
    if (known.size >= maxAccounts) known.clear();
    const sealer = sealerWith(keys.map((key) => deriveKey(key, `account ${accountId}`)));
    known.set(accountId, sealer);
    return sealer;
  };
}

const dotByte = 46;

/** One system call for a few random bytes costs as much as one for many. */
const ivsAtOnce = 256;
let ivs: Buffer = Buffer.alloc(0);
let taken = 0;

function newIv(): Buffer {
  if (taken === ivs.length) {
    ivs = randomBytes(ivBytes * ivsAtOnce);
    taken = 0;
  }
  taken += ivBytes;
  return ivs.subarray(taken - ivBytes, taken);
}

function encryptSecret(key: Buffer | KeyObject, plain: Buffer, context: string): Buffer {
  const iv = newIv();
  const cipher = createCipheriv("aes-256-gcm", key, iv, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(context));
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function decryptSecret(key: Buffer | KeyObject, sealed: Buffer, context: string): Buffer {
  if (sealed.length < ivBytes + tagBytes) throw new Error("open: too short");
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, ivBytes), { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  return Buffer.concat([decipher.update(sealed.subarray(ivBytes, -tagBytes)), decipher.final()]);
}
