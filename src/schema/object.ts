import type { Doc } from "./doc.ts";

/** One object of an account, as storage keeps it and the data plane is told of it; secrets in `doc` are open. */
export interface ResourceObject<D = Doc> {
  readonly kind: string;
  readonly id: string;
  readonly account_id: string;
  /** Revision of its last change. */
  readonly revision: number;
  /** Complete by its declaration: every stored field present, references as ids under their input name. */
  readonly doc: D;
}

/** Where a module can be attached. */
export type Place = "https_edge" | "https_route" | "tls_edge" | "tcp_edge";
