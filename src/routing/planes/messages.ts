/**
 * Messages between the planes: plain JSON, and bytes of packed objects. They are delivered in order, over any link (a
 * thread's port, a pipe, a socket). The control plane sends `Downward`, the edge `Upward`. Neither blocks on the other.
 */
import type { AuthorizationAnswer } from "../../identity/machines/authorization-questions.ts";
import type { ClaimOutcome, LoginReport } from "../../identity/sessions/login-reports.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { PackedObjects } from "../../schema/packed.ts";
import type { NameClaim, ClaimAnswer } from "../../directory/name-claims.ts";
import type { DirectoryNews, SharedTunnel } from "../../directory/news.ts";
import type { SessionReport, TunnelReport } from "../../directory/agent-reports.ts";
import type { InboxDownward, InboxUpward } from "./inbox-questions.ts";
import type { PackedTally } from "../../lib/tally.ts";
import type { EdgeAnswer, EdgeQuestion, SeriesAnswer, SeriesQuestion, NodeMembership } from "./edge-questions.ts";
import type { TrafficReport, TrafficWanted } from "./traffic.ts";

export type Downward =
  | InboxDownward
  /** The whole configuration, in pieces. It replaces the edge's previous configuration when `last` arrives. */
  | {
      readonly type: "snapshot";
      readonly revision: number;
      readonly objects: readonly ResourceObject[];
      /** Replaces the objects if their kind is packed. */
      readonly packed?: PackedObjects;
      readonly last: boolean;
    }
  /** Committed writes up to `revision`, in order. An object may occur more than once. */
  | { readonly type: "changes"; readonly revision: number; readonly changes: readonly RoutingChange[] }
  /** A command for an agent. The edge answers with `command_result` and the same `call`. */
  | { readonly type: "command"; readonly call: number; readonly sessionId: string; readonly command: AgentCommand }
  | { readonly type: "metrics_request"; readonly call: number; readonly exemplars?: boolean }
  /** Secret for TLS session tickets of all edges from now on, in base64. */
  | { readonly type: "ticket_secret"; readonly secret: string }
  /** The standing of this node. An edge that was not told has the standing `member`. */
  | { readonly type: "standing"; readonly standing: NodeMembership }
  /** The `login` of this call is stored, or cannot be stored. */
  | { readonly type: "login_stored"; readonly call: number }
  /** Result of this call's `message_claim`. */
  | { readonly type: "message_claimed"; readonly call: number; readonly outcome: ClaimOutcome }
  /** Result of this call's `metadata_wanted`. Changes were sent before. */
  | { readonly type: "metadata_looked_for"; readonly call: number; readonly isNew: boolean }
  /** Result of this call's `authorization_asked`. Changes were sent before. */
  | { readonly type: "authorization_answered"; readonly call: number; readonly answer: AuthorizationAnswer }
  /** Result of this call's `join`: the agent's token, or null if the code is invalid. Undefined if unknown. */
  | { readonly type: "joined"; readonly call: number; readonly joined?: AgentJoined | null }
  /** Result of this call's `login_wanted`. */
  | { readonly type: "login_found"; readonly call: number; readonly object: ResourceObject | null }
  /** The edge answers with `answer` and the same `call`. */
  | { readonly type: "question"; readonly call: number; readonly question: EdgeQuestion }
  /** Accounts whose traffic the edge must report from now on. Also sent after an edge's hello. */
  | { readonly type: "traffic_wanted"; readonly wanted: readonly TrafficWanted[] }
  /** Acknowledges batches of `traffic` up to this one. The edge has only a few unacknowledged batches. */
  | { readonly type: "traffic_taken"; readonly batch: number }
  /** Acknowledges the `tallies` with this number. */
  | { readonly type: "tallies_taken"; readonly number: number }
  /** Result of this call's `series_wanted`. Undefined if the node cannot read its history. */
  | { readonly type: "series_found"; readonly call: number; readonly answer?: SeriesAnswer }
  /**
   * News of other edges, in order, and before anything that depends on it. The edge answers with `directory_taken` and
   * the same `number`. Numbers increase.
   */
  | {
      readonly type: "directory";
      readonly number: number;
      readonly news: readonly DirectoryNews[];
      /** The last change of other nodes that is included. */
      readonly change: number;
    }
  /** Every other edge serves the tunnel as this edge has reported it. */
  | { readonly type: "published"; readonly tunnelId: string }
  /** Result of this call's `claim`. */
  | { readonly type: "claimed"; readonly call: number; readonly answer: ClaimAnswer }
  /**
   * Another edge has the tunnel, because its agent has `moved` there, or has the tunnel's name. Applies to the tunnel
   * that was opened at `startedAt`, and not to one that its agent has opened here since.
   */
  | { readonly type: "tunnel_taken"; readonly tunnelId: string; readonly moved: boolean; readonly startedAt: number }
  /** A question or command for the edge of another node at `address`. Its answer returns as if from this edge. */
  | { readonly type: "relay"; readonly edgeId: string; readonly address: string; readonly message: Relayed }
  /**
   * The session has moved to another edge. Applies to the session that was opened at `startedMs`, and not to one that
   * has returned since.
   */
  | { readonly type: "session_taken"; readonly sessionId: string; readonly startedMs: number };

/** The result of an invitation's secret for an agent. */
export interface AgentJoined {
  readonly token: string;
  readonly accountName: string;
}

/** Messages that one node relays to an edge of another node. */
export type Relayed = Extract<Downward, { readonly type: "question" | "command" }>;

export type RelayedAnswer = Extract<Upward, { readonly type: "answer" | "command_result" }>;

export type SessionCommand =
  | { readonly name: "stop" }
  | { readonly name: "restart" }
  | { readonly name: "update"; readonly version: string };

/**
 * Requests about an exchange that an agent has captured. The answer is the agent's text, which is not parsed on the
 * way. Each names the tunnel of the request, so that an agent that does not know the request can report why.
 */
export type ExchangeCommand =
  /** `exchangeId`: id of a replay of the request; "" for the request itself. */
  | { readonly name: "exchange"; readonly requestId: string; readonly tunnelId: string; readonly exchangeId: string }
  /** Replays the request, once per `replayId`. */
  | { readonly name: "replay"; readonly requestId: string; readonly tunnelId: string; readonly replayId: string };

/**
 * Measures when the agent was last heard and how long it takes to echo a beat. The answer is the text of a
 * `SessionPulse`.
 */
export type PulseQuestion = { readonly name: "pulse" };

export interface SessionPulse {
  /** From the beat to its echo, milliseconds. Null if no echo arrived in time. */
  readonly latencyMs: number | null;
  /** When anything last arrived from the agent, milliseconds since 1970 on the edge's clock. */
  readonly heardAt: number;
}

export type AgentCommand = SessionCommand | ExchangeCommand | PulseQuestion;

export type CommandFailure =
  | "command_unsupported"
  | "command_failed"
  | "command_timeout"
  | "not_found"
  | "exchange_unsupported"
  | "exchange_agent_gone"
  | "exchange_busy";

export interface RoutingChange {
  readonly kind: string;
  readonly id: string;
  readonly account_id: string;
  /** The current object. Null if it was deleted. */
  readonly object: ResourceObject | null;
}

export type Upward =
  /** Reports on logins: created, used, checked, ended, requested. */
  | LoginReport
  | InboxUpward
  /**
   * Sent on connecting, to request a snapshot. `httpsPort`: HTTPS port in public URLs. `agentPort`: port for agents.
   * `peerAddress`: address for other edges of the same server. `peerPort`: port on its machine for edges of other
   * nodes. With either of the last two, the edge receives news of other tunnels.
   */
  | {
      readonly type: "hello";
      readonly edgeId: string;
      readonly httpsPort?: number;
      readonly agentPort?: number;
      readonly peerAddress?: string;
      readonly peerPort?: number;
    }
  /** Everything that was open at the hello has been reported. */
  | { readonly type: "told" }
  /** The edge has disconnected. Sent by the line itself when its other end is lost. */
  | { readonly type: "gone" }
  /** The edge accepts no new traffic, and finishes current traffic. */
  | { readonly type: "draining" }
  /** Everything up to `revision` is in effect. */
  | { readonly type: "applied"; readonly revision: number }
  | { readonly type: "problems"; readonly problems: readonly Problem[] }
  | { readonly type: "session_opened"; readonly session: SessionReport }
  | { readonly type: "session_closed"; readonly sessionId: string }
  /** `shared`: data for other edges. */
  | { readonly type: "tunnel_opened"; readonly tunnel: TunnelReport; readonly shared?: SharedTunnel }
  /** `finishes`: whether current traffic through the tunnel may finish. */
  | { readonly type: "tunnel_closed"; readonly tunnelId: string; readonly finishes?: true }
  /** Another program on the machine listens on a port from the range of TCP tunnels. */
  | { readonly type: "port_occupied"; readonly port: number }
  /** An agent sends the secret of an invitation. The answer is `joined`. */
  | {
      readonly type: "join";
      readonly call: number;
      readonly secretHash: string;
      readonly name: string;
      readonly ip: string;
    }
  /** Requests a public name, before the agent gets it. The answer is `claimed`. */
  | { readonly type: "claim"; readonly call: number; readonly claim: NameClaim }
  /** The news up to this number are in effect. */
  | { readonly type: "directory_taken"; readonly number: number }
  /** The tunnel that was granted a name will not be opened. */
  | { readonly type: "claim_dropped"; readonly tunnelId: string }
  | {
      readonly type: "command_result";
      readonly call: number;
      /** The agent's answer to a question, unchanged and untrusted. */
      readonly text?: string;
      readonly error?: { readonly reason: CommandFailure; readonly message: string };
    }
  | { readonly type: "metrics"; readonly call: number; readonly text: string }
  /**
   * Finished traffic, in batches numbered from 1, with the number of reports of an account that were dropped before.
   */
  | {
      readonly type: "traffic";
      readonly batch: number;
      readonly reports: readonly TrafficReport[];
      readonly dropped: readonly (readonly [accountId: string, count: number])[];
    }
  /**
   * Counts of finished traffic by account. `at`: when the first of it ended. The number increases with each report. The
   * edge sends a report again, with the same number, if the control plane may not have received it.
   */
  | {
      readonly type: "tallies";
      readonly number: number;
      readonly at: number;
      readonly rows: readonly (readonly [accountId: string, tallies: readonly PackedTally[]])[];
    }
  /** Another node requests this node's history of traffic. The answer is `series_found`. */
  | { readonly type: "series_wanted"; readonly call: number; readonly question: SeriesQuestion }
  /** Undefined if the edge could not determine the answer. */
  | { readonly type: "answer"; readonly call: number; readonly answer: EdgeAnswer | undefined };

/** Why a part of the configuration could not be applied. `message` undefined clears the problem. */
export interface Problem {
  readonly kind: string;
  readonly id: string;
  readonly accountId: string;
  readonly module: string | undefined;
  readonly message: string | undefined;
}

/** One end of the line between the planes. */
export interface Link<Out, In> {
  send(message: Out): void;
  /** Called once, before the first message can arrive. */
  receive(handler: (message: In) => void): void;
  /** `handler` is called each time the other end is lost. Another end may take its place. */
  lost?(handler: () => void): void;
}
