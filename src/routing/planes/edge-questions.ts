/** Questions of the control plane to an edge, and the answers: plain JSON. */
import { errorCode } from "../../lib/errors.ts";
import type { PackedTally } from "../../lib/tally.ts";
import type { DescribedVisitor } from "../../traffic/visitor.ts";
import type { HeaderPairs } from "../../traffic/header-list.ts";
import type { BlockAnswer, BlockQuestion } from "./captured-blocks.ts";
import type { Missing } from "./missing-records.ts";
import type { Doc } from "../../schema/doc.ts";
import type { Answer, Step } from "../../traffic/step.ts";

/** A route with hypothetical fields, for a dry run. */
export interface RouteDraft {
  readonly routeId: string;
  /** Replace the fields of the route. */
  readonly fields: Doc;
}

/**
 * Whether the other nodes include this node. `member`: its lease is held. `cut_off`: its lease is over, and no other node is
 * known to hold one. `excluded`: its lease is over, and another node holds one; or it reaches no other node, and others do.
 * `alone`: its lease is over, and it reaches no other node, which may hold one.
 */
export type NodeMembership = "member" | "cut_off" | "excluded" | "alone";

/** A request for the history of an account's traffic on one node. */
export interface SeriesQuestion {
  readonly name: "series";
  readonly accountId: string;
  /** Start and end, multiples of the step, milliseconds since 1970. */
  readonly since: number;
  readonly until: number;
  readonly stepMs: number;
  readonly isByService: boolean;
  /** Selects one service. */
  readonly serviceId?: string | undefined;
}

export interface SeriesAnswer {
  readonly name: "series";
  /** Id of the node that answers. */
  readonly nodeId: string;
  /** Steps with traffic, by their start. */
  readonly steps: readonly (readonly [at: number, tallies: readonly PackedTally[]])[];
}

export type EdgeQuestion =
  /** The standing of the edge's node. */
  | { readonly name: "standing" }
  | SeriesQuestion
  /** Whether the edge reaches the revision and the change of other nodes within the time. */
  | { readonly name: "reached"; readonly revision: number; readonly change: number; readonly timeoutMs: number }
  | {
      readonly name: "request" | "connection";
      readonly accountId: string;
      readonly id: string;
      /** The API key that asks. */
      readonly keyId?: string | undefined;
    }
  /** Lists items that sort before `beforeId`, newest first. */
  | {
      readonly name: "requests" | "connections";
      readonly accountId: string;
      readonly limit: number;
      readonly beforeId: string | undefined;
      /** Arrived at or after, and before this time, milliseconds since 1970. */
      readonly since?: number | undefined;
      readonly until?: number | undefined;
      readonly filter?: TrafficFilter | undefined;
      /** Adds the whole record to each captured request. The content is its header fields and body. */
      readonly whole?: WholeRecords | undefined;
      /** Selects this outcome only. */
      readonly outcome?: string | undefined;
      /** The API key that asks. */
      readonly keyId?: string | undefined;
      /** Selects those whose identifying texts contain it, case-insensitive. */
      readonly text?: string | undefined;
    }
  /** The endpoints that the account's agents publish, here and elsewhere. */
  | { readonly name: "agent_endpoints"; readonly accountId: string }
  /** Of another node, about the captured requests of the edge's node. */
  | { readonly name: "captured_blocks"; readonly question: BlockQuestion }
  | {
      readonly name: "explain_request";
      readonly accountId: string;
      /** An HTTPS edge of the account, or an agent's endpoint. */
      readonly siteId: string;
      readonly isEndpoint?: boolean;
      readonly request: RequestDescription;
      /** A hypothetical route of the edge. */
      readonly draft?: RouteDraft | undefined;
    }
  | {
      readonly name: "explain_connection";
      readonly accountId: string;
      readonly kind: "tls_edge" | "tcp_edge" | "tls_endpoint" | "tcp_endpoint";
      /** A TLS or TCP edge of the account, or an agent's endpoint. */
      readonly siteId: string;
      /** Host of an endpoint. Edges are found by their id. */
      readonly host?: string;
      readonly port?: number;
      readonly source: string;
      /** Country to assume for the source, instead of the one that the databases have. */
      readonly country?: string | undefined;
    };

export type WholeRecords = "with content" | "without content";

/** Every given condition must hold. */
export interface TrafficFilter {
  readonly status?: number | undefined;
  /** Name of a module that acted, such as `ip_restriction`. */
  readonly module?: string | undefined;
  /** Id of the object that decided a step, such as a rule of an IP policy. */
  readonly rule?: string | undefined;
  readonly sourceIp?: string | undefined;
  /** A canonical path, or the start of one with `*` at its end. */
  readonly path?: string | undefined;
  /** E-mail address or id of the visitor. */
  readonly user?: string | undefined;
}

/** An agent's endpoint, with everything that compiling it needs. It never leaves the server. */
export interface AgentEndpoint {
  readonly tunnelId: string;
  readonly sessionId: string;
  readonly credentialId: string;
  readonly agentId: string;
  readonly host: string;
  readonly port: number;
  /** See `SharedTunnel`. */
  readonly request: string;
}

export type EdgeAnswer =
  | { readonly name: "standing"; readonly standing: NodeMembership }
  | SeriesAnswer
  | { readonly name: "reached"; readonly isReached: boolean }
  | {
      readonly name: "requests";
      readonly requests: readonly RequestTrace[];
      readonly more: boolean;
      /** Set if some may be missing. */
      readonly missing?: Missing | undefined;
    }
  | {
      readonly name: "connections";
      readonly connections: readonly ConnectionTrace[];
      readonly more: boolean;
      readonly missing?: Missing | undefined;
    }
  | { readonly name: "captured_blocks"; readonly answer: BlockAnswer }
  | { readonly name: "agent_endpoints"; readonly endpoints: readonly AgentEndpoint[] }
  | { readonly name: "explanation"; readonly explanation: ExplanationReport }
  /** The subject of the question is unknown. */
  | { readonly name: "unknown" }
  /** The edge does not serve the host. */
  | { readonly name: "elsewhere"; readonly host: string };

/** A request as a client would send it. */
export interface RequestDescription {
  /** Default: https. */
  readonly scheme?: "https" | "http";
  readonly method: string;
  /** Includes the port if the client would send it. */
  readonly host: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: HeaderPairs;
  /** Canonical address. */
  readonly source: string;
  /** Country to assume for the source, instead of the one that the databases have. */
  readonly country?: string | undefined;
  readonly body: string;
  /** The visitor to treat as logged in. */
  readonly as?: DescribedVisitor | undefined;
  /** The upstream's hypothetical response. */
  readonly response: { readonly status: number; readonly headers: HeaderPairs; readonly body: string } | undefined;
}

/** A step without its response. */
export type StepReport = Pick<Step, "by" | "outcome" | "reason" | "decidedBy" | "rule">;

/** How an exchange ended. `failed`: for a reason on this side, or incomplete. */
export type ExchangeOutcome = "forwarded" | "answered" | "denied" | "failed";

/** How a connection ended. `served`: it reached its upstream. */
export type ConnectionOutcome = "served" | "denied" | "broken" | "account_limit" | "no_upstream" | "abandoned";

/** The tunnel that served a request. */
export interface ServingTunnel {
  readonly id: string;
  readonly sessionId: string;
  readonly forwardsTo: string;
}

/** An ended request, with the reason for its outcome. */
export interface RequestTrace {
  readonly id: string;
  /** Whether it was captured with its header fields. */
  readonly captured?: true;
  /** Id of its trace, if the server sends traces. */
  readonly traceId?: string | undefined;
  /** The whole record as JSON, if the question asked for it. */
  readonly whole?: string | undefined;
  /** E-mail address or id of the logged-in visitor. */
  readonly user?: string | undefined;
  /** When it ended, milliseconds since 1970. */
  readonly endedAt: number;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly source: string;
  /** Present country of the source, ISO 3166-1 alpha-2. Absent if no locations are loaded, or none is known. */
  readonly sourceCountry?: string | undefined;
  readonly siteId: string;
  readonly routeId: string | undefined;
  /** The last tunnel that the request was sent through. Undefined if there was none. */
  readonly tunnel: ServingTunnel | undefined;
  readonly outcome: ExchangeOutcome;
  /** 0 if the client got no response head. */
  readonly status: number;
  readonly errorCode: string | undefined;
  readonly durationMs: number;
  /** From forwarding the request to the start of the upstream's response. Undefined if there was none. */
  readonly upstreamMs: number | undefined;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly cutShort: boolean;
  readonly steps: readonly StepReport[];
}

/** A closed or denied connection, with the reason for its outcome. */
export interface ConnectionTrace {
  readonly id: string;
  /** When it ended, milliseconds since 1970. */
  readonly endedAt: number;
  readonly protocol: "tls" | "tcp";
  /** Server name of a TLS client. Undefined if the client sent none, and for TCP. */
  readonly serverName: string | undefined;
  /** Port that the connection arrived at. Undefined if it was denied. */
  readonly port: number | undefined;
  readonly source: string;
  /** See `RequestTrace`. */
  readonly sourceCountry?: string | undefined;
  readonly siteId: string;
  readonly outcome: ConnectionOutcome;
  /** The error code that a request would have received. */
  readonly errorCode: string | undefined;
  readonly durationMs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly steps: readonly StepReport[];
}

/** A route that did not match, although a user may have expected it to. */
export interface NearRoute {
  readonly id: string;
  readonly matchType: string;
  readonly match: string;
  /** Why it did not match, as a clause. */
  readonly reason: string;
}

export interface ExplanationReport {
  /** Revision of the configuration that was used. */
  readonly revision: number;
  readonly edge: { readonly kind: string; readonly id: string; readonly revision: number } | undefined;
  readonly route: { readonly id: string; readonly revision: number } | undefined;
  readonly near: readonly NearRoute[];
  readonly steps: readonly StepReport[];
  /** Country of the source, assumed or by the databases. */
  readonly sourceCountry?: string | undefined;
  readonly outcome: ExchangeOutcome;
  /** Status of the edge's own response. Undefined if the request is forwarded upstream. */
  readonly status: number | undefined;
  readonly errorCode: string | undefined;
  readonly backend: Step["decidedBy"];
  readonly tunnel: ServingTunnel | undefined;
  /** Address of a static backend. */
  readonly address: string | undefined;
  /** Headers as the upstream would receive them. */
  readonly requestHeaders: HeaderPairs;
  readonly response: { readonly status: number; readonly headers: HeaderPairs } | undefined;
}

/** Returns steps without their responses. */
export function stepReports(steps: readonly Step[]): readonly StepReport[] {
  return steps.map(stepReport);
}

export function stepReport({ by, outcome, reason, decidedBy, rule }: Step): StepReport {
  return { by, outcome, reason, ...(decidedBy && { decidedBy }), ...(rule && { rule }) };
}

/** Returns the outcome of an exchange that `last` has ended with `answer`. Both are undefined if it went upstream. */
export function outcomeOf(last: Step | undefined, answer: Answer | undefined, status: number): ExchangeOutcome {
  if (answer === undefined) return "forwarded";
  if (!("error" in answer)) return last?.outcome === "denied" ? "denied" : "answered";
  return last?.by === "router" && status >= 500 ? "failed" : "denied";
}

export function codeOf(answer: Answer | undefined): string | undefined {
  if (answer === undefined) return undefined;
  const name = "error" in answer ? answer.error : answer.refused;
  return name && errorCode(name);
}
