/**
 * Proofs that agents send back after a reconnect, verified without stored state (A8). They are authentication codes and
 * sealed values under the server's key, so they remain valid after a restart.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { deriveId } from "../lib/ids.ts";

const nonceLength = 12;
const tagLength = 16;

export interface Proofs {
  /** Returns the proof of a ClientId for resuming its session. */
  cookie(clientId: string): string;
  provesSession(cookie: string, clientId: string): boolean;
  /** Returns the proof that a tunnel id was assigned to this account. */
  tunnelToken(accountId: string, tunnelId: string): string;
  provesTunnel(token: string, accountId: string, tunnelId: string): boolean;
  /**
   * Returns the id of a labelled tunnel: the same for the same request of the same client, sorted by the first request.
   */
  labelledId(clientId: string, request: string, ordinal: number): string;
  /** Returns the Base64 of the encrypted `text`, which opens only under the same `purpose`. */
  seal(purpose: string, text: string): string;
  /** Undefined if this server did not seal it for this purpose. */
  unseal(purpose: string, sealed: string): string | undefined;
}

/** @param secret at least 32 bytes, the same after a restart */
export function makeProofs(secret: Buffer): Proofs {
  if (secret.length < 32) throw new Error(`the tunnel server's secret has ${secret.length} bytes, not 32`);
  const mac = (...parts: readonly string[]): Buffer => {
    const hash = createHmac("sha256", secret);
    // Each part is preceded by its length, so that different lists have different bytes.
    for (const part of parts) hash.update(`${Buffer.byteLength(part)}:${part}`);
    return hash.digest();
  };
  const sealKey = mac("seal key");
  const proves = (proof: string, expected: string): boolean => {
    const bytes = Buffer.from(proof);
    const wanted = Buffer.from(expected);
    return bytes.length === wanted.length && timingSafeEqual(bytes, wanted);
  };
  const cookie = (clientId: string): string => mac("cookie", clientId).toString("base64url");
  const tunnelToken = (accountId: string, tunnelId: string): string =>
    mac("tunnel", accountId, tunnelId).toString("base64url");
  return {
    cookie,
    provesSession: (given, clientId) => proves(given, cookie(clientId)),
    tunnelToken,
    provesTunnel: (given, accountId, tunnelId) => proves(given, tunnelToken(accountId, tunnelId)),
    labelledId(clientId, request, ordinal) {
      return deriveId("tn", clientId, mac("labelled", clientId, request, String(ordinal)));
    },
    seal(purpose, text) {
      const nonce = randomBytes(nonceLength);
      const cipher = createCipheriv("aes-256-gcm", sealKey, nonce).setAAD(Buffer.from(purpose));
      return Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]).toString(
        "base64",
      );
    },
    unseal(purpose, sealed) {
      const bytes = Buffer.from(sealed, "base64");
      if (bytes.length < nonceLength + tagLength) return undefined;
      const decipher = createDecipheriv("aes-256-gcm", sealKey, bytes.subarray(0, nonceLength), {
        authTagLength: tagLength,
      });
      decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(-tagLength));
      try {
        const text = decipher.update(bytes.subarray(nonceLength, -tagLength));
        return Buffer.concat([text, decipher.final()]).toString("utf8");
      } catch {
        return undefined;
      }
    },
  };
}
