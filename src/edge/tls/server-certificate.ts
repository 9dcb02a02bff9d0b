/** A certificate that the edge can show, with its key. */
export interface ServerCertificate {
  /** Another one, or the same renewed, has another id. */
  readonly id: string;
  /** Leaf first, then its chain. */
  readonly certificatePem: string;
  readonly keyPem: string;
  /** Milliseconds since 1970. */
  readonly notAfter: number;
}
