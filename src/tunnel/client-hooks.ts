/** What the agent's side of the protocol is asked for and tells; the counterpart of server-hooks.ts. */
import type { ByteStream } from "../lib/io/byte-stream.ts";
import type { Clock } from "../lib/clock.ts";
import type { SessionCommand } from "../routing/planes/messages.ts";
import type { AnswerExchange } from "./exchange-question.ts";
import type { ProxiedHeader } from "./proxy-header.ts";

export interface ClientOptions {
  readonly clock: Clock;
  readonly token: string;
  /** Of the session to resume, with its `cookie`; "" for a new one. */
  readonly clientId: string;
  readonly cookie: string;
  readonly metadata: string;
  /** 32 hex digits, the same for all sessions that have their tunnels together; a session by itself unless given. */
  readonly agentId?: string;
  /** The agent's own version. */
  readonly version: string;
  readonly os: string;
  readonly arch: string;
  /** Commands that this agent carries out. */
  readonly commands: readonly SessionCommand["name"][];
  /** 10 s and 15 s unless given. */
  readonly heartbeatIntervalMs?: number;
  readonly heartbeatToleranceMs?: number;
  /** How long the server may take to answer a question; 30 s unless given. */
  readonly answerMs?: number;
  /** The same for the first question, whether the token is known; as the others unless given. */
  readonly loginMs?: number | undefined;
}

export interface ClientHandlers {
  /**
   * A public connection to a tunnel of this session. The receiver must be set before returning, for bytes may follow
   * at once.
   */
  proxied(tunnelId: string, header: ProxiedHeader, stream: ByteStream): void;
  /** Carries a command out; its failure is told to whoever asked for it. */
  command(command: SessionCommand): Promise<void>;
  /** Says what has been kept of a request, or sends it again; without it the server is told that nobody can be asked. */
  exchange?: AnswerExchange;
  /** The server is about to stop: another session is to be opened elsewhere, beside this one, which it will close. */
  moveAway?(): void;
  /** How long requests took at the server, of tunnels that want it told: lines as `request-times.ts` has them. */
  times?(lines: Buffer): void;
  /** The server ended a tunnel. */
  stopped(tunnelId: string, message: string, code: string): void;
  /** A handler or a receiver threw; the session is over if that was in the middle of its input. */
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
  /** Further options, as the protocol names them (agent-protocol, "Options of a tunnel"). */
  readonly options?: Readonly<Record<string, unknown>>;
  /** As JSON or YAML. */
  readonly trafficPolicy?: string;
  /** `public`, `internal`; the server's own choice unless given. */
  readonly bindings?: readonly string[];
  /** What the endpoint is for. */
  readonly description?: string;
  /** Others of the account may serve the same URL, if they ask for it as well. */
  readonly pooling?: boolean;
  /** The server is to tell how long its requests took there; of one that cannot nothing is asked. */
  readonly wantsTimes?: boolean;
  /** What an earlier session was given, to get it again. */
  readonly resume?: { readonly id: string; readonly token: string };
}

export interface BoundTunnel {
  readonly id: string;
  readonly url: string;
  readonly hostname: string;
  readonly address: string;
  /** Proves the id after a reconnect. */
  readonly token: string;
}

export interface ClientLabelled {
  readonly labels: Readonly<Record<string, string>>;
  readonly forwardsTo: string;
  readonly forwardsProto?: "" | "http1" | "http2";
  readonly metadata?: string;
  readonly proxyProtocol?: 0 | 1 | 2;
  /** As of a bind. */
  readonly wantsTimes?: boolean;
}

/** As in `ClientSession`. */
export type ServerCount = Pick<ClientSession, "edges" | "nodes">;

export interface ClientSession {
  /** To resume the session with, together with `cookie`. */
  readonly clientId: string;
  readonly cookie: string;
  readonly accountName: string;
  readonly region: string;
  readonly serverVersion: string;
  /** The server's wall clock when it answered, milliseconds since 1970; 0: it does not say. */
  readonly serverTime: number;
  /** How many edges the server has: with a session at each, requests need no hop between them. */
  readonly edges: number;
  /** Which of them this session is at; "" where there is one. */
  readonly edgeId: string;
  /** Of how many nodes the server is one; 0 for one that is by itself. */
  readonly nodes: number;
  /** Which of them this session is at. */
  readonly nodeId: string;
  /** How many edges and nodes there are now. */
  count(): Promise<ServerCount>;
  /**
   * Rejects with `Refusal` when the server names a reason of the catalogue. `bound` is called in the turn of the answer,
   * before anything that comes for the tunnel.
   */
  bind(request: ClientBind, bound?: (tunnel: BoundTunnel) => void): Promise<BoundTunnel>;
  /** The tunnel's id; `started` as for `bind`. */
  startLabelled(request: ClientLabelled, started?: (id: string) => void): Promise<string>;
  /** Puts another traffic policy into effect; the present one stays when it is refused. */
  changePolicy(tunnelId: string, trafficPolicy: string): Promise<void>;
  /** The server sends nothing more; what is under way goes on. */
  unbind(tunnelId: string): Promise<void>;
  close(): void;
  /** Public connections that are under way. */
  readonly openStreams: number;
  /** Shortest round trip seen, milliseconds; 0 while unknown. */
  readonly roundTripMs: number;
}
