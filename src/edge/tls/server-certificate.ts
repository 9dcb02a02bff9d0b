/** A certificate of the edge with its key. */
export interface ServerCertificate {
  /** Changes with each new or renewed certificate. */
  readonly id: string;
  /** The same at all edges for certificates that stand for each other. Default: `id`. */
  readonly lineage?: string;
  /** Leaf first, then its chain. */
  readonly certificatePem: string;
  readonly keyPem: string;
  /** Milliseconds since 1970. */
  readonly notAfter: number;
}
