/** Limits of agents (D9, G1). */
export interface AgentLimits {
  readonly sessionsPerAccount: number;
  readonly tunnelsPerSession: number;
  readonly tunnelsPerAccount: number;
  readonly labelsPerTunnel: number;
  /** Maximum size of a label's name, and of its value, UTF-8 bytes. */
  readonly labelBytes: number;
  /** Maximum number of pending questions to agents about captured requests, and of replays, over all accounts. */
  readonly exchanges: number;
  readonly exchangesPerAccount: number;
  /** Maximum time for traffic to finish after the agent closed its tunnel, milliseconds. */
  readonly finishMs: number;
  /** Maximum size of a tunnel's or session's metadata, and of `forwardsTo`, UTF-8 bytes. */
  readonly textBytes: number;
}

export const defaultAgentLimits: AgentLimits = Object.freeze({
  sessionsPerAccount: 10_000,
  tunnelsPerSession: 2_000,
  tunnelsPerAccount: 50_000,
  labelsPerTunnel: 32,
  labelBytes: 255,
  exchanges: 32,
  exchangesPerAccount: 4,
  finishMs: 60_000,
  textBytes: 4096,
});
