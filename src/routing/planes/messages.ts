/**
 * What the planes say to each other: plain JSON, and bytes of packed objects; in order, over any link (a thread's port, a
 * pipe, a socket).
 * The control plane sends `Downward`, the edge `Upward`. Neither waits for the other.
 */
import type { ClaimOutcome, LoginReport } from "../../identity/sessions/reports.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { PackedObjects } from "../../schema/packed.ts";
import type { Claim, ClaimAnswer } from "../../directory/names.ts";
import type { DirectoryNews, SharedTunnel } from "../../directory/news.ts";
import type { SessionReport, TunnelReport } from "../../directory/reports.ts";
import type { EdgeAnswer, EdgeQuestion } from "./questions.ts";
import type { TrafficReport, TrafficWanted } from "./traffic.ts";

export type Downward =
  /** The whole configuration, in pieces; what the edge had before is replaced when `last` arrives. */
  | {
      readonly type: "snapshot";
      readonly revision: number;
      readonly objects: readonly ResourceObject[];
      /** Of a kind that is packed, instead of objects. */
      readonly packed?: PackedObjects;
      readonly last: boolean;
    }
  /** Committed writes up to `revision`, in order; an object may be there more than once. */
  | { readonly type: "changes"; readonly revision: number; readonly changes: readonly RoutingChange[] }
  /** A command for an agent; answered by `command_result` with the same `call`. */
  | { readonly type: "command"; readonly call: number; readonly sessionId: string; readonly command: AgentCommand }
  | { readonly type: "metrics_request"; readonly call: number }
  /** The `login` of this call is stored, or never will be. */
  | { readonly type: "login_stored"; readonly call: number }
  /** Who has the message of this call's `message_claim`. */
  | { readonly type: "message_claimed"; readonly call: number; readonly outcome: ClaimOutcome }
  /** What came of this call's `metadata_wanted`; what has changed was sent before. */
  | { readonly type: "metadata_looked_for"; readonly call: number; readonly isNew: boolean }
  /** The result of this call's `join`: the agent's token, or null where the code is not valid; absent: not known. */
  | { readonly type: "joined"; readonly call: number; readonly joined?: Joined | null }
  /** What `login_wanted` of this call has found. */
  | { readonly type: "login_found"; readonly call: number; readonly object: ResourceObject | null }
  /** Answered by `answer` with the same `call`. */
  | { readonly type: "question"; readonly call: number; readonly question: EdgeQuestion }
  /** Whose traffic is to be told of, from now on; sent when an edge says hello, too. */
  | { readonly type: "traffic_wanted"; readonly wanted: readonly TrafficWanted[] }
  /** The batches of `traffic` up to this one were taken; the edge has only a few of them under way. */
  | { readonly type: "traffic_taken"; readonly batch: number }
  /**
   * What other edges hold from now on; in order, and before anything that rests on it. Answered by `directory_taken`
   * with the same `number`; they grow from one to the next.
   */
  | {
      readonly type: "directory";
      readonly number: number;
      readonly news: readonly DirectoryNews[];
      /** Up to which change it is told of other nodes. */
      readonly change: number;
    }
  /** Every other edge serves the tunnel as this one has told of it. */
  | { readonly type: "published"; readonly tunnelId: string }
  /** What came of this call's `claim`. */
  | { readonly type: "claimed"; readonly call: number; readonly answer: ClaimAnswer }
  /**
   * Another edge has the tunnel itself, which its agent has `moved` there, or its name, from now on. Of the one that was
   * opened at `startedAt`, and not of one that its agent has opened here since.
   */
  | { readonly type: "tunnel_taken"; readonly tunnelId: string; readonly moved: boolean; readonly startedAt: number }
  /** For the edge at `address`, of another node: a question or command, whose answer comes back as if it were one's own. */
  | { readonly type: "relay"; readonly edgeId: string; readonly address: string; readonly message: Relayed }
  /** The session goes on at another edge: the one that was opened at `startedMs`, and not one that has come back since. */
  | { readonly type: "session_taken"; readonly sessionId: string; readonly startedMs: number };

/** What an agent gets for the secret of an invitation. */
export interface Joined {
  readonly token: string;
  readonly accountName: string;
}

/** What one node asks of another's edge. */
export type Relayed = Extract<Downward, { readonly type: "question" | "command" }>;

export type RelayedAnswer = Extract<Upward, { readonly type: "answer" | "command_result" }>;

export type SessionCommand =
  | { readonly name: "stop" }
  | { readonly name: "restart" }
  | { readonly name: "update"; readonly version: string };

/**
 * What an agent of ours has kept of a request: answered with the agent's text, which nobody reads on the way. Each says
 * through which tunnel the request went, which tells an agent that knows nothing of it why.
 */
export type ExchangeCommand =
  /** `exchangeId`: of a replay of the request; "" for itself. */
  | { readonly name: "exchange"; readonly requestId: string; readonly tunnelId: string; readonly exchangeId: string }
  /** Sends it again, once for each `replayId`. */
  | { readonly name: "replay"; readonly requestId: string; readonly tunnelId: string; readonly replayId: string };

/** When the agent was last heard, and how long it takes to echo a beat: answered with the text of a `SessionPulse`. */
export type PulseQuestion = { readonly name: "pulse" };

export interface SessionPulse {
  /** From the beat to its echo, milliseconds; null where none came in time. */
  readonly latencyMs: number | null;
  /** When anything last came from the agent, milliseconds since 1970 by the edge's clock. */
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
  /** The object as it is now; null when it was deleted. */
  readonly object: ResourceObject | null;
}

export type Upward =
  /** Logins: made, used, checked, ended, looked for. */
  | LoginReport
  /**
   * Sent on connecting: asks for a snapshot. `httpsPort`: the port of HTTPS in public URLs.
   * `agentPort`: where agents connect. `peerAddress`: where other
   * edges of its server reach it. `peerPort`: where on its machine those of other nodes do. With either it wants to know of
   * others' tunnels.
   */
  | {
      readonly type: "hello";
      readonly edgeId: string;
      readonly httpsPort?: number;
      readonly agentPort?: number;
      readonly peerAddress?: string;
      readonly peerPort?: number;
    }
  /** Everything that was open when it said hello has been told. */
  | { readonly type: "told" }
  /** The edge is no more: said by the line, when its other end has gone. */
  | { readonly type: "gone" }
  /** It takes no new traffic any more, and finishes what is under way. */
  | { readonly type: "draining" }
  /** Everything up to `revision` is in effect. */
  | { readonly type: "applied"; readonly revision: number }
  | { readonly type: "problems"; readonly problems: readonly Problem[] }
  | { readonly type: "session_opened"; readonly session: SessionReport }
  | { readonly type: "session_closed"; readonly sessionId: string }
  /** `shared`: what other edges have to know of it. */
  | { readonly type: "tunnel_opened"; readonly tunnel: TunnelReport; readonly shared?: SharedTunnel }
  /** `finishes`: what is under way through it may end by itself. */
  | { readonly type: "tunnel_closed"; readonly tunnelId: string; readonly finishes?: true }
  /** Something else on the machine listens on a port that tcp tunnels are given. */
  | { readonly type: "port_occupied"; readonly port: number }
  /** An agent brings the secret of an invitation; answered by `joined`. */
  | {
      readonly type: "join";
      readonly call: number;
      readonly secretHash: string;
      readonly name: string;
      readonly ip: string;
    }
  /** Asks for a public name, before an agent is told that it has it; answered by `claimed`. */
  | { readonly type: "claim"; readonly call: number; readonly claim: Claim }
  /** The news up to this number are in effect. */
  | { readonly type: "directory_taken"; readonly number: number }
  /** The tunnel that a name was granted to will not be opened. */
  | { readonly type: "claim_dropped"; readonly tunnelId: string }
  | {
      readonly type: "command_result";
      readonly call: number;
      /** What the agent says where it was asked something, as it came: a stranger's. */
      readonly text?: string;
      readonly error?: { readonly reason: CommandFailure; readonly message: string };
    }
  | { readonly type: "metrics"; readonly call: number; readonly text: string }
  /** Finished traffic, batches numbered from 1; and how many reports of an account were dropped before. */
  | {
      readonly type: "traffic";
      readonly batch: number;
      readonly reports: readonly TrafficReport[];
      readonly dropped: readonly (readonly [accountId: string, count: number])[];
    }
  /** Undefined when the edge failed to find out. */
  | { readonly type: "answer"; readonly call: number; readonly answer: EdgeAnswer | undefined };

/** Why something of the configuration could not be put into effect; `message` undefined clears it. */
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
  /** `handler` is called each time that the other end has gone; another may take its place. */
  lost?(handler: () => void): void;
}
