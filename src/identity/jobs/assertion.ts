/** The edge's signed assertion about the logged-in visitor, for the service behind the route. */
import { createPrivateKey, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";

export interface AssertionRequest {
  readonly keyId: string;
  /** P-256, PKCS #8. */
  readonly keyPem: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

let lastPem = "";
let lastKey: KeyObject | undefined;

/** A compact JWS, ES256 (RFC 7518 §3.4). */
export async function signAssertion({ keyId, keyPem, claims }: AssertionRequest): Promise<string> {
  if (lastKey === undefined || lastPem !== keyPem) {
    lastKey = createPrivateKey(keyPem);
    lastPem = keyPem;
  }
  const header = encodePart({ alg: "ES256", typ: "JWT", kid: keyId });
  const content = `${header}.${encodePart(claims)}`;
  const signature = sign("sha256", Buffer.from(content), { key: lastKey, dsaEncoding: "ieee-p1363" });
  return `${content}.${signature.toString("base64url")}`;
}

function encodePart(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
