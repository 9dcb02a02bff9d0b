/** What a site demands of TLS handshakes. */
export interface Handshake {
  readonly minVersion?: TlsVersion;
  readonly maxVersion?: TlsVersion;
  /** PEM of the authorities that client certificates must chain to. */
  readonly clientAuthorities?: string;
  /**
   * Whether clients are asked for a certificate: `verify`, which `clientAuthorities` alone mean, refuses those without
   * one that chains to them; `any` those without one, whoever issued it; `request` nobody.
   */
  readonly clientCertificates?: "verify" | "any" | "request";
  /** TLS is not terminated here. */
  readonly passthrough?: boolean;
}

export type TlsVersion = "TLSv1.2" | "TLSv1.3";
