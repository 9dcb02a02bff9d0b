/** Limits per agent and per address, and the properties of each kind of agent. */
import type { AgentKind } from "./tunnel-messages.ts";

export interface TunnelLimits {
  /** Maximum time from the end of the TLS handshake to a complete Auth (A11). */
  readonly authenticationMs: number;
  /** Maximum size of Auth, bytes (G1). */
  readonly maxAuthBytes: number;
  /** Maximum number of streams of an unauthenticated connection. */
  readonly maxUnauthenticatedStreams: number;
  /** Maximum number of unauthenticated connections, per address and in total. */
  readonly maxUnauthenticatedPerAddress: number;
  readonly maxUnauthenticated: number;
  /**
   * Maximum number of wrong tokens per address within `wrongTokenWindowMs`. Further connections are closed immediately.
   */
  readonly maxWrongTokens: number;
  readonly wrongTokenWindowMs: number;
  /** Maximum number of open streams of an agent. */
  readonly maxAgentStreams: number;
  /** Maximum rate of new streams of an agent: average and burst. Above it the session ends. */
  readonly agentStreamsPerSecond: number;
  readonly agentStreamBurst: number;
  /** Maximum rate of answered messages per agent: average and burst. Further messages wait. */
  readonly messagesPerSecond: number;
  readonly messageBurst: number;
  /** Maximum time from the opening of an agent's stream to its complete message. */
  readonly messageMs: number;
  /** Maximum total size of a session's messages that are incomplete or wait, bytes. */
  readonly maxWaitingMessages: number;
  readonly maxTunnels: number;
  /** Maximum number and waiting time of public connections that wait for a stream, per session. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
  /** Maximum time in which the holder of a requested name must show that it is alive. */
  readonly askMs: number;
  /** Maximum number of sessions that are checked for one bind. Further sessions count as alive. */
  readonly maxAsked: number;
  /** Maximum time for an agent to run a command. */
  readonly commandMs: number;
  /** Maximum time for an agent to return or replay a captured request. */
  readonly exchangeMs: number;
  /**
   * Maximum window of one stream to an agent that supports larger windows, and maximum total growth per session, bytes.
   */
  readonly maxWindow: number;
  readonly windowBudget: number;
  /** Maximum number of open proxied streams. */
  readonly maxStreams: Readonly<Record<AgentKind, number>>;
  /**
   * Maximum number of open proxied streams including closed ones that the agent may still hold. Rust agents end the
   * session at the 513th stream of both sides together. They drop streams of disconnected clients only when their
   * service ends them (A3).
   */
  readonly maxHeld: Readonly<Record<AgentKind, number>>;
  /** Maximum number of streams per tunnel that the agent has not accepted (A5). Go agents reset streams beyond 128. */
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

/** Agents choose their heartbeat within these limits (§3). */
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
