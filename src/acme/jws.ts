/** Signed ACME messages (RFC 8555 §6.2): flattened JWS, ES256 (RFC 7515, RFC 7518 §3.4). */
import { createHash, createHmac, createPrivateKey, createPublicKey, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";

export interface AccountKey {
  /** RFC 7638. */
  readonly thumbprint: string;
  /**
   * Signs for `url`. Without `accountUrl` the message contains the key itself; without `payload` it is a POST-as-GET.
   */
  sign(message: {
    readonly url: string;
    readonly nonce: string;
    readonly accountUrl?: string | undefined;
    readonly payload?: object | undefined;
  }): string;
  /** Binds the key to the operator's account at the authority, for a registration at `url` (RFC 8555 §7.3.4). */
  bind(external: ExternalAccount, url: string): object;
}

/** An account that the authority has given to the operator. */
export interface ExternalAccount {
  readonly keyId: string;
  readonly hmacKey: Buffer;
}

/** @param keyPem PKCS #8 of an ECDSA key on P-256; throws for other keys */
export function readAccountKey(keyPem: string): AccountKey {
  const key: KeyObject = createPrivateKey(keyPem);
  if (key.asymmetricKeyDetails?.namedCurve !== "prime256v1") throw new Error("read ACME account key: it is not P-256");
  const { crv, kty, x, y } = createPublicKey(key).export({ format: "jwk" });
  // The thumbprint covers exactly this text: this order, no spaces (RFC 7638 §3).
  const jwk = { crv, kty, x, y };
  return {
    thumbprint: createHash("sha256").update(JSON.stringify(jwk)).digest("base64url"),
    sign({ url, nonce, accountUrl, payload }) {
      const header = { alg: "ES256", ...(accountUrl === undefined ? { jwk } : { kid: accountUrl }), nonce, url };
      const protectedText = encodeBase64Url(JSON.stringify(header));
      const payloadText = payload === undefined ? "" : encodeBase64Url(JSON.stringify(payload));
      const signature = sign("sha256", Buffer.from(`${protectedText}.${payloadText}`), {
        key,
        dsaEncoding: "ieee-p1363",
      });
      return JSON.stringify({
        protected: protectedText,
        payload: payloadText,
        signature: signature.toString("base64url"),
      });
    },
    bind({ keyId, hmacKey }, url) {
      const protectedText = encodeBase64Url(JSON.stringify({ alg: "HS256", kid: keyId, url }));
      const payload = encodeBase64Url(JSON.stringify(jwk));
      const signature = createHmac("sha256", hmacKey).update(`${protectedText}.${payload}`).digest("base64url");
      return { protected: protectedText, payload, signature };
    },
  };
}

function encodeBase64Url(text: string): string {
  return Buffer.from(text).toString("base64url");
}
