/** One object of an account, as stored and as sent to the data plane. Secrets in `doc` are not sealed. */
export interface ResourceObject<D = Readonly<Record<string, unknown>>> {
  readonly kind: string;
  readonly id: string;
  readonly account_id: string;
  /** Revision of the last change. */
  readonly revision: number;
  /**
   * Complete according to its declaration: every stored field is present, references are ids under their input name.
   */
  readonly doc: D;
}

/** Where a module can be attached. */
export type ModulePlace = "https_edge" | "https_route" | "tls_edge" | "tcp_edge";
