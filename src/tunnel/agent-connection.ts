/** One connection to the agent listener: authenticates, then passes its messages to the session. */
import type { Socket } from "node:net";
import { normaliseAddress } from "../lib/address.ts";
import { runUnattended, reportFailure } from "../lib/boundary.ts";
import { Refusal } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";
import { WindowReserve } from "../lib/io/receive-window.ts";
import type { Timer } from "../lib/clock.ts";
import { unsealGatewayLogin } from "./gateway-login.ts";
import type { AddressBook } from "./source-counts.ts";
import { heartbeatOf } from "./tunnel-limits.ts";
import { sendResponse, AnsweredStreams, maxMessageBytes } from "./agent-call.ts";
import { Heartbeat, HeartbeatEcho } from "./agent-heartbeat.ts";
import { JsonReceiver, MessageRoom } from "./json-message.ts";
import type { JsonObject } from "./json-message.ts";
import { parseAuth, parseInboxRequest, parseJoin, renderAuth, renderRefusedAuth } from "./tunnel-messages.ts";
import type { AuthMessage } from "./tunnel-messages.ts";
import { errorCode, ProtocolViolation } from "./mux/frame.ts";
import { Mux } from "./mux/mux.ts";
import { discard } from "./mux/mux-stream.ts";
import type { MuxStream } from "./mux/mux-stream.ts";
import { TokenBucket } from "./mux/token-bucket.ts";
import { ServerSession } from "./server-session.ts";
import type { SharedTimers } from "./shared-timers.ts";
import type { SessionParts } from "./session-parts.ts";
import type { RequestAnswer } from "./server-session.ts";
import { streamType, TypeReceiver } from "./typed-stream.ts";
import { renderWireError } from "./wire-error.ts";

/** Shared state of all connections. */
export interface ConnectionHost extends Omit<SessionParts, "mux"> {
  readonly serverVersion: string;
  readonly edgeId: string;
  readonly nodeId: () => string;
  readonly addresses: AddressBook;
  /** Timers that detect silent agents. */
  readonly silence: SharedTimers;
  /** Live sessions by id. Each leg of a client has a separate id. */
  readonly sessions: Map<string, ServerSession>;
  /** Open connections. */
  readonly connections: Set<AgentConnection>;
  /** Whether Postern agents should connect to other servers. */
  turnsAway: boolean;
  /** Number of refused logins from threads of this server. */
  localRefusals: number;
}

/** Maximum number of streams with a response that the agent leaves half open. */
const maxAnswered = 32;

/** Time for a refused agent to read the reason and disconnect. GOAWAY would drop the response (§2.4). */
const refusedMs = 2000;

/** Time for Rust agents to process our response about a tunnel, unless they end its stream first. */
const learnMs = 50;

/** Maximum size of any other message before authentication, bytes (G1). */
const maxUnauthenticatedBytes = 1024;

/** Types of streams that carry one request. */
const asked: ReadonlySet<number> = new Set([
  streamType.auth,
  streamType.bind,
  streamType.startLabelled,
  streamType.unbind,
  streamType.serverInfo,
  streamType.patchTunnel,
  streamType.join,
  streamType.inbox,
]);

/** Requests on a connection that is used for nothing else. */
const aside: ReadonlySet<number> = new Set([streamType.join, streamType.inbox]);

const idShape = /^[A-Za-z0-9_-]{1,64}$/;

export class AgentConnection {
  readonly #host: ConnectionHost;
  readonly #mux: Mux;
  readonly #ip: string;
  /** Whether it comes from a thread of this server, which limits its clients itself. */
  readonly #isLocal: boolean;
  readonly #opens: TokenBucket;
  readonly #messages: TokenBucket;
  readonly #room: MessageRoom;
  readonly #answered = new AnsweredStreams(maxAnswered);
  #deadline: Timer | undefined;
  #session: ServerSession | undefined;
  #accountName = "";
  #authBegun = false;
  #heartbeat: Heartbeat | undefined;
  /** Whether the connection no longer counts as unauthenticated. */
  #settled = false;
  #refused = false;

  /** Takes ownership of the socket. */
  static begin(host: ConnectionHost, socket: Socket, isLocal = false): void {
    host.connections.add(new AgentConnection(host, socket, isLocal));
  }

  private constructor(host: ConnectionHost, socket: Socket, isLocal: boolean) {
    const { clock, limits } = host;
    this.#host = host;
    this.#isLocal = isLocal;
    this.#ip = normaliseAddress(socket.remoteAddress ?? "") ?? "";
    this.#opens = new TokenBucket(clock, limits.agentStreamsPerSecond, limits.agentStreamBurst);
    this.#messages = new TokenBucket(clock, limits.messagesPerSecond, limits.messageBurst);
    this.#room = new MessageRoom(limits.maxWaitingMessages);
    if (!isLocal) host.addresses.connected(this.#ip);
    this.#deadline = clock.after(limits.authenticationMs, () =>
      this.#mux.fail(new ProtocolViolation(errorCode.protocol, "not authenticated in time")),
    );
    this.#mux = new Mux(
      socket,
      { side: "server", clock, maxIncoming: limits.maxUnauthenticatedStreams, answersAtOnce: true },
      {
        incoming: (stream) => this.#incoming(stream),
        bug: (error) => reportFailure("session", error),
        closed: (error) => this.#closed(error),
      },
    );
  }

  close(reason: string): void {
    this.#mux.close(errorCode.none, reason);
  }

  #incoming(stream: MuxStream): void {
    if (this.#refused || !this.#opens.take()) {
      throw new ProtocolViolation(errorCode.enhanceYourCalm, "too many streams");
    }
    const { clock, limits } = this.#host;
    const deadline = clock.after(limits.messageMs, () => this.#overdue(stream));
    stream.receiver = new TypeReceiver(
      stream,
      (type) => this.#typed(type, stream, deadline),
      () => deadline.cancel(),
    );
  }

  /** Called if the message of a stream from the agent is not complete in time. */
  #overdue(stream: MuxStream): void {
    this.#host.log.info("agent message not complete in time", { ip: this.#ip });
    stream.abort();
  }

  #typed(type: number, stream: MuxStream, deadline: Timer): void {
    if (!asked.has(type)) deadline.cancel();
    if (type === streamType.heartbeat) {
      stream.receiver = new HeartbeatEcho(stream);
      return;
    }
    const isAuth = type === streamType.auth;
    if (isAuth || aside.has(type)) {
      if (this.#authBegun) throw new ProtocolViolation(errorCode.protocol, "authenticated twice");
      this.#authBegun = true;
    } else if (!this.#session && type !== streamType.serverInfo) {
      throw new ProtocolViolation(errorCode.protocol, "not authenticated");
    }
    if (!asked.has(type)) {
      stream.receiver = discard;
      stream.end();
      this.#answered.add(stream);
      return;
    }
    const beforeAuth = isAuth || type === streamType.inbox ? this.#host.limits.maxAuthBytes : maxUnauthenticatedBytes;
    const maxBytes = this.#session ? maxMessageBytes : beforeAuth;
    const onMessage = (error: Error | undefined, message: JsonObject): void => {
      deadline.cancel();
      if (error) {
        this.#room.giveBack(receiver.roomTaken);
        this.#unreadable(stream, error, isAuth);
      } else this.#inTurn(type, stream, message, receiver.roomTaken);
    };
    const receiver = new JsonReceiver(stream, maxBytes, onMessage, this.#room);
    stream.receiver = receiver;
  }

  /** @param roomTaken bytes of the session's room that the message occupies until its turn */
  #inTurn(type: number, stream: MuxStream, message: JsonObject, roomTaken: number): void {
    if (!stream.over && !this.#messages.take()) {
      this.#host.clock.after(this.#messages.waitMs(), () => this.#inTurn(type, stream, message, roomTaken));
      return;
    }
    this.#room.giveBack(roomTaken);
    if (!stream.over) this.#message(type, stream, message);
  }

  #unreadable(stream: MuxStream, error: Error, isAuth: boolean): void {
    if (stream.over || this.#mux.over) return;
    const refusal = error instanceof Refusal ? error : new Refusal("agent_request_invalid");
    if (isAuth) return this.#refuse(stream, refusal);
    sendResponse(stream, { Error: renderWireError(refusal) });
    this.#answered.add(stream);
  }

  #message(type: number, stream: MuxStream, message: JsonObject): void {
    if (type === streamType.auth) return this.#authenticate(stream, message);
    if (type === streamType.join) return runUnattended("session", this.#join(stream, message));
    if (type === streamType.inbox) return runUnattended("session", this.#inbox(stream, message));
    if (type === streamType.serverInfo && !this.#session) {
      sendResponse(stream, { Region: this.#host.region });
      return this.#answered.add(stream);
    }
    const isWanted = (): boolean => !stream.over;
    this.#session?.answer(type, message, isWanted, (reply) => this.#reply(stream, reply));
  }

  #reply(stream: MuxStream, reply: RequestAnswer | undefined): void {
    if (!reply) return stream.abort();
    sendResponse(stream, reply.body);
    this.#answered.add(stream);
    const { answered, learnsLate } = reply;
    if (!answered) return;
    if (!learnsLate) return answered();
    const timer = this.#host.clock.after(learnMs, answered);
    const learned = (): void => {
      timer.cancel();
      answered();
    };
    stream.receiver = { ...discard, ended: learned, closed: learned };
  }

  #authenticate(stream: MuxStream, message: JsonObject): void {
    try {
      const agent = parseAuth(message);
      const session = this.#open(agent);
      sendResponse(
        stream,
        renderAuth({
          version: agent.version,
          clientId: session.clientId,
          serverVersion: this.#host.serverVersion,
          region: this.#host.region,
          cookie: this.#host.proofs.cookie(session.clientId),
          accountName: this.#accountName,
          sessionId: session.id,
          maxWindow: this.#maxWindow(agent),
          edges: agent.kind === "postern" ? this.#host.edges() : 1,
          edgeId: this.#host.edgeId,
          nodes: agent.kind === "postern" ? this.#host.nodes() : 0,
          nodeId: this.#host.nodeId(),
          time: agent.kind === "postern" ? this.#host.clock.now() : 0,
          tellsTimes: agent.kind === "postern",
        }),
      );
      this.#answered.add(stream);
      this.#begin(session, agent);
    } catch (error) {
      if (!(error instanceof Refusal)) this.#host.log.error("agent authentication failed", { error });
      this.#refuse(stream, error instanceof Refusal ? error : new Refusal("internal"));
    }
  }

  /** Answers an agent with the secret of an invitation. The connection is used for nothing else. */
  async #join(stream: MuxStream, message: JsonObject): Promise<void> {
    let reply: JsonObject;
    try {
      const { token, accountName } = await this.#host.hooks.join({ ...parseJoin(message), ip: this.#ip });
      reply = { Token: token, AccountName: accountName, Error: "" };
    } catch (error) {
      if (!(error instanceof Refusal)) this.#host.log.error("agent not joined", { error });
      const refusal = error instanceof Refusal ? error : new Refusal("internal");
      if (refusal.reason === "agent_code_unknown") this.#host.addresses.wrongToken(this.#ip);
      reply = { Token: "", AccountName: "", Error: renderWireError(refusal) };
    }
    if (!stream.over) this.#last(stream, reply);
  }

  /** Answers an agent with a token about its inbox. The connection is used for nothing else. */
  async #inbox(stream: MuxStream, message: JsonObject): Promise<void> {
    let reply: JsonObject;
    try {
      const { url, host, waiting } = await this.#host.hooks.inbox({ ...parseInboxRequest(message), ip: this.#ip });
      reply = { URL: url, Host: host, Waiting: waiting, Error: "" };
    } catch (error) {
      if (!(error instanceof Refusal)) this.#host.log.error("inbox of an agent not opened", { error });
      const refusal = error instanceof Refusal ? error : new Refusal("internal");
      if (refusal.reason === "agent_token_unknown") this.#host.addresses.wrongToken(this.#ip);
      reply = { URL: "", Host: "", Waiting: 0, Error: renderWireError(refusal) };
    }
    if (!stream.over) this.#last(stream, reply);
  }

  #open(agent: AuthMessage): ServerSession {
    const { hooks, proofs, clock, sessions } = this.#host;
    if (this.#host.turnsAway && agent.kind === "postern") throw new Refusal("server_stopping");
    const isProven = idShape.test(agent.clientId) && proofs.provesSession(agent.cookie, agent.clientId);
    const gateway = unsealGatewayLogin(proofs, agent.token, clock.now());
    const ip = gateway?.ip ?? this.#ip;
    const { accountId, accountName, credentialId } = hooks.authenticate({
      token: agent.token,
      resumes: isProven ? agent.clientId : "",
      agentVersion: agent.agentVersion,
      os: agent.os,
      metadata: agent.metadata,
      ip,
      gateway,
    });
    this.#accountName = accountName;
    const live = sessions.get(agent.clientId);
    const resumes = isProven && (!live || live.accountId === accountId);
    const clientId = resumes ? agent.clientId : newId("ts", clock.now());
    const isLeg = resumes && agent.leg > 0;
    // A9: the old connection may be half dead.
    if (resumes && !isLeg) live?.close("replaced by a new connection");
    const id = isLeg ? newId("ts", clock.now()) : clientId;
    const parts: SessionParts = { ...this.#host, mux: this.#mux };
    return new ServerSession(parts, { id, clientId, accountId, credentialId, ip, isSsh: gateway !== undefined }, agent);
  }

  #begin(session: ServerSession, agent: AuthMessage): void {
    const { limits, sessions, hooks, clock } = this.#host;
    this.#settle();
    this.#session = session;
    sessions.set(session.id, session);
    this.#mux.maxIncoming = limits.maxAgentStreams;
    // Only Rust agents use Nagle's algorithm.
    this.#mux.answersAtOnce = agent.kind === "rust";
    this.#mux.sleepsThroughResets = agent.kind === "rust";
    this.#mux.reportsUnused = agent.kind === "postern";
    const maxWindow = this.#maxWindow(agent);
    if (maxWindow > 0) this.#mux.windows.allow(maxWindow, new WindowReserve(limits.windowBudget));
    hooks.opened(session);
    // Agents send heartbeats as well, and this end has thousands of sessions.
    this.#heartbeat = new Heartbeat(this.#mux, clock, { ...heartbeatOf(agent), inSilence: this.#host.silence }, () =>
      this.#mux.fail(new ProtocolViolation(errorCode.protocol, "heartbeat missed")),
    );
    session.heartbeat = this.#heartbeat;
  }

  #maxWindow(agent: AuthMessage): number {
    return Math.min(agent.maxWindow, this.#host.limits.maxWindow);
  }

  #refuse(stream: MuxStream, refusal: Refusal): void {
    if (this.#isLocal) this.#host.localRefusals += 1;
    if (refusal.reason === "agent_token_unknown" || refusal.reason === "agent_api_key") {
      if (!this.#isLocal) this.#host.addresses.wrongToken(this.#ip);
    }
    this.#last(stream, renderRefusedAuth(renderWireError(refusal)));
  }

  /** Sends a response to a connection that gets no session. */
  #last(stream: MuxStream, reply: JsonObject): void {
    this.#refused = true;
    sendResponse(stream, reply);
    this.#deadline?.cancel();
    this.#deadline = this.#host.clock.after(refusedMs, () => this.#mux.close(errorCode.none, "not authenticated"));
  }

  #settle(): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#deadline?.cancel();
    this.#deadline = undefined;
    if (!this.#isLocal) this.#host.addresses.settled(this.#ip);
  }

  #closed(error: Error | undefined): void {
    this.#settle();
    this.#host.connections.delete(this);
    this.#heartbeat?.stop();
    const session = this.#session;
    const fields = { ip: this.#ip, ...(session ? { session: session.id } : {}), ...(error ? { error } : {}) };
    if (error instanceof ProtocolViolation) this.#host.log.info("agent connection cut off", fields);
    else this.#host.log.debug("agent connection closed", fields);
    if (!session) return;
    if (this.#host.sessions.get(session.id) === session) this.#host.sessions.delete(session.id);
    session.ended();
  }
}
