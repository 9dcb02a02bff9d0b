/** One authenticated connection of the agent to the server, with its tunnels and forwarded connections. */
import { runUnattended } from "../lib/boundary.ts";
import type { TLSSocket } from "node:tls";
import { arch, platform } from "node:os";
import { connectSession } from "../tunnel/connect-session.ts";
import type { ClientHandlers, ClientOptions, ClientSession, ServerCount } from "../tunnel/client-hooks.ts";
import type { Clock } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import type { AgentOptions } from "./agent-options.ts";
import { describeLoss } from "./end.ts";
import type { AgentEnd } from "./end.ts";
import type { BoundTunnels, SessionTunnels } from "./session-tunnels.ts";
import type { Tunnels } from "./tunnel-set.ts";

/** Sent to the server after a loss to resume the same session. */
export interface Resumption {
  readonly clientId: string;
  readonly cookie: string;
}

type SessionOptions = AgentOptions & { readonly agentId: string | undefined };

/** How a session ended. */
export type SessionEnd =
  /** The agent should connect again. `stays`: keep this connection until the server closes it. */
  | { readonly kind: "lost"; readonly reason: string; readonly atOnce: boolean; readonly stays?: true }
  /** The server stopped the agent, or no tunnel is left. */
  | { readonly kind: "over"; readonly end: AgentEnd }
  /** The server allows each tunnel in one session only, and another session has them. */
  | { readonly kind: "needless" };

export interface Session {
  readonly latencyMs: number;
  readonly resumption: Resumption;
  /** Number of the server's edges, and the edge that this session is at. */
  readonly edges: number;
  readonly edgeId: string;
  /** Number of the server's nodes (0 if it is not clustered), and the node that this session is at. */
  readonly nodes: number;
  readonly nodeId: string;
  /** Asks for the present number of edges and nodes. Rejects if the server does not answer. */
  count(): Promise<ServerCount>;
  /** Replaces this session with a new one. */
  move(): void;
  readonly ended: Promise<SessionEnd>;
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
  /** Opens the tunnels. Resolves when each is open or was refused once. */
  publish(): Promise<void>;
  /** Removes the tunnels, waits a bounded time for open connections, and says goodbye. */
  close(): Promise<void>;
}

/** Time limit for removing the tunnels, milliseconds. */
const goodbyeMs = 1_000;
/** Default time that open connections get afterwards, milliseconds. */
const defaultFinishMs = 10_000;
const finishCheckMs = 20;

/**
 * Authenticates on a connected socket and takes it over.
 * @param kept receives what the server assigns to the tunnels
 * @throws Refusal with the server's reason
 */
export async function openSession(
  socket: TLSSocket,
  options: SessionOptions,
  tunnels: Tunnels,
  kept: BoundTunnels,
  resumption: Resumption | undefined,
  signal: AbortSignal,
): Promise<Session> {
  const { clock } = options;
  const ended = Promise.withResolvers<SessionEnd>();
  const own = tunnels.join(kept, () => ended.resolve({ kind: "needless" }));
  const closed = Promise.withResolvers<void>();
  const abandon = (): void => void socket.destroy();
  signal.addEventListener("abort", abandon, { once: true });
  const since = clock.monotonic();
  try {
    const line = await connectSession(
      socket,
      clientOptions(options, resumption),
      makeHandlers(options, own, ended.resolve, closed.resolve),
    );
    const latencyMs = clock.monotonic() - since;
    runUnattended(
      "session",
      tunnels.over.then((end) => ended.resolve({ kind: "over", end })),
    );
    return {
      latencyMs,
      resumption: { clientId: line.clientId, cookie: line.cookie },
      edges: line.edges,
      edgeId: line.edgeId,
      nodes: line.nodes,
      nodeId: line.nodeId,
      count: () => line.count(),
      move() {
        own.takesMore = false;
        ended.resolve({ kind: "lost", reason: "there are other nodes", atOnce: true });
      },
      ended: ended.promise,
      closed: closed.promise,
      publish: () => own.open(line),
      async close() {
        const bound = Promise.withResolvers<void>();
        const timer = clock.after(goodbyeMs, bound.resolve);
        await Promise.race([own.unbind(line), bound.promise]);
        timer.cancel();
        await waitForConnections(line, clock, options.finishMs ?? defaultFinishMs);
        line.close();
      },
    };
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", abandon);
  }
}

/** Resolves when no connection is open any more, or after `boundMs`. */
function waitForConnections(line: ClientSession, clock: Clock, boundMs: number): Promise<void> {
  const endsAt = clock.monotonic() + boundMs;
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (): boolean => line.openStreams === 0 || clock.monotonic() >= endsAt;
  if (look()) return Promise.resolve();
  const timer = clock.every(finishCheckMs, () => {
    if (!look()) return;
    timer.cancel();
    resolve();
  });
  return promise;
}

function clientOptions(options: SessionOptions, resumption: Resumption | undefined): ClientOptions {
  const { heartbeatIntervalMs, heartbeatToleranceMs, answerMs, remoteManagement = true } = options;
  return {
    clock: options.clock,
    token: options.token,
    clientId: resumption?.clientId ?? "",
    cookie: resumption?.cookie ?? "",
    ...(options.agentId !== undefined && { agentId: options.agentId }),
    metadata: options.metadata,
    version: options.version,
    os: platform(),
    arch: arch(),
    commands: remoteManagement ? ["stop", "restart"] : [],
    ...(heartbeatIntervalMs !== undefined && { heartbeatIntervalMs }),
    ...(heartbeatToleranceMs !== undefined && { heartbeatToleranceMs }),
    ...(answerMs !== undefined && { answerMs }),
    loginMs: options.connect?.timeoutMs,
  };
}

function makeHandlers(
  { clock, remoteManagement = true, exchanges, requestTimes }: AgentOptions,
  tunnels: SessionTunnels,
  end: (end: SessionEnd) => void,
  over: () => void,
): ClientHandlers {
  return {
    proxied: (tunnelId, header, stream) => tunnels.proxied(tunnelId, header, stream),
    command(command) {
      if (!remoteManagement) return Promise.reject(new Error("This agent does not allow remote management."));
      if (command.name === "stop") {
        // Runs after the answer has been sent.
        clock.after(0, () =>
          end({ kind: "over", end: { reason: "stopped", message: "the server stopped the agent" } }),
        );
      } else if (command.name === "restart") {
        tunnels.takesMore = false;
        clock.after(0, () => end({ kind: "lost", reason: "the server requested a new connection", atOnce: true }));
      } else return Promise.reject(new Error(`This agent does not support the command ${command.name}.`));
      return Promise.resolve();
    },
    async exchange(command) {
      if (!remoteManagement) throw new Refusal("exchange_management_off");
      if (!exchanges) throw new Refusal("exchange_not_kept");
      return await exchanges.answer(command, tunnels.nameOf(command.tunnelId));
    },
    stopped: (tunnelId, message, code) => tunnels.stopped(tunnelId, message, code),
    ...(requestTimes && { times: requestTimes }),
    moveAway() {
      tunnels.takesMore = false;
      end({ kind: "lost", reason: "the server is stopping", atOnce: true, stays: true });
    },
    closed(error) {
      tunnels.lost();
      over();
      end({ kind: "lost", reason: error ? describeLoss(error) : "closed", atOnce: false });
    },
  };
}
