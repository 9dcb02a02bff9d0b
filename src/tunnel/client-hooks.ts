/** Interface of the protocol's agent side; the counterpart of server-hooks.ts. */
import type { ByteStream } from "../lib/io/byte-stream.ts";
import type { Clock } from "../lib/clock.ts";
import type { SessionCommand } from "../routing/planes/messages.ts";
import type { AnswerExchange } from "./exchange-question.ts";
import type { ProxiedHeader } from "./proxy-header.ts";

export interface ClientOptions {
  readonly clock: Clock;
  readonly token: string;
  /** Id of the session to resume, with its `cookie`; "" for a new session. */
  readonly clientId: string;
  readonly cookie: string;
  readonly metadata: string;
  /** 32 hex digits, the same for all sessions that share their tunnels. Default: a session without others. */
  readonly agentId?: string;
  /** Version of the agent. */
  readonly version: string;
  readonly os: string;
  readonly arch: string;
  /** Commands that this agent supports. */
  readonly commands: readonly SessionCommand["name"][];
  /** Default: 10 s and 15 s. */
  readonly heartbeatIntervalMs?: number;
  readonly heartbeatToleranceMs?: number;
  /** Maximum time for the server's response. Default: 30 s. */
  readonly answerMs?: number;
  /** Maximum time for the response to the login, which checks the token. Default: as for other requests. */
  readonly loginMs?: number | undefined;
  /** Maximum growth of all receive windows, bytes. Default: 64 MiB. */
  readonly windowBudget?: number;
}

export interface ClientHandlers {
  /**
   * Called for a public connection to a tunnel of this session. Set the receiver before returning, because bytes may
   * follow immediately.
   */
  proxied(tunnelId: string, header: ProxiedHeader, stream: ByteStream): void;
  /** Runs a command. The server receives its failure. */
  command(command: SessionCommand): Promise<void>;
  /** Returns captured requests or replays one. Without it, the agent declares that it supports neither. */
  exchange?: AnswerExchange;
  /** The server is about to stop. Open another session elsewhere beside this one, which the server will close. */
  moveAway?(): void;
  /** Receives request times at the server, for tunnels that requested them, as lines of `request-times.ts`. */
  times?(lines: Buffer): void;
  /** The server ended a tunnel. */
  stopped(tunnelId: string, message: string, code: string): void;
  /** Called when a handler or receiver threw. If that interrupted its input, the session ends. */
  bug?(error: unknown): void;
  /** Called once. `error` unless `close` was called. */
  closed(error: Error | undefined): void;
}

export interface ClientBind {
  readonly proto: "http" | "https" | "tcp" | "tls";
  readonly hostname?: string;
  readonly subdomain?: string;
  /** `host:port` of a tcp tunnel. */
  readonly address?: string;
  readonly forwardsTo: string;
  readonly forwardsProto?: "" | "http1" | "http2";
  readonly metadata?: string;
  readonly proxyProtocol?: 0 | 1 | 2;
  /** Additional options, by their protocol names (agent-protocol, "Options of a tunnel"). */
  readonly options?: Readonly<Record<string, unknown>>;
  /** JSON or YAML. */
  readonly trafficPolicy?: string;
  /** `public`, `internal`. Default: the server's choice. */
  readonly bindings?: readonly string[];
  /** Description of the endpoint. */
  readonly description?: string;
  /** Whether other endpoints of the account may serve the same URL, if they also set this. */
  readonly pooling?: boolean;
  /** Whether the server should report its request times. Ignored for servers that cannot. */
  readonly wantsTimes?: boolean;
  /** Values from an earlier session, to restore the tunnel. */
  readonly resume?: { readonly id: string; readonly token: string };
}

export interface BoundTunnel {
  readonly id: string;
  readonly url: string;
  readonly hostname: string;
  readonly address: string;
  /** Proves ownership of the id after a reconnect. */
  readonly token: string;
}

export interface ClientLabelled {
  readonly labels: Readonly<Record<string, string>>;
  readonly forwardsTo: string;
  readonly forwardsProto?: "" | "http1" | "http2";
  readonly metadata?: string;
  readonly proxyProtocol?: 0 | 1 | 2;
  /** Like `wantsTimes` of a bind. */
  readonly wantsTimes?: boolean;
}

/** Like the members of `ClientSession`. */
export interface ServerCount extends Pick<ClientSession, "edges" | "nodes"> {
  /** Names the edges of the session's node. Changes when one of them starts again; "" from an earlier server. */
  readonly edgeSet: string;
}

export interface ClientSession {
  /** Resumes the session, together with `cookie`. */
  readonly clientId: string;
  readonly cookie: string;
  readonly accountName: string;
  readonly region: string;
  readonly serverVersion: string;
  /** The server's wall clock at its response, milliseconds since 1970; 0 if not sent. */
  readonly serverTime: number;
  /** Number of the server's edges. With a session at each, requests need no hop between edges. */
  readonly edges: number;
  /** Edge of this session; "" for a server with one edge. */
  readonly edgeId: string;
  /** Number of the server's nodes; 0 for a server without a cluster. */
  readonly nodes: number;
  /** Node of this session. */
  readonly nodeId: string;
  /** Returns the current number of edges and nodes. */
  count(): Promise<ServerCount>;
  /**
   * Rejects with `Refusal` if the server sends a reason of the catalogue. `bound` is called in the same turn as the
   * response, before anything else arrives for the tunnel.
   */
  bind(request: ClientBind, bound?: (tunnel: BoundTunnel) => void): Promise<BoundTunnel>;
  /** Returns the tunnel's id. `started` is called like `bound` of `bind`. */
  startLabelled(request: ClientLabelled, started?: (id: string) => void): Promise<string>;
  /** Replaces the traffic policy. If the server refuses the new policy, the old one remains. */
  changePolicy(tunnelId: string, trafficPolicy: string): Promise<void>;
  /** The server opens no more streams for the tunnel. Open streams continue. */
  unbind(tunnelId: string): Promise<void>;
  close(): void;
  /** Number of open public connections. */
  readonly openStreams: number;
  /** Shortest measured round trip, milliseconds; 0 if unknown. */
  readonly roundTripMs: number;
}
