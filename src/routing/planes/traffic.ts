/** Reports of finished traffic from an edge to accounts that subscribe to it: plain JSON, without secrets. */
import type { LoginEvent } from "../../identity/sessions/login-events.ts";
import type { TrafficEventType } from "../../resources/traffic-event-types.ts";
import type { ConnectionOutcome, ExchangeOutcome, StepReport } from "./edge-questions.ts";

export type TrafficReport = RequestReport | ConnectionReport | LoginEvent | InboxEvent;

/** Made by the control plane, which delivers the messages of inboxes. */
export interface InboxEvent {
  readonly type: Extract<TrafficEventType, `inbox_${string}`>;
  readonly accountId: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly object: Readonly<Record<string, unknown>>;
}

interface Report {
  readonly id: string;
  readonly accountId: string;
  /** Milliseconds since 1970. */
  readonly endedAt: number;
  readonly durationMs: number;
  /** The edge or endpoint. */
  readonly siteId: string;
  readonly backendId: string | null;
  readonly tunnelId: string | null;
  readonly source: string;
  /** Null if no data of the connection was read. */
  readonly sourcePort: number | null;
  readonly tls: { readonly version: string; readonly cipher: string; readonly serverName: string } | null;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Log entries of traffic policy rules. */
  readonly logs: readonly Readonly<Record<string, unknown>>[];
  /** The last deciding step. */
  readonly decision: Pick<StepReport, "by" | "outcome" | "reason"> | null;
}

export interface RequestReport extends Report {
  readonly type: Extract<TrafficEventType, `http_${string}`>;
  readonly routeId: string | null;
  readonly method: string;
  readonly scheme: string;
  readonly host: string;
  /** Without the query, which may contain secrets. Truncated if very long. */
  readonly path: string;
  readonly httpVersion: string;
  readonly userAgent: string;
  readonly websocket: boolean;
  /** 0 if the client got no response head. */
  readonly status: number;
  readonly outcome: ExchangeOutcome;
  readonly errorCode: string | null;
  readonly cutShort: boolean;
  /** Results of logins, by their published names. Null for a login without a result. */
  readonly logins: Readonly<Record<string, object | null>>;
}

export interface ConnectionReport extends Report {
  readonly type: Extract<TrafficEventType, `tcp_${string}`>;
  readonly protocol: "tls" | "tcp";
  readonly outcome: ConnectionOutcome;
}

/** An account with the types of its subscribed events. */
export interface TrafficWanted {
  readonly accountId: string;
  readonly types: readonly TrafficEventType[];
}
