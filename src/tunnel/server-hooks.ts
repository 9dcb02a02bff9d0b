/** What the tunnel protocol's server side asks of whoever keeps the register of agents (the edge). */
import type { ByteStream } from "../lib/io/byte-stream.ts";
import type { RefusalName } from "../lib/errors.ts";
import type { AgentCommand } from "../routing/planes/messages.ts";

export interface AuthRequest {
  readonly token: string;
  /** "" for a new session, else the id of the one that is resumed; already proven by its cookie. */
  readonly resumes: string;
  readonly agentVersion: string;
  readonly os: string;
  readonly metadata: string;
  /** The peer's address as text. */
  readonly ip: string;
}

export interface BindRequest {
  /** The id from before a reconnect, proven by its token; "" for a new tunnel. */
  readonly id: string;
  readonly proto: "http" | "https" | "tcp" | "tls";
  /** Requested host name without port, or "". */
  readonly hostname: string;
  /** First label under the server's domain, or "". */
  readonly subdomain: string;
  /** Port in the requested URL of a tunnel that is not tcp; undefined for whichever it is published at. */
  readonly port?: number;
  /** Requested `host:port` of a tcp tunnel, or "". */
  readonly address: string;
  readonly forwardsTo: string;
  readonly forwardsProto: "" | "http1" | "http2";
  /** Only policies of the account reach it. */
  readonly isInternal?: boolean;
  /** Everybody is to reach it, and the agent has said so. */
  readonly isPublic?: boolean;
  /** Other endpoints of the account that ask for it as well may serve the same URL. */
  readonly pools?: boolean;
  /** What the endpoint is called, and what it is for; "" or absent where the agent does not say. */
  readonly name?: string;
  readonly description?: string;
  readonly metadata: string;
  /** 0, 1 or 2: PROXY protocol header to write before the bytes of each stream, of HTTP ones too. */
  readonly proxyProtocol: 0 | 1 | 2;
  /** Our own agent, to show it: how long its requests took at the edge. */
  readonly wantsTimes?: boolean;
  /** Options of the agent as sent, for what the register supports. */
  readonly options: Readonly<Record<string, unknown>>;
}

export interface LabelRequest {
  readonly labels: Readonly<Record<string, string>>;
  readonly forwardsTo: string;
  readonly forwardsProto: "" | "http1" | "http2";
  readonly metadata: string;
  /** As of a bind; only our own agent asks for it. */
  readonly proxyProtocol?: 0 | 1 | 2;
  /** As of a bind. */
  readonly wantsTimes?: boolean;
}

/** What becomes of a tunnel that is open; absent members stay as they are. */
export interface TunnelChange {
  readonly name?: string;
  readonly description?: string;
  readonly metadata?: string;
  /** JSON or YAML; "" for none. */
  readonly trafficPolicy?: string;
  readonly pools?: boolean;
}

/** Whether the agents of sessions were there when they were asked. */
export type Asked = ReadonlyMap<AgentSession, boolean>;

/** What has come of the claim of a name, over the repetitions of one bind: the register's own notes. */
export interface BindProgress {
  granted?: { readonly name: string; readonly replaces: readonly string[] } | undefined;
  conflicts?: number;
  isSilent?: boolean;
  /** What the answer waits for, once there is a tunnel: calls `done` once and soon. */
  ready?: (done: () => void) => void;
  /** What was compiled beforehand, held until the options are; absent while nothing was. */
  prepared?: unknown;
}

/** A name must be claimed first, or options be compiled: then the bind is repeated. */
export interface Unclaimed {
  /** Calls `done` once and soon. */
  claim(done: () => void): void;
}

export interface Bound {
  readonly url: string;
  readonly hostname: string;
  readonly address: string;
}

/** An agent without a token: it brings the secret of an invitation instead. */
export interface JoinRequest {
  /** SHA-256 of the secret, hexadecimal. */
  readonly secretHash: string;
  readonly name: string;
  /** The peer's address as text. */
  readonly ip: string;
}

export interface ServerHooks {
  /** Returns the token of a new credential. Rejects with `Refusal` (agent_code_unknown, agent_join_unavailable). */
  join(request: JoinRequest): Promise<{ readonly token: string; readonly accountName: string }>;
  /** Throws `Refusal`. Called with a proven `resumes`; a live session of that id is replaced (A9). */
  authenticate(request: AuthRequest): {
    readonly accountId: string;
    readonly accountName: string;
    readonly credentialId: string;
  };
  opened(session: AgentSession): void;
  /**
   * Throws `Refusal`. `id` is the one to use: new ones are made by the protocol layer. Where another session of the same
   * credential serves what is asked for, and it is not known whether its agent is there, nothing is bound: the answer
   * names the session to be asked, and the bind is repeated with what `asked` says of it. Likewise a claim; `progress`
   * is the same for all repetitions.
   */
  bind(
    session: AgentSession,
    id: string,
    request: BindRequest,
    asked: Asked,
    progress?: BindProgress,
  ): Bound | { readonly ask: AgentSession } | Unclaimed;
  /** A bind is not repeated any more: its agent has gone meanwhile. */
  abandoned(id: string, progress: BindProgress): void;
  label(session: AgentSession, id: string, request: LabelRequest, progress?: BindProgress): void;
  /** Throws `Refusal`: the tunnel is then as it was. Repeated like a bind. */
  patch(session: AgentSession, tunnelId: string, change: TunnelChange, progress?: BindProgress): Unclaimed | undefined;
  /** The agent or the end of its session takes a tunnel away. */
  unbind(session: AgentSession, tunnelId: string): void;
  /** Called once; every tunnel was unbound before. */
  closed(session: AgentSession): void;
}

/** Why there is no stream: its tunnel or session has ended, or its agent can take no more for now. */
export type NoStream = "tunnel_gone" | "tunnel_busy";

/** Called once, unless what waits is withdrawn; without a stream there is a reason. */
export type TakeStream = (stream: ByteStream | undefined, why?: NoStream) => void;

/** A stream that is waited for. */
export interface PendingStream {
  /** Nobody wants it any more: it is not opened, and `take` is not called. False when that is too late. */
  withdraw(): boolean;
}

/** One authenticated agent connection. */
export interface AgentSession {
  readonly id: string;
  readonly accountId: string;
  readonly credentialId: string;
  /** The same for all sessions of one agent, which have its tunnels together; "" for a session by itself. */
  readonly agentId: string;
  readonly agentVersion: string;
  readonly os: string;
  readonly metadata: string;
  readonly ip: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Proxied streams open now. */
  readonly openStreams: number;
  /**
   * A stream for one public connection, or for HTTP requests one after another, given to `take` as soon as there is
   * one, often before this returns. Waits for a free slot when the agent has as many as it can take (A3, A5), and
   * then returns what waits.
   */
  openProxy(header: ProxyHeader, take: TakeStream): PendingStream | undefined;
  /** Asks the agent for a sign of life, and calls `done` once and soon with whether it came. */
  ask(done: (isThere: boolean) => void): void;
  /**
   * Resolves with what the agent says where it was asked something. Rejects with `Refusal` (command_unsupported,
   * command_failed, command_timeout, exchange_unsupported, exchange_agent_gone).
   */
  command(command: AgentCommand): Promise<string | undefined>;
  /**
   * Tells an agent that can have two sessions to open another one elsewhere; it stays here until this one is closed. Of
   * others, which would leave at once, nothing is asked.
   */
  moveAway(): void;
  /** Tells the agent that a tunnel is over, where it understands that. */
  stopTunnel(tunnelId: string, message: string, reason: RefusalName): void;
  /** Tells the agent how long requests took here, of tunnels that want it: lines as `request-times.ts` has them. */
  tellTimes(lines: string): void;
  /** Says goodbye and closes the connection. */
  close(reason: string): void;
}

export interface ProxyHeader {
  readonly tunnelId: string;
  /** `ip:port` or `[v6]:port`. */
  readonly clientAddress: string;
  readonly proto: "http" | "https" | "tcp" | "tls";
  readonly edgeType: "endpoint" | "tcp_edge" | "tls_edge" | "https_edge";
  readonly passthroughTls: boolean;
  /** PROXY protocol header that follows the JSON header, when the tunnel asked for one. */
  readonly preamble?: Uint8Array;
}
