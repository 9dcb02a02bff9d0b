/** Checks a provider's secret: when it is written, when it is compiled, and before a sample is signed. */
import { createPublicKey } from "node:crypto";
import { keyOf } from "./hmac.ts";

/**
 * Minimum length of keys in base64, bytes. Svix, which sends for Brex and Clerk, creates none shorter than 24 (Standard
 * Webhooks, "Signature scheme"). Teams documents no length, so its key must only not be empty.
 */
const leastKeyBytes: ReadonlyMap<string, number> = new Map([
  ["brex", 24],
  ["clerk", 24],
  ["microsoft_teams", 1],
  ["svix", 24],
]);

/** Minimum length of text secrets, characters, if the provider documents it. */
const leastCharacters: ReadonlyMap<string, number> = new Map([["contentful", 64]]);

/**
 * Returns the problem of `secret` as a secret of `provider`, as the predicate of a sentence ("is required …", "must
 * …"), or undefined. Does not repeat the secret.
 * @param provider as `providerNamed` returns it
 */
export function secretIssue(provider: string, secret: string): string | undefined {
  if (provider === "sns") return secret === "" ? undefined : "must be empty for SNS, which signs with a certificate";
  if (secret === "") return `is required for provider "${provider}"`;
  if (provider === "sendgrid") {
    return isEcdsaKey(secret) ? undefined : "must be the base64 of an ECDSA public key (P-256) in DER";
  }
  // With an empty half, an attacker's first guess would be accepted.
  if (provider === "vmware" && !/^[^:]+::./s.test(secret)) return 'must be a user and a password as "USER::PASSWORD"';
  const leastBytes = leastKeyBytes.get(provider);
  if (leastBytes !== undefined) return keyIssue(provider, secret, leastBytes);
  const least = leastCharacters.get(provider) ?? 1;
  if (secret.length >= least) return undefined;
  return `must be at least ${least} characters for provider "${provider}", is ${secret.length}`;
}

/** Like `secretIssue`, for the key that signs samples: SendGrid's is the private key, and SNS has none. */
export function signingSecretIssue(provider: string, secret: string): string | undefined {
  return provider === "sns" || (provider === "sendgrid" && secret !== "") ? undefined : secretIssue(provider, secret);
}

/** Throws if `text` is not the base64 of an ECDSA public key on P-256. */
export function ecdsaPublicKey(text: string): ReturnType<typeof createPublicKey> {
  const key = createPublicKey({ key: Buffer.from(text, "base64"), format: "der", type: "spki" });
  if (key.asymmetricKeyDetails?.namedCurve !== "prime256v1") throw new Error("read the key: it is not ECDSA on P-256");
  return key;
}

function keyIssue(provider: string, secret: string, least: number): string | undefined {
  const digits = /^(?:whsec_)?([A-Za-z0-9+/]*)={0,2}$/.exec(secret)?.[1];
  // A single digit has six bits, less than a byte, and Node decodes it to nothing.
  if (digits === undefined || digits.length % 4 === 1) return `must be base64 for provider "${provider}"`;
  const { length } = keyOf(secret, "base64");
  if (length >= least) return undefined;
  return `must be the base64 of at least ${least} bytes for provider "${provider}", is of ${length}`;
}

function isEcdsaKey(text: string): boolean {
  try {
    ecdsaPublicKey(text);
    return true;
  } catch {
    return false;
  }
}
