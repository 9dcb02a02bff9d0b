/** Keys of captured data. Each account has a key of its own, derived from a data key of the database. */
import { createHmac, createSecretKey, hkdfSync } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { dayMs } from "../../lib/durations.ts";

/** A key from which the accounts' keys are derived. Plain data, so that it can cross threads. */
export interface CaptureKey {
  readonly id: string;
  readonly key: Uint8Array;
}

const keyBytes = 32;
const hashBytes = 8;
const maxHashes = 2_000;

/** The keys of one account, for sealing and for hashing secret values. */
export class AccountKeys {
  readonly #sealing = new Map<string, KeyObject>();
  readonly #newest: CaptureKey;
  readonly #keys: readonly CaptureKey[];
  readonly #accountId: string;
  #hashKey: KeyObject | undefined;
  #hashDay = Number.NaN;
  /** Clients send the same credentials with many requests. */
  readonly #hashes = new Map<string, string>();

  /** @param keys oldest first; the last one seals, all open */
  constructor(accountId: string, keys: readonly CaptureKey[]) {
    const newest = keys.at(-1);
    if (newest === undefined) throw new Error("capture requests: there is no data key");
    this.#accountId = accountId;
    this.#keys = keys;
    this.#newest = newest;
  }

  get newestId(): string {
    return this.#newest.id;
  }

  /** Returns undefined if there is no such key, for example because the database was replaced. */
  sealing(keyId: string): KeyObject | undefined {
    const known = this.#sealing.get(keyId);
    if (known !== undefined) return known;
    const root = this.#keys.find(({ id }) => id === keyId);
    if (root === undefined) return undefined;
    const key = this.#derive(root, "seal");
    this.#sealing.set(keyId, key);
    return key;
  }

  /** Replaces a secret value. Equal values of one day have equal hashes; nobody can compute a hash without the key. */
  hash(value: string, atMs: number): string {
    const day = Math.floor(atMs / dayMs);
    if (day !== this.#hashDay || this.#hashKey === undefined) {
      this.#hashDay = day;
      this.#hashKey = this.#derive(this.#newest, `hash ${day}`);
      this.#hashes.clear();
    }
    let hash = this.#hashes.get(value);
    if (hash !== undefined) return hash;
    hash = createHmac("sha256", this.#hashKey).update(value).digest().toString("hex", 0, hashBytes);
    if (this.#hashes.size >= maxHashes) this.#hashes.clear();
    this.#hashes.set(value, hash);
    return hash;
  }

  #derive({ key }: CaptureKey, use: string): KeyObject {
    return createSecretKey(Buffer.from(hkdfSync("sha256", key, this.#accountId, `postern capture ${use}`, keyBytes)));
  }
}
