import { createSecureContext } from "node:tls";

/** What OpenSSL says of certificates that are too weak, and what they must be instead. */
const demands: Readonly<Record<string, string>> = {
  ERR_SSL_EE_KEY_TOO_SMALL: "have a key of at least 2048 bits (RSA) or 224 bits (ECDSA)",
  ERR_SSL_CA_KEY_TOO_SMALL: "be issued under keys of at least 2048 bits (RSA) or 224 bits (ECDSA)",
  ERR_SSL_CA_MD_TOO_WEAK: "not be signed with MD5 or SHA-1",
};

/**
 * What a certificate (PEM, its chain behind it) would have to be for a server to show it with this key, at a strength
 * of 112 bits (K1); undefined when it can be shown.
 */
export function tlsDemand(certificatePem: string, keyPem: string): string | undefined {
  try {
    createSecureContext({ cert: certificatePem, key: keyPem, ciphers: "DEFAULT:@SECLEVEL=2" });
    return undefined;
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    return demands[code] ?? `be of use in TLS: ${message}`;
  }
}
