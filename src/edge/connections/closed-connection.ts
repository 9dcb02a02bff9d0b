import type { ConnectionFacts } from "../../traffic/connection-facts.ts";
import type { Step } from "../../traffic/step.ts";
import type { ConnectionOutcome } from "../../routing/planes/edge-questions.ts";
import type { ConnectionSite } from "../../routing/sites/compiled-site.ts";

/** A connection that is over or was refused. */
export interface ClosedConnection {
  readonly id: string;
  readonly site: ConnectionSite;
  readonly source: string;
  /** Absent if the connection closed before any bytes were read. */
  readonly facts?: ConnectionFacts;
  readonly steps: readonly Step[];
  /** Entries that rules of a traffic policy have logged. */
  readonly logs?: readonly Readonly<Record<string, unknown>>[];
  readonly outcome: ConnectionOutcome;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export function protocolOf({ kind }: ConnectionSite): "tls" | "tcp" {
  return kind === "tls_edge" || kind === "tls_endpoint" ? "tls" : "tcp";
}
