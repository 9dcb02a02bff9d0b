/** What the control plane asks of an edge, and what it is told: plain JSON. */
import { errorCode } from "../../lib/errors.ts";
import type { DescribedVisitor } from "../../traffic/login.ts";
import type { HeaderPairs } from "../../traffic/header-list.ts";
import type { Doc } from "../../schema/doc.ts";
import type { Answer, Step } from "../../traffic/step.ts";

/** A route with fields that it does not have, to be tried. */
export interface RouteDraft {
  readonly routeId: string;
  /** In place of those that it has. */
  readonly fields: Doc;
}

export type EdgeQuestion =
  /** Whether it has come to the revision and to the change of what other nodes have, by the end of the time. */
  | { readonly name: "reached"; readonly revision: number; readonly change: number; readonly timeoutMs: number }
  | { readonly name: "request" | "connection"; readonly accountId: string; readonly id: string }
  /** Newest first, of those that sort before `beforeId`. */
  | {
      readonly name: "requests" | "connections";
      readonly accountId: string;
      readonly limit: number;
      readonly beforeId: string | undefined;
      /** Only those that ended so. */
      readonly outcome?: string | undefined;
      /** Only those that have it in what names them, without regard to case. */
      readonly text?: string | undefined;
    }
  | {
      readonly name: "explain_request";
      readonly accountId: string;
      /** An HTTPS edge of the account, or an endpoint of an agent's. */
      readonly siteId: string;
      readonly isEndpoint?: boolean;
      readonly request: RequestDescription;
      /** What a route of the edge is taken to be. */
      readonly draft?: RouteDraft | undefined;
    }
  | {
      readonly name: "explain_connection";
      readonly accountId: string;
      readonly kind: "tls_edge" | "tcp_edge" | "tls_endpoint" | "tcp_endpoint";
      /** A TLS or TCP edge of the account, or an endpoint of an agent's. */
      readonly siteId: string;
      /** Where an endpoint is published; edges are found by their id. */
      readonly host?: string;
      readonly port?: number;
      readonly source: string;
    };

export type EdgeAnswer =
  | { readonly name: "reached"; readonly isReached: boolean }
  | { readonly name: "requests"; readonly requests: readonly RequestTrace[]; readonly more: boolean }
  | { readonly name: "connections"; readonly connections: readonly ConnectionTrace[]; readonly more: boolean }
  | { readonly name: "explanation"; readonly explanation: ExplanationReport }
  /** Nothing is known of what was asked about. */
  | { readonly name: "unknown" }
  /** The edge does not serve the host. */
  | { readonly name: "elsewhere"; readonly host: string };

/** A request as a client would send it. */
export interface RequestDescription {
  /** https unless given. */
  readonly scheme?: "https" | "http";
  readonly method: string;
  /** With port where the client would name one. */
  readonly host: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: HeaderPairs;
  /** Canonical address. */
  readonly source: string;
  readonly body: string;
  /** Who is taken for logged in. */
  readonly as?: DescribedVisitor | undefined;
  /** What the upstream would answer. */
  readonly response: { readonly status: number; readonly headers: HeaderPairs; readonly body: string } | undefined;
}

/** A step without what it would send. */
export type StepReport = Pick<Step, "by" | "outcome" | "reason" | "decidedBy" | "rule">;

/** How an exchange ended. `failed`: for a reason that lies on this side, or cut short. */
export type Outcome = "forwarded" | "answered" | "denied" | "failed";

/** How a whole connection was taken. `served`: it reached its upstream. */
export type ConnectionOutcome = "served" | "denied" | "broken" | "account_limit" | "no_upstream" | "abandoned";

/** The tunnel that a request goes through. */
export interface ServingTunnel {
  readonly id: string;
  readonly sessionId: string;
  readonly forwardsTo: string;
}

/** A request that has ended, and why it ended so. */
export interface RequestTrace {
  readonly id: string;
  /** When it ended, milliseconds since 1970. */
  readonly endedAt: number;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly source: string;
  readonly siteId: string;
  readonly routeId: string | undefined;
  /** The last that it was sent through; undefined where it was sent through none. */
  readonly tunnel: ServingTunnel | undefined;
  readonly outcome: Outcome;
  /** 0 when the client got no response head. */
  readonly status: number;
  readonly errorCode: string | undefined;
  readonly durationMs: number;
  /** From its being sent on until its upstream's answer began; undefined where none did. */
  readonly upstreamMs: number | undefined;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly cutShort: boolean;
  readonly steps: readonly StepReport[];
}

/** A whole connection that is over or was not let in, and why it ended so. */
export interface ConnectionTrace {
  readonly id: string;
  /** When it ended, milliseconds since 1970. */
  readonly endedAt: number;
  readonly protocol: "tls" | "tcp";
  /** Whom a TLS client named; undefined where it named nobody, and for TCP. */
  readonly serverName: string | undefined;
  /** Port that it came to; undefined when it was not let in. */
  readonly port: number | undefined;
  readonly source: string;
  readonly siteId: string;
  readonly outcome: ConnectionOutcome;
  /** What a request would have been told. */
  readonly errorCode: string | undefined;
  readonly durationMs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly steps: readonly StepReport[];
}

/** A route that did not match, although somebody may have expected it to. */
export interface NearRoute {
  readonly id: string;
  readonly matchType: string;
  readonly match: string;
  /** Why it was not the one, as a clause. */
  readonly reason: string;
}

export interface ExplanationReport {
  /** Of the configuration that was asked. */
  readonly revision: number;
  readonly edge: { readonly kind: string; readonly id: string; readonly revision: number } | undefined;
  readonly route: { readonly id: string; readonly revision: number } | undefined;
  readonly near: readonly NearRoute[];
  readonly steps: readonly StepReport[];
  readonly outcome: Outcome;
  /** What is answered at the edge; undefined when the request goes upstream. */
  readonly status: number | undefined;
  readonly errorCode: string | undefined;
  readonly backend: Step["decidedBy"];
  readonly tunnel: ServingTunnel | undefined;
  /** Of a static backend. */
  readonly address: string | undefined;
  /** As they would reach the upstream. */
  readonly requestHeaders: HeaderPairs;
  readonly response: { readonly status: number; readonly headers: HeaderPairs } | undefined;
}

/** Steps without their answers. */
export function stepReports(steps: readonly Step[]): readonly StepReport[] {
  return steps.map(({ by, outcome, reason, decidedBy, rule }) => ({
    by,
    outcome,
    reason,
    ...(decidedBy && { decidedBy }),
    ...(rule && { rule }),
  }));
}

/** How an exchange ends that `last` has ended with `answer`; both undefined when it went upstream. */
export function outcomeOf(last: Step | undefined, answer: Answer | undefined, status: number): Outcome {
  if (answer === undefined) return "forwarded";
  if (!("error" in answer)) return last?.outcome === "denied" ? "denied" : "answered";
  return last?.by === "router" && status >= 500 ? "failed" : "denied";
}

export function codeOf(answer: Answer | undefined): string | undefined {
  if (answer === undefined) return undefined;
  const name = "error" in answer ? answer.error : answer.refused;
  return name && errorCode(name);
}
