/** One connection of an agent to the server: sends requests and accepts the streams that the server opens. */
import type { Socket } from "node:net";
import { runUnattended } from "../lib/boundary.ts";
import { WindowReserve } from "../lib/io/receive-window.ts";
import { UnusedStream } from "../lib/io/lost-stream.ts";
import type { SessionCommand } from "../routing/planes/messages.ts";
import { sendResponse, AnsweredStreams, sendRequest, CallTimeout, maxMessageBytes } from "./agent-call.ts";
import type {
  BoundTunnel,
  ClientBind,
  ClientHandlers,
  ClientLabelled,
  ClientOptions,
  ClientSession,
  ServerCount,
} from "./client-hooks.ts";
import { answerExchange } from "./exchange-question.ts";
import { Heartbeat, HeartbeatEcho } from "./agent-heartbeat.ts";
import { countMember, JsonReceiver, objectMember, textMember } from "./json-message.ts";
import type { JsonObject } from "./json-message.ts";
import { errorCode, ProtocolViolation } from "./mux/frame.ts";
import { Mux } from "./mux/mux.ts";
import { discard } from "./mux/mux-stream.ts";
import type { MuxStream } from "./mux/mux-stream.ts";
import { ProxyHeaderReceiver } from "./proxy-header.ts";
import type { ProxiedHeader } from "./proxy-header.ts";
import { maxTimesBytes } from "./request-times.ts";
import { WholeReader } from "./whole-reader.ts";
import { streamType, TypeReceiver } from "./typed-stream.ts";
import { parseWireError } from "./wire-error.ts";

const maxWindow = 16 * 1024 * 1024;
const usualWindowBudget = 64 * 1024 * 1024;
const maxText = 4096;
const usualAnswerMs = 30_000;
const maxAnswered = 32;
/** Maximum number of open streams of the server: its limit for public connections, and some for its requests. */
const maxIncoming = 17_000;

export class ClientConnection {
  readonly #options: ClientOptions;
  readonly #handlers: ClientHandlers;
  readonly #mux: Mux;
  readonly #tunnels = new Set<string>();
  readonly #answered = new AnsweredStreams(maxAnswered);
  /** Streams of the server without a public connection: its heartbeat and its requests. */
  readonly #asides = new Set<MuxStream>();
  #heartbeat: Heartbeat | undefined;
  #isOpen = false;
  /** Whether the server can report request times. */
  #canTellTimes = false;

  constructor(socket: Socket, options: ClientOptions, handlers: ClientHandlers, failed: (error: Error) => void) {
    this.#options = options;
    this.#handlers = handlers;
    this.#mux = new Mux(
      socket,
      { side: "agent", clock: options.clock, maxIncoming, answersAtOnce: false },
      {
        incoming: (stream) => {
          stream.receiver = new TypeReceiver(stream, this.#typed);
        },
        bug: (error) => handlers.bug?.(error),
        closed: (error) => {
          this.#heartbeat?.stop();
          if (this.#isOpen) handlers.closed(error);
          else failed(error ?? new Error("session closed"));
        },
      },
    );
    this.#mux.reportsUnused = true;
  }

  authenticate(done: (error: Error | undefined, session?: ClientSession) => void): void {
    const options = this.#options;
    const supports = (name: SessionCommand["name"]): string =>
      options.commands.includes(name) ? "" : `This agent does not support ${name}.`;
    const question = {
      Version: ["3", "2"],
      ClientId: options.clientId,
      Extra: {
        OS: options.os,
        Arch: options.arch,
        AuthToken: options.token,
        Version: options.version,
        Hostname: "",
        UserAgent: `postern/${options.version}`,
        Metadata: options.metadata,
        Cookie: options.cookie,
        HeartbeatInterval: Math.round(this.#intervalMs * 1e6),
        HeartbeatTolerance: Math.round(this.#toleranceMs * 1e6),
        StopUnsupportedError: supports("stop"),
        RestartUnsupportedError: supports("restart"),
        UpdateUnsupportedError: supports("update"),
        MuxWindow: maxWindow,
        ...(this.#handlers.exchange && { Exchanges: true }),
        ...(options.agentId !== undefined && { AgentID: options.agentId }),
      },
    };
    const { answerMs = usualAnswerMs, loginMs = answerMs } = options;
    this.#ask(streamType.auth, question, loginMs, (failure, reply) => {
      if (failure) {
        done(failure);
        this.#mux.close(errorCode.none, "not authenticated");
        return;
      }
      try {
        done(undefined, this.#open(reply));
      } catch (error) {
        done(error as Error);
        this.#mux.close(errorCode.protocol, "authentication not understood");
      }
    });
  }

  get #intervalMs(): number {
    return this.#options.heartbeatIntervalMs ?? 10_000;
  }

  get #toleranceMs(): number {
    return this.#options.heartbeatToleranceMs ?? 15_000;
  }

  #open(reply: JsonObject): ClientSession {
    const extra = objectMember(reply, "Extra");
    const mux = this.#mux;
    const agreed = Math.min(countMember(extra, "MuxWindow"), maxWindow);
    const { windowBudget = usualWindowBudget } = this.#options;
    if (agreed > 0) mux.windows.allow(agreed, new WindowReserve(windowBudget));
    const accepted = {
      clientId: textMember(reply, "ClientId", maxText),
      cookie: textMember(extra, "Cookie", maxText),
      accountName: textMember(extra, "AccountName", maxText),
      region: textMember(extra, "Region", maxText),
      serverVersion: textMember(extra, "Version", maxText),
      ...countsOf(extra),
      edgeId: textMember(extra, "Edge", maxText),
      nodeId: textMember(extra, "Node", maxText),
      serverTime: countMember(extra, "Time"),
    };
    const openStreams = (): number => this.#openStreams;
    this.#isOpen = true;
    this.#canTellTimes = extra["RequestTimes"] === true;
    this.#heartbeat = new Heartbeat(
      mux,
      this.#options.clock,
      { intervalMs: this.#intervalMs, toleranceMs: this.#toleranceMs },
      () => mux.fail(new ProtocolViolation(errorCode.protocol, "the server no longer answers")),
    );
    return {
      ...accepted,
      get roundTripMs() {
        return mux.windows.roundTripMs;
      },
      get openStreams() {
        return openStreams();
      },
      count: () => this.#promise(streamType.serverInfo, {}, countsOf),
      bind: (request, bound) => this.#bind(request, bound),
      startLabelled: (request, started) => this.#startLabelled(request, started),
      changePolicy: (tunnelId, trafficPolicy) => this.#changePolicy(tunnelId, trafficPolicy),
      unbind: (tunnelId) => this.#unbind(tunnelId),
      close: () => mux.close(errorCode.none, ""),
    };
  }

  #bind(request: ClientBind, bound?: (tunnel: BoundTunnel) => void): Promise<BoundTunnel> {
    const isTcp = request.proto === "tcp";
    const { trafficPolicy, options } = request;
    const policy = { ...options, ...(trafficPolicy !== undefined && { TrafficPolicy: trafficPolicy }) };
    const question = {
      Id: request.resume?.id ?? "",
      Proto: request.proto,
      ForwardsTo: request.forwardsTo,
      ForwardsProto: request.forwardsProto ?? "",
      Opts: isTcp
        ? { Addr: request.address ?? "", ProxyProto: request.proxyProtocol ?? 0, ...policy }
        : {
            Hostname: request.hostname ?? "",
            Subdomain: request.subdomain ?? "",
            ProxyProto: request.proxyProtocol ?? 0,
            ...policy,
          },
      Extra: {
        Token: request.resume?.token ?? "",
        Metadata: request.metadata ?? "",
        ...(request.description !== undefined && { Description: request.description }),
        ...(request.bindings && { Bindings: request.bindings }),
        ...(request.pooling && { PoolingEnabled: true }),
        ...this.#timesWanted(request),
      },
    };
    return this.#promise(streamType.bind, question, (reply) => {
      const id = textMember(reply, "Id", maxText);
      const options = objectMember(reply, "Opts");
      const tunnel = {
        id,
        url: textMember(reply, "URL", maxText),
        hostname: textMember(options, "Hostname", maxText),
        address: textMember(options, "Addr", maxText),
        token: textMember(objectMember(reply, "Extra"), "Token", maxText),
      };
      this.#tunnels.add(id);
      bound?.(tunnel);
      return tunnel;
    });
  }

  #startLabelled(request: ClientLabelled, started?: (id: string) => void): Promise<string> {
    const question = {
      Labels: request.labels,
      ForwardsTo: request.forwardsTo,
      ForwardsProto: request.forwardsProto ?? "",
      Metadata: request.metadata ?? "",
      ...(request.proxyProtocol ? { ProxyProto: request.proxyProtocol } : {}),
      ...this.#timesWanted(request),
    };
    return this.#promise(streamType.startLabelled, question, (reply) => {
      const id = textMember(reply, "Id", maxText);
      this.#tunnels.add(id);
      started?.(id);
      return id;
    });
  }

  #timesWanted({ wantsTimes }: Pick<ClientBind, "wantsTimes">): object {
    return wantsTimes === true && this.#canTellTimes ? { RequestTimes: true } : {};
  }

  #changePolicy(tunnelId: string, trafficPolicy: string): Promise<void> {
    const question = { TunnelId: tunnelId, TrafficPolicy: trafficPolicy };
    return this.#promise(streamType.patchTunnel, question, () => undefined);
  }

  /** Streams that the server opened in the meantime arrive before its response. */
  #unbind(tunnelId: string): Promise<void> {
    return this.#promise(streamType.unbind, { Id: tunnelId, Extra: null }, () => void this.#tunnels.delete(tunnelId));
  }

  get #openStreams(): number {
    this.#dropAsides();
    return this.#mux.incomingCount - this.#asides.size;
  }

  #dropAsides(): void {
    for (const stream of this.#asides) if (stream.over) this.#asides.delete(stream);
  }

  /** `read` runs in the same turn as the response, so that a tunnel is known before its first stream. */
  #promise<T>(type: number, question: JsonObject, read: (reply: JsonObject) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#ask(type, question, this.#options.answerMs ?? usualAnswerMs, (error, reply) => {
        if (error) return reject(error);
        try {
          resolve(read(reply));
        } catch (unread) {
          reject(unread);
        }
      });
    });
  }

  #ask(
    type: number,
    question: JsonObject,
    answerMs: number,
    done: (error: Error | undefined, reply: JsonObject) => void,
  ): void {
    sendRequest(this.#mux, this.#options.clock, type, question, answerMs, (error, reply) => {
      if (error instanceof CallTimeout) return done(new Error(`The server gave ${error.message}.`), {});
      if (error) return done(error, {});
      const failure = reply["Error"];
      if (typeof failure === "string" && failure !== "") return done(parseWireError(failure), {});
      done(undefined, reply);
    });
  }

  readonly #typed = (type: number, stream: MuxStream): void => {
    if (type !== streamType.proxy) {
      this.#dropAsides();
      this.#asides.add(stream);
    }
    switch (type) {
      case streamType.heartbeat:
        stream.receiver = new HeartbeatEcho(stream);
        return;
      case streamType.proxy:
        stream.receiver = new ProxyHeaderReceiver(stream, this.#proxied);
        return;
      case streamType.requestTimes:
        stream.receiver = new WholeReader(stream, maxTimesBytes, (lines) => {
          if (lines) this.#handlers.times?.(lines);
        });
        this.#answered.add(stream);
        return;
      case streamType.stopTunnel:
        this.#read(stream, (message) => this.#stopped(stream, message));
        return;
      case streamType.stop:
        this.#read(stream, () => this.#command(stream, { name: "stop" }));
        return;
      case streamType.restart:
        this.#read(stream, (message) => {
          if (message["Drain"] !== true) return this.#command(stream, { name: "restart" });
          sendResponse(stream, {});
          this.#handlers.moveAway?.();
        });
        return;
      case streamType.update:
        this.#read(stream, (message) =>
          this.#command(stream, { name: "update", version: textMember(message, "Version", maxText) }),
        );
        return;
      case streamType.exchange:
      case streamType.replay:
        return this.#exchange(type, stream);
      default:
        this.#unknown(stream);
    }
  };

  /** Resets the stream, which tells the server that the type is unknown. */
  #unknown(stream: MuxStream): void {
    stream.receiver = discard;
    stream.end();
    this.#answered.add(stream);
  }

  #exchange(type: number, stream: MuxStream): void {
    const { exchange, bug } = this.#handlers;
    if (!exchange) return this.#unknown(stream);
    this.#read(stream, (message) => answerExchange(stream, type, message, exchange, (error) => bug?.(error)));
  }

  /** G4: only for tunnels that this session requested. */
  readonly #proxied = (header: ProxiedHeader, stream: MuxStream): void => {
    if (this.#tunnels.has(header.tunnelId)) {
      this.#handlers.proxied(header.tunnelId, header, stream);
    } else {
      stream.receiver = discard;
      stream.lose(new UnusedStream("tunnel_gone", "the tunnel has ended"));
    }
  };

  #read(stream: MuxStream, then: (message: JsonObject) => void): void {
    stream.receiver = new JsonReceiver(stream, maxMessageBytes, (error, message) => {
      if (error) return stream.abort();
      this.#answered.add(stream);
      then(message);
    });
  }

  #stopped(stream: MuxStream, message: JsonObject): void {
    stream.receiver = discard;
    stream.end();
    const id = textMember(message, "Id", maxText);
    if (!this.#tunnels.delete(id)) return;
    const text = textMember(message, "Message", maxMessageBytes);
    this.#handlers.stopped(id, text, textMember(message, "ErrorCode", maxText));
  }

  #command(stream: MuxStream, command: SessionCommand): void {
    const done = this.#handlers.command(command).then(() => ({}));
    const reply = done.catch((error: unknown) => ({ Error: error instanceof Error ? error.message : String(error) }));
    const answered = reply.then((body) => sendResponse(stream, body));
    runUnattended("message", answered, () => stream.abort());
  }
}

function countsOf(message: JsonObject): ServerCount {
  const edges = Math.max(1, countMember(message, "Edges"));
  return { edges, nodes: countMember(message, "Nodes"), edgeSet: textMember(message, "EdgeSet", maxText) };
}
