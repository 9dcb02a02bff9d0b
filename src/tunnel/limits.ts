/** How much one agent, or one address, may ask of the server; and what is known of each kind of agent. */
import type { AgentKind } from "./messages.ts";

export interface TunnelLimits {
  /** From the end of the TLS handshake to a complete Auth (A11). */
  readonly authenticationMs: number;
  /** Largest Auth, bytes (G1). */
  readonly maxAuthBytes: number;
  /** Streams of a connection that has not authenticated. */
  readonly maxUnauthenticatedStreams: number;
  /** Connections that have not authenticated: of one address, and of all. */
  readonly maxUnauthenticatedPerAddress: number;
  readonly maxUnauthenticated: number;
  /** Wrong tokens of one address within `wrongTokenWindowMs`; then its connections are closed unheard. */
  readonly maxWrongTokens: number;
  readonly wrongTokenWindowMs: number;
  /** Streams that an agent has open at once. */
  readonly maxAgentStreams: number;
  /** Streams that an agent opens: on average, and at once. Beyond it the session ends. */
  readonly agentStreamsPerSecond: number;
  readonly agentStreamBurst: number;
  /** Messages that an agent has answered: on average, and at once. Beyond it they wait. */
  readonly messagesPerSecond: number;
  readonly messageBurst: number;
  /** From the opening of an agent's stream until its message is whole. */
  readonly messageMs: number;
  /** Of a session's messages that are not whole, or wait for their turn, together, bytes. */
  readonly maxWaitingMessages: number;
  readonly maxTunnels: number;
  /** Public connections that wait for a stream, per session, and for how long. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
  /** How long the holder of a name that another agent asks for may take to show that it is there. */
  readonly askMs: number;
  /** Sessions that are asked so for one bind; those beyond count as being there. */
  readonly maxAsked: number;
  /** How long an agent may take to carry out a command. */
  readonly commandMs: number;
  /** How long it may take to say what it has kept of a request, and to send that again. */
  readonly exchangeMs: number;
  /** Largest window of one stream to an agent that can grow it, bytes; and the sum of what is grown per session. */
  readonly maxWindow: number;
  readonly windowBudget: number;
  /** Proxied streams open at once. */
  readonly maxStreams: Readonly<Record<AgentKind, number>>;
  /**
   * The same with those that we are done with and that the agent may still have: Rust agents end the session at the
   * 513th of both sides together, and drop those of clients that went away only when their service ends them (A3).
   */
  readonly maxHeld: Readonly<Record<AgentKind, number>>;
  /** Streams of one tunnel that the agent has not taken up (A5); beyond 128, Go agents reset them. */
  readonly maxUnaccepted: Readonly<Record<AgentKind, number>>;
}

export const defaultTunnelLimits: TunnelLimits = {
  authenticationMs: 10_000,
  maxAuthBytes: 16 * 1024,
  maxUnauthenticatedStreams: 8,
  maxUnauthenticatedPerAddress: 64,
  maxUnauthenticated: 4096,
  maxWrongTokens: 60,
  wrongTokenWindowMs: 60_000,
  maxAgentStreams: 128,
  agentStreamsPerSecond: 200,
  agentStreamBurst: 5000,
  messagesPerSecond: 100,
  messageBurst: 2500,
  messageMs: 30_000,
  maxWaitingMessages: 16 * 1024 * 1024,
  maxTunnels: 2048,
  maxWaiting: 1024,
  maxWaitMs: 10_000,
  askMs: 2000,
  maxAsked: 16,
  commandMs: 10_000,
  exchangeMs: 12_000,
  maxWindow: 16 * 1024 * 1024,
  windowBudget: 64 * 1024 * 1024,
  maxStreams: { rust: 240, go: 1024, postern: 16_384 },
  maxHeld: { rust: 400, go: Infinity, postern: Infinity },
  maxUnaccepted: { rust: 48, go: 96, postern: 16_384 },
};

/** Agents choose their heartbeat (§3), within reason. */
const defaultIntervalMs = 10_000;
const defaultToleranceMs = 15_000;

export function heartbeatOf(agent: { readonly heartbeatIntervalMs: number; readonly heartbeatToleranceMs: number }): {
  readonly intervalMs: number;
  readonly toleranceMs: number;
} {
  const within = (value: number, fallback: number): number => Math.min(60_000, Math.max(1000, value || fallback));
  return {
    intervalMs: within(agent.heartbeatIntervalMs, defaultIntervalMs),
    toleranceMs: within(agent.heartbeatToleranceMs, defaultToleranceMs),
  };
}
