/** The server's side of the agent protocol: accepts connections and creates sessions (docs/agent-protocol.md). */
import type { Socket } from "node:net";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { AddressBook } from "./source-counts.ts";
import { defaultTunnelLimits } from "./tunnel-limits.ts";
import type { TunnelLimits } from "./tunnel-limits.ts";
import { AgentConnection } from "./agent-connection.ts";
import type { ConnectionHost } from "./agent-connection.ts";
import { makeProofs } from "./proofs.ts";
import type { AgentSession, ServerHooks } from "./server-hooks.ts";
import { SharedTimers } from "./shared-timers.ts";

/** Maximum delay in detecting a silent agent, by which its tolerance is shortened, milliseconds. */
const silenceStepMs = 250;

export interface AgentServerOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** At least 32 bytes, the same after a restart. Proves the values that agents send back (A8). */
  readonly secret: Buffer;
  readonly region: string;
  readonly serverVersion: string;
  /** Number of edges at which Postern agents may have sessions, sent when they connect. Default: 1. */
  readonly edges?: () => number;
  /** Id of this edge, sent with the number of edges. */
  readonly edgeId?: string;
  /** Number of the server's nodes. Default: 0, no cluster. */
  readonly nodes?: () => number;
  /** Id of this node, sent with the number of nodes. */
  readonly nodeId?: () => string;
  /** See `SessionParts`. Default: never changes. */
  readonly edgeSet?: () => string;
  readonly limits?: Partial<TunnelLimits>;
}

export interface AgentServer {
  /** Takes ownership of a socket after its TLS handshake. Closes it immediately if `admits` returns false. */
  accept(socket: Socket): void;
  /** The same for a connection from a thread of this server, which limits its clients itself. */
  acceptLocal(socket: Socket): void;
  /** Whether an address may connect now. Call before the TLS handshake to save its cost. */
  admits(ip: string): boolean;
  /** Number of refused logins on connections of `acceptLocal`. */
  readonly localRefusals: number;
  /** Live sessions by id. */
  readonly sessions: ReadonlyMap<string, AgentSession>;
  /** Turns Postern agents away from now on, so that they connect elsewhere. SDKs would not return for a long time. */
  retire(): void;
  readonly isRetired: boolean;
  /** Turns Postern agents away, as `retire` does, or accepts them again. Has no effect after `retire`. */
  turnAway(isOn: boolean): void;
  /** Sends GOAWAY to every agent and closes all connections. */
  close(reason: string): void;
}

export function makeAgentServer(hooks: ServerHooks, options: AgentServerOptions): AgentServer {
  const limits = { ...defaultTunnelLimits, ...options.limits };
  const addresses = new AddressBook(options.clock, limits);
  const host: ConnectionHost = {
    hooks,
    proofs: makeProofs(options.secret),
    limits,
    clock: options.clock,
    log: options.log,
    region: options.region,
    serverVersion: options.serverVersion,
    edges: options.edges ?? (() => 1),
    edgeId: options.edgeId ?? "",
    nodes: options.nodes ?? (() => 0),
    nodeId: options.nodeId ?? (() => ""),
    edgeSet: options.edgeSet ?? (() => ""),
    addresses,
    silence: new SharedTimers(options.clock, silenceStepMs),
    sessions: new Map(),
    connections: new Set(),
    turnsAway: false,
    localRefusals: 0,
  };
  let isClosed = false;
  let isRetired = false;
  return {
    accept(socket) {
      if (isClosed || !addresses.admits(socket.remoteAddress ?? "")) socket.destroy();
      else AgentConnection.begin(host, socket);
    },
    acceptLocal(socket) {
      if (isClosed) socket.destroy();
      else AgentConnection.begin(host, socket, true);
    },
    admits: (ip) => !isClosed && addresses.admits(ip),
    sessions: host.sessions,
    get localRefusals() {
      return host.localRefusals;
    },
    retire() {
      isRetired = true;
      host.turnsAway = true;
    },
    get isRetired() {
      return isRetired;
    },
    turnAway: (isOn) => void (host.turnsAway = isOn || isRetired),
    close(reason) {
      isClosed = true;
      for (const connection of host.connections) connection.close(reason);
    },
  };
}
