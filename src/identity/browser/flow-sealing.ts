/**
 * Seals login data that the browser stores, with keys that every edge has: AES-256-GCM with a fresh nonce each time.
 */
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { takeRandomBytes } from "../../lib/random-bytes.ts";

/** A key from the control plane. */
export interface FlowKey {
  readonly id: string;
  /** 32 bytes, as a key object, which is cheaper to use than bytes. */
  readonly key: KeyObject;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

export interface FlowSealer {
  /** Replaces all keys. Newest first. */
  use(keys: readonly FlowKey[]): void;
  readonly isReady: boolean;
  /** Returns base64url. Throws while there is no key. @param about binding: the text opens only with the same value */
  seal(content: string, about: string): string;
  /** Returns undefined if none of the keys sealed the text. */
  open(sealed: string, about: string): string | undefined;
  /** Keys derived for another use: 32 bytes each in base64, newest first. All of them are valid. */
  derived(use: string): readonly string[];
}

/** The newest key seals. It and two older ones open. */
const opening = 3;
const nonceBytes = 12;
const tagBytes = 16;

export function makeFlowSealer(): FlowSealer {
  let keys: readonly FlowKey[] = [];
  return {
    use(given) {
      keys = [...given].sort((one, other) => other.createdAt - one.createdAt).slice(0, opening);
    },
    get isReady() {
      return keys.length > 0;
    },
    seal(content, about) {
      const [newest] = keys;
      if (newest === undefined) throw new Error("seal a login: the control plane has sent no key yet");
      const nonce = takeRandomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", newest.key, nonce).setAAD(Buffer.from(about));
      const sealed = [nonce, cipher.update(content, "utf8"), cipher.final(), cipher.getAuthTag()];
      return Buffer.concat(sealed).toString("base64url");
    },
    open(sealed, about) {
      if (!/^[\w-]+$/.test(sealed)) return undefined;
      const bytes = Buffer.from(sealed, "base64url");
      if (bytes.length <= nonceBytes + tagBytes || bytes.toString("base64url") !== sealed) return undefined;
      const body = bytes.subarray(nonceBytes, -tagBytes);
      for (const { key } of keys) {
        const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonceBytes), {
          authTagLength: tagBytes,
        });
        decipher.setAAD(Buffer.from(about)).setAuthTag(bytes.subarray(-tagBytes));
        try {
          return decipher.update(body, undefined, "utf8") + decipher.final("utf8");
        } catch {
          // Sealed with another key, or forged.
        }
      }
      return undefined;
    },
    derived: (use) => keys.map(({ key }) => createHmac("sha256", key).update(`derived\0${use}`).digest("base64")),
  };
}
