import { createSecureContext } from "node:tls";

/** OpenSSL's errors for certificates that are too weak, and the requirements. */
const demands: Readonly<Record<string, string>> = {
  ERR_SSL_EE_KEY_TOO_SMALL: "have a key of at least 2048 bits (RSA) or 224 bits (ECDSA)",
  ERR_SSL_CA_KEY_TOO_SMALL: "be issued under keys of at least 2048 bits (RSA) or 224 bits (ECDSA)",
  ERR_SSL_CA_MD_TOO_WEAK: "not be signed with MD5 or SHA-1",
};

/**
 * Returns the requirement that a certificate (PEM, followed by its chain) fails for use in a server with this key, at a
 * strength of 112 bits (K1); undefined if it is usable.
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
