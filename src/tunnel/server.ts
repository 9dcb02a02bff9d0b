/** The server's side of the agent protocol: connections in, sessions out (docs/agent-protocol.md). */
import type { Socket } from "node:net";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { AddressBook } from "./address-book.ts";
import { defaultTunnelLimits } from "./limits.ts";
import type { TunnelLimits } from "./limits.ts";
import { AgentConnection } from "./connection.ts";
import type { ConnectionHost } from "./connection.ts";
import { makeProofs } from "./proofs.ts";
import type { AgentSession, ServerHooks } from "./server-hooks.ts";
import { SharedTimers } from "./shared-timers.ts";

/** By so much may the silence of an agent be noticed late, which its tolerance then is shorter by; milliseconds. */
const silenceStepMs = 250;

export interface AgentServerOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** At least 32 bytes, the same after a restart: proves what agents bring back (A8). */
  readonly secret: Buffer;
  readonly region: string;
  readonly serverVersion: string;
  /** At how many edges agents of ours may have a session, which they are told when they connect; 1 unless given. */
  readonly edges?: () => number;
  /** Which of them this is; told with their number. */
  readonly edgeId?: string;
  /** Of how many nodes the server is one; 0, as unless given: of none. */
  readonly nodes?: () => number;
  /** Which of them this is; told with their number. */
  readonly nodeId?: () => string;
  readonly limits?: Partial<TunnelLimits>;
}

export interface AgentServer {
  /** Takes over a connected socket, after its TLS handshake. Closes it at once when `admits` says no. */
  accept(socket: Socket): void;
  /** Whether an address may connect now; to be asked before a TLS handshake is spent on it. */
  admits(ip: string): boolean;
  /** Live sessions by id. */
  readonly sessions: ReadonlyMap<string, AgentSession>;
  /** From now on turns away agents of ours, which then try elsewhere; SDKs would not come back for a long time. */
  retire(): void;
  readonly isRetired: boolean;
  /** Says goodbye to every agent and closes all connections. */
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
    addresses,
    silence: new SharedTimers(options.clock, silenceStepMs),
    sessions: new Map(),
    connections: new Set(),
    isRetiring: false,
  };
  let isClosed = false;
  return {
    accept(socket) {
      if (isClosed || !addresses.admits(socket.remoteAddress ?? "")) socket.destroy();
      else AgentConnection.begin(host, socket);
    },
    admits: (ip) => !isClosed && addresses.admits(ip),
    sessions: host.sessions,
    retire() {
      host.isRetiring = true;
    },
    get isRetired() {
      return host.isRetiring;
    },
    close(reason) {
      isClosed = true;
      for (const connection of host.connections) connection.close(reason);
    },
  };
}
