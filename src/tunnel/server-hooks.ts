/** Interface between the protocol's server side and the register of agents (the edge). */
import type { ByteStream } from "../lib/io/byte-stream.ts";
import type { RefusalName } from "../lib/errors.ts";
import type { AgentInboxAnswer, AgentInboxVerb, AgentInboxWebhook } from "../routing/planes/inbox-questions.ts";
import type { AgentCommand } from "../routing/planes/messages.ts";
import type { GatewayLogin } from "./gateway-login.ts";

export interface AuthRequest {
  readonly token: string;
  /** "" for a new session, else the id of the resumed session, already proven by its cookie. */
  readonly resumes: string;
  readonly agentVersion: string;
  readonly os: string;
  readonly metadata: string;
  /** The peer's address as text. */
  readonly ip: string;
  /** Set for a client of the SSH listener, in place of a token. */
  readonly gateway?: GatewayLogin | undefined;
}

export interface BindRequest {
  /** Id from before a reconnect, proven by its token; "" for a new tunnel. */
  readonly id: string;
  readonly proto: "http" | "https" | "tcp" | "tls";
  /** Requested host name without port, or "". */
  readonly hostname: string;
  /** First label under the server's domain, or "". */
  readonly subdomain: string;
  /** Port in the requested URL of a tunnel other than tcp; undefined for the default. */
  readonly port?: number;
  /** Requested `host:port` of a tcp tunnel, or "". */
  readonly address: string;
  readonly forwardsTo: string;
  readonly forwardsProto: "" | "http1" | "http2";
  /** Whether only policies of the account reach it. */
  readonly isInternal?: boolean;
  /** Whether the agent explicitly requested a public endpoint. */
  readonly isPublic?: boolean;
  /** Whether other endpoints of the account may serve the same URL, if they also set this. */
  readonly pools?: boolean;
  /** Name and description of the endpoint; "" or absent if the agent sends none. */
  readonly name?: string;
  readonly description?: string;
  readonly metadata: string;
  /** 0, 1 or 2: version of the PROXY protocol header before the bytes of each stream, including HTTP. */
  readonly proxyProtocol: 0 | 1 | 2;
  /** Set by the Postern agent to show how long its requests took at the edge. */
  readonly wantsTimes?: boolean;
  /** Options as the agent sent them, for features of the register. */
  readonly options: Readonly<Record<string, unknown>>;
}

export interface LabelRequest {
  readonly labels: Readonly<Record<string, string>>;
  readonly forwardsTo: string;
  readonly forwardsProto: "" | "http1" | "http2";
  readonly metadata: string;
  /** Like `proxyProtocol` of a bind. Only the Postern agent sets it. */
  readonly proxyProtocol?: 0 | 1 | 2;
  /** Like `wantsTimes` of a bind. */
  readonly wantsTimes?: boolean;
}

/** Changes of an open tunnel. Absent members stay the same. */
export interface TunnelChange {
  readonly name?: string;
  readonly description?: string;
  readonly metadata?: string;
  /** JSON or YAML; "" for no policy. */
  readonly trafficPolicy?: string;
  readonly pools?: boolean;
}

/** Whether the agents of sessions answered the liveness check. */
export type LivenessAnswers = ReadonlyMap<AgentSession, boolean>;

/** State of the name's claim across the repetitions of one bind, used by the register. */
export interface BindProgress {
  granted?: { readonly name: string; readonly replaces: readonly string[] } | undefined;
  conflicts?: number;
  isSilent?: boolean;
  /** Set if the response must wait after the tunnel exists: calls `done` once and soon. */
  ready?: (done: () => void) => void;
  /** Result of an earlier compilation, held until the options are compiled; absent before. */
  prepared?: unknown;
}

/** A name must be claimed first, or options compiled. Then the bind is repeated. */
export interface Unclaimed {
  /** Calls `done` once and soon. */
  claim(done: () => void): void;
}

export interface Bound {
  readonly url: string;
  readonly hostname: string;
  readonly address: string;
}

/** An agent without a token joins with the secret of an invitation. */
export interface JoinRequest {
  /** SHA-256 of the secret, hexadecimal. */
  readonly secretHash: string;
  readonly name: string;
  /** The peer's address as text. */
  readonly ip: string;
}

/** A question of an agent about its inbox, without a session. */
export interface InboxRequest {
  readonly token: string;
  readonly verb: AgentInboxVerb;
  /** Requested host name without port; "" for a generated one. */
  readonly hostname: string;
  /** Port in the requested URL; undefined for the default. */
  readonly port: number | undefined;
  /** What the generated name follows from, with the token. */
  readonly name: string;
  readonly webhooks: readonly AgentInboxWebhook[];
  /** The peer's address as text. */
  readonly ip: string;
}

export interface ServerHooks {
  /** Rejects with `Refusal`. */
  inbox(request: InboxRequest): Promise<AgentInboxAnswer>;
  /** Returns the token of a new credential. Rejects with `Refusal` (agent_code_unknown, agent_join_unavailable). */
  join(request: JoinRequest): Promise<{ readonly token: string; readonly accountName: string }>;
  /** Throws `Refusal`. Called with a proven `resumes`; a live session with that id is replaced (A9). */
  authenticate(request: AuthRequest): {
    readonly accountId: string;
    readonly accountName: string;
    readonly credentialId: string;
  };
  opened(session: AgentSession): void;
  /**
   * Throws `Refusal`. `id` is the id to use; the protocol layer creates new ones. If another session of the same
   * credential may serve the name, nothing is bound. The result names the session to check, and the bind is repeated
   * with the result in `asked`. A claim works the same way. `progress` is the same for all repetitions.
   */
  bind(
    session: AgentSession,
    id: string,
    request: BindRequest,
    asked: LivenessAnswers,
    progress?: BindProgress,
  ): Bound | { readonly ask: AgentSession } | Unclaimed;
  /** The bind is not repeated, because its agent has disconnected. */
  abandoned(id: string, progress: BindProgress): void;
  label(session: AgentSession, id: string, request: LabelRequest, progress?: BindProgress): void;
  /** Throws `Refusal` and leaves the tunnel unchanged. Repeated like a bind. */
  patch(session: AgentSession, tunnelId: string, change: TunnelChange, progress?: BindProgress): Unclaimed | undefined;
  /** The agent or the end of its session removes a tunnel. */
  unbind(session: AgentSession, tunnelId: string): void;
  /** Called once, after every tunnel was unbound. */
  closed(session: AgentSession): void;
}

/** Why no stream is available: the tunnel or session has ended, or the agent has reached a limit. */
export type NoStream = "tunnel_gone" | "tunnel_busy";

/** Called once, unless the wait is withdrawn. Without a stream there is a reason. */
export type TakeStream = (stream: ByteStream | undefined, why?: NoStream) => void;

/** A wait for a stream. */
export interface PendingStream {
  /** Cancels the wait: no stream is opened and `take` is not called. Returns false if it is too late. */
  withdraw(): boolean;
}

/** One authenticated agent connection. */
export interface AgentSession {
  readonly id: string;
  readonly accountId: string;
  readonly credentialId: string;
  /** The same for all sessions of one agent, which share its tunnels; "" for a single session. */
  readonly agentId: string;
  readonly agentVersion: string;
  readonly os: string;
  readonly metadata: string;
  readonly ip: string;
  /** Whether it is a client of the SSH listener. */
  readonly isSsh?: boolean;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Number of open proxied streams. */
  readonly openStreams: number;
  /**
   * Opens a stream for one public connection, or for consecutive HTTP requests. `take` receives it as soon as possible,
   * often before this function returns. If the agent is at its limit (A3, A5), the call waits for a free slot and
   * returns the wait.
   */
  openProxy(header: ProxyHeader, take: TakeStream): PendingStream | undefined;
  /** Checks that the agent is alive, and calls `done` once and soon with the result. */
  ask(done: (isThere: boolean) => void): void;
  /**
   * Resolves with the agent's response to a question. Rejects with `Refusal` (command_unsupported, command_failed,
   * command_timeout, exchange_unsupported, exchange_agent_gone).
   */
  command(command: AgentCommand): Promise<string | undefined>;
  /**
   * Makes an agent that supports two sessions open another one elsewhere. It stays here until this session is closed.
   * Other agents would disconnect immediately, so they get no command, and the result is false.
   */
  moveAway(): boolean;
  /** Notifies the agent that a tunnel has ended, if it supports the message. */
  stopTunnel(tunnelId: string, message: string, reason: RefusalName): void;
  /** Sends request times at this edge, for tunnels that requested them, as lines of `request-times.ts`. */
  tellTimes(lines: string): void;
  /** Sends GOAWAY and closes the connection. */
  close(reason: string): void;
}

export interface ProxyHeader {
  readonly tunnelId: string;
  /** `ip:port` or `[v6]:port`. */
  readonly clientAddress: string;
  readonly proto: "http" | "https" | "tcp" | "tls";
  readonly edgeType: "endpoint" | "tcp_edge" | "tls_edge" | "https_edge";
  readonly passthroughTls: boolean;
  /** PROXY protocol header after the JSON header, if the tunnel requested one. */
  readonly preamble?: Uint8Array;
}
