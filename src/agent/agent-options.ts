import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { ConnectOptions, ServerAddress } from "./connect.ts";
import type { ExchangeKeeper } from "./exchange-keeper.ts";
import type { TunnelOptions } from "./tunnel-options.ts";

export interface AgentOptions {
  readonly server: ServerAddress;
  /** Servers to try in turn when `server` cannot be reached, takes no agents, or is about to stop. */
  readonly otherServers?: readonly ServerAddress[];
  /**
   * Number of simultaneous sessions. Default: the number of the server's edges, at most `usualConnections`. With more
   * than one, the agent tells the server which sessions belong together. The sessions start at the servers in turn.
   */
  readonly connections?: number | undefined;
  /** CA that must have issued the server's certificate, PEM. Default: the system's CAs. */
  readonly ca: string | undefined;
  readonly token: string;
  /** How to connect to the server. Default: as the system is configured. */
  readonly connect?: ConnectOptions;
  /** Shown with the session in the API. */
  readonly metadata: string;
  /** The tunnels to publish. Without tunnels the agent only keeps a session. */
  readonly tunnels: readonly TunnelOptions[];
  /** Whether the server may stop the agent, make it reconnect, and read its `exchanges`. Default: true. */
  readonly remoteManagement?: boolean;
  /** Default: 10 s, with a tolerance of 15 s. */
  readonly heartbeatIntervalMs?: number;
  readonly heartbeatToleranceMs?: number;
  /** Time limit for an answer of the server, milliseconds. Default: 30 s. */
  readonly answerMs?: number;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Time that open connections get when a session ends, milliseconds. Default: 10 s. */
  readonly finishMs?: number;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Whether to retry when the very first connection fails. */
  readonly retryFirst: boolean;
  /** How long to retry without a session, milliseconds. Default: no limit. */
  readonly giveUpMs?: number | undefined;
  readonly status: (status: AgentStatus) => void;
  /** Answers questions about captured requests and replays them. Without it nothing is captured. */
  readonly exchanges?: ExchangeKeeper | undefined;
  /**
   * Receives the time that requests took at the server, for tunnels with `wantsTimes`, in the format of
   * `tunnel/request-times.ts`.
   */
  readonly requestTimes?: ((lines: Buffer) => void) | undefined;
}

export type AgentStatus =
  | { readonly state: "connecting" }
  | {
      readonly state: "online";
      /** Round-trip time to the server, measured during authentication. */
      readonly latencyMs: number;
    }
  | {
      readonly state: "waiting";
      readonly reason: string;
      readonly pauseMs: number;
      /** When the last session ended, as `Clock.now` returns it. */
      readonly since: number;
    };
