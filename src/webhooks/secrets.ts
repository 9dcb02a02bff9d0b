/** What may be a provider's secret: judged when it is written, when it is compiled, and before a sample is signed. */
import { createPublicKey } from "node:crypto";
import { keyOf } from "./hmac.ts";

/**
 * Least bytes of keys that are given as base64. Svix, which Brex and Clerk send by, makes none shorter than 24
 * (Standard Webhooks, "Signature scheme"); for Teams no length is documented, so it is only not nothing.
 */
const leastKeyBytes: ReadonlyMap<string, number> = new Map([
  ["brex", 24],
  ["clerk", 24],
  ["microsoft_teams", 1],
  ["svix", 24],
]);

/** Least characters of secrets that are text, where the provider documents their length. */
const leastCharacters: ReadonlyMap<string, number> = new Map([["contentful", 64]]);

/**
 * What is wrong with `secret` as a secret of `provider`, as the predicate of a sentence ("is required …", "must …");
 * undefined when nothing is. Does not repeat the secret.
 * @param provider as `providerNamed` gives it
 */
export function secretIssue(provider: string, secret: string): string | undefined {
  if (provider === "sns") return secret === "" ? undefined : "must be empty for SNS, which signs with a certificate";
  if (secret === "") return `is required for provider "${provider}"`;
  if (provider === "sendgrid") {
    return isEcdsaKey(secret) ? undefined : "must be the base64 of an ECDSA public key (P-256) in DER";
  }
  // With an empty half, what anybody would try first is let in.
  if (provider === "vmware" && !/^[^:]+::./s.test(secret)) return 'must be a user and a password as "USER::PASSWORD"';
  const leastBytes = leastKeyBytes.get(provider);
  if (leastBytes !== undefined) return keyIssue(provider, secret, leastBytes);
  const least = leastCharacters.get(provider) ?? 1;
  if (secret.length >= least) return undefined;
  return `must be at least ${least} characters for provider "${provider}", is ${secret.length}`;
}

/** As `secretIssue`, for what samples are signed with: SendGrid's is the private key, and SNS has none to give. */
export function signingSecretIssue(provider: string, secret: string): string | undefined {
  return provider === "sns" || (provider === "sendgrid" && secret !== "") ? undefined : secretIssue(provider, secret);
}

/** Throws when `text` is not base64 of an ECDSA public key on P-256. */
export function ecdsaPublicKey(text: string): ReturnType<typeof createPublicKey> {
  const key = createPublicKey({ key: Buffer.from(text, "base64"), format: "der", type: "spki" });
  if (key.asymmetricKeyDetails?.namedCurve !== "prime256v1") throw new Error("read the key: it is not ECDSA on P-256");
  return key;
}

function keyIssue(provider: string, secret: string, least: number): string | undefined {
  const digits = /^(?:whsec_)?([A-Za-z0-9+/]*)={0,2}$/.exec(secret)?.[1];
  // One digit alone is six bits: no byte, and Node reads it as none.
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
