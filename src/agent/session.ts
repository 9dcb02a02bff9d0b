/** One connection of the agent to the server: authenticated, with its tunnels, forwarding what comes. */
import { letGo } from "../lib/boundary.ts";
import type { TLSSocket } from "node:tls";
import { arch, platform } from "node:os";
import { connectSession } from "../tunnel/client.ts";
import type { ClientHandlers, ClientOptions, ClientSession, ServerCount } from "../tunnel/client-hooks.ts";
import type { Clock } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import type { AgentOptions } from "./agent.ts";
import { describeLoss } from "./end.ts";
import type { AgentEnd } from "./end.ts";
import type { Kept, SessionTunnels } from "./session-tunnels.ts";
import type { Tunnels } from "./tunnels.ts";

/** What is brought back to the server after a loss, so that it gives the same session. */
export interface Resumption {
  readonly clientId: string;
  readonly cookie: string;
}

type SessionOptions = AgentOptions & { readonly agentId: string | undefined };

/** How a session ended. */
export type SessionEnd =
  /** Another connection is due; `stays`: beside this one, which the server will close. */
  | { readonly kind: "lost"; readonly reason: string; readonly atOnce: boolean; readonly stays?: true }
  /** The server told the agent to stop, or no tunnel is left. */
  | { readonly kind: "over"; readonly end: AgentEnd }
  /** The server lets no tunnel be in a session beside another. */
  | { readonly kind: "needless" };

export interface Session {
  readonly latencyMs: number;
  readonly resumption: Resumption;
  /** How many edges the server has, and which of them this session is at. */
  readonly edges: number;
  readonly edgeId: string;
  /** Of how many nodes the server is one, 0 for none, and which of them this session is at. */
  readonly nodes: number;
  readonly nodeId: string;
  /** How many edges and nodes there are now; rejects when the server does not answer. */
  count(): Promise<ServerCount>;
  /** Another one is to be opened, in whose favour this one is left. */
  move(): void;
  readonly ended: Promise<SessionEnd>;
  /** Its connection is over. */
  readonly closed: Promise<void>;
  /** Opens the tunnels; resolves when each is open or was refused once. */
  publish(): Promise<void>;
  /** Takes the tunnels away, lets what is under way end within a bound, and says goodbye. */
  close(): Promise<void>;
}

/** How long taking the tunnels away may take, milliseconds. */
const goodbyeMs = 1_000;
/** How long what is under way may go on then, unless told otherwise. */
const defaultFinishMs = 10_000;
const finishCheckMs = 20;

/** Takes over a connected socket. @param kept gets what its tunnels are given. Rejects with `Refusal` when the server says why it refuses. */
export async function openSession(
  socket: TLSSocket,
  options: SessionOptions,
  tunnels: Tunnels,
  kept: Kept,
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
      handlers(options, own, ended.resolve, closed.resolve),
    );
    const latencyMs = clock.monotonic() - since;
    letGo(
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
        await finished(line, clock, options.finishMs ?? defaultFinishMs);
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

/** Resolves when nothing is under way any more, or after `boundMs`. */
function finished(line: ClientSession, clock: Clock, boundMs: number): Promise<void> {
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

function handlers(
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
        // After the answer has gone out.
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
