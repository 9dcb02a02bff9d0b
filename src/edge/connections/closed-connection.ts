import type { ConnectionFacts } from "../../traffic/exchange.ts";
import type { Step } from "../../traffic/step.ts";
import type { ConnectionOutcome } from "../../routing/planes/questions.ts";
import type { ConnectionSite } from "../../routing/sites/compiled.ts";

/** A connection that is over, or was not let in. */
export interface ClosedConnection {
  readonly id: string;
  readonly site: ConnectionSite;
  readonly source: string;
  /** Absent where it was closed before anything of it was read. */
  readonly facts?: ConnectionFacts;
  readonly steps: readonly Step[];
  /** What rules of a traffic policy have noted. */
  readonly logs?: readonly Readonly<Record<string, unknown>>[];
  readonly outcome: ConnectionOutcome;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export function protocolOf({ kind }: ConnectionSite): "tls" | "tcp" {
  return kind === "tls_edge" || kind === "tls_endpoint" ? "tls" : "tcp";
}
