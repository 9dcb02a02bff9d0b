/** A site's requirements for TLS handshakes. */
export interface Handshake {
  readonly minVersion?: TlsVersion;
  readonly maxVersion?: TlsVersion;
  /** PEM of the authorities to which client certificates must chain. */
  readonly clientAuthorities?: string;
  /**
   * Which client certificates are required. `verify`, the default with `clientAuthorities`, refuses clients without a
   * certificate that chains to them. `any` requires a certificate from any issuer. `request` refuses no client.
   */
  readonly clientCertificates?: "verify" | "any" | "request";
  /** The edge does not terminate TLS. */
  readonly passthrough?: boolean;
}

export type TlsVersion = "TLSv1.2" | "TLSv1.3";
