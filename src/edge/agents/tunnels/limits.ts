/** Bounds on what agents may hold (D9, G1). */
export interface AgentLimits {
  readonly sessionsPerAccount: number;
  readonly tunnelsPerSession: number;
  readonly tunnelsPerAccount: number;
  readonly labelsPerTunnel: number;
  /** UTF-8 bytes of one label's name, and of its value. */
  readonly labelBytes: number;
  /** Questions to agents about what they have kept of requests, and replays, that are under way; of all accounts together. */
  readonly exchanges: number;
  readonly exchangesPerAccount: number;
  /** How long what is under way through a tunnel may go on when its agent has taken it away, milliseconds. */
  readonly finishMs: number;
  /** UTF-8 bytes of a tunnel's or session's metadata, and of `forwardsTo`. */
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
