/** Requests for certificates (PKCS #10, RFC 2986). */
import { encodeContext, encodeDer, encodeInteger, encodeOid, encodeSequence, tag } from "./der.ts";
import { encodeExtension, generalName, newKeyPair, signDer } from "./x509.ts";
import type { KeyType } from "./x509.ts";

export interface SigningRequest {
  /** DER. */
  readonly request: Buffer;
  /** The new private key, PKCS #8, PEM. */
  readonly keyPem: string;
}

/**
 * Creates a request for a certificate for `names`, with a new key: ECDSA P-256, or RSA with 2048 bits. The names are
 * only in the alternative names; the subject is empty. Runs outside the calling thread. Throws on invalid names.
 */
export async function createSigningRequest(names: readonly string[], keyType: KeyType): Promise<SigningRequest> {
  const { publicKey, privateKey } = await newKeyPair(keyType);
  const extensions = encodeSequence(encodeExtension("2.5.29.17", encodeSequence(...names.map(generalName))));
  const toBeSigned = encodeSequence(
    encodeInteger(0),
    encodeSequence(),
    publicKey.export({ type: "spki", format: "der" }),
    // extensionRequest (RFC 2985 §5.4.2)
    encodeContext(0, encodeSequence(encodeOid("1.2.840.113549.1.9.14"), encodeDer(tag.set, extensions))),
  );
  return {
    request: await signDer(toBeSigned, privateKey),
    keyPem: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  };
}
