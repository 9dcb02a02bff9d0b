/** What an edge tells of finished traffic to accounts that want to know: plain JSON, no secret in it. */
import type { LoginEvent } from "../../identity/sessions/events.ts";
import type { TrafficEventType } from "../../resources/traffic-event-types.ts";
import type { ConnectionOutcome, Outcome, StepReport } from "./questions.ts";

export type TrafficReport = RequestReport | ConnectionReport | LoginEvent;

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
  /** Null when nothing was read of the connection. */
  readonly sourcePort: number | null;
  readonly tls: { readonly version: string; readonly cipher: string; readonly serverName: string } | null;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** What rules of a traffic policy have noted. */
  readonly logs: readonly Readonly<Record<string, unknown>>[];
  /** What decided last. */
  readonly decision: Pick<StepReport, "by" | "outcome" | "reason"> | null;
}

export interface RequestReport extends Report {
  readonly type: Extract<TrafficEventType, `http_${string}`>;
  readonly routeId: string | null;
  readonly method: string;
  readonly scheme: string;
  readonly host: string;
  /** Without query, which may hold secrets; cut where it is very long. */
  readonly path: string;
  readonly httpVersion: string;
  readonly userAgent: string;
  readonly websocket: boolean;
  /** 0 when the client got no response head. */
  readonly status: number;
  readonly outcome: Outcome;
  readonly errorCode: string | null;
  readonly cutShort: boolean;
  /** What logins have found out, by the names under which it is told; null under a name where none is asked for. */
  readonly logins: Readonly<Record<string, object | null>>;
}

export interface ConnectionReport extends Report {
  readonly type: Extract<TrafficEventType, `tcp_${string}`>;
  readonly protocol: "tls" | "tcp";
  readonly outcome: ConnectionOutcome;
}

/** An account, and the types of events that somebody is subscribed to there. */
export interface TrafficWanted {
  readonly accountId: string;
  readonly types: readonly TrafficEventType[];
}
