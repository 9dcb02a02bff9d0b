/** The tunnels of an agent: the initial ones and those that are added or removed at run time. */
import { runUnattended } from "../lib/boundary.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { AgentEnd } from "./end.ts";
import { watchService } from "./service-watch.ts";
import { SessionTunnels } from "./session-tunnels.ts";
import type { AllTunnels, BoundTunnels, LivingTunnel } from "./session-tunnels.ts";
import type { TunnelOptions } from "./tunnel-options.ts";

interface TunnelsOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Whether to retry a tunnel that has never been open. */
  readonly retryFirst: boolean;
}

/** Why a tunnel could not be added. */
export class TunnelFailure extends Error {
  override readonly name = "TunnelFailure";
  /** The agent has no session with the server. A retry may succeed. */
  readonly isOffline: boolean;

  constructor(message: string, isOffline: boolean) {
    super(message);
    this.isOffline = isOffline;
  }
}

export interface Tunnels {
  /**
   * Resolves with the last reason when all initial tunnels have ended and none is left. Never resolves if there were no
   * initial tunnels.
   */
  readonly over: Promise<AgentEnd>;
  /**
   * Adds a tunnel to every present and later session. Resolves when it is open in one of them. Rejects with
   * `TunnelFailure` if the server refuses it or there is no session; the tunnel is then discarded.
   */
  add(options: TunnelOptions): Promise<void>;
  /** Removes a tunnel. Resolves with whether it existed, when the server knows. Open connections continue. */
  remove(name: string): Promise<boolean>;
  /** Adds the tunnels to another session. The arguments are those of `SessionTunnels`. */
  join(kept: BoundTunnels, alone: () => void): SessionTunnels;
  /** Stops all watches and retries. */
  stop(): void;
}

export function makeTunnels(tunnels: readonly TunnelOptions[], options: TunnelsOptions): Tunnels {
  const over = Promise.withResolvers<AgentEnd>();
  const living = new Set<LivingTunnel>();
  const sessions = new Set<SessionTunnels>();
  const begin = (one: TunnelOptions, added: LivingTunnel["added"]): LivingTunnel => {
    // A service inside the agent cannot go away.
    const service =
      one.service && !one.upstream.local ? watchService(one.upstream, options.clock, one.service) : undefined;
    const openIn = new Set<SessionTunnels>();
    const tunnel = { options: one, service, added, wasOpen: false, openIn, made: undefined, making: undefined };
    living.add(tunnel);
    return tunnel;
  };
  /** Ends what a service inside the agent has started, such as processes, after its last tunnel. */
  const release = ({ options: { upstream } }: LivingTunnel): void => {
    const isShared = [...living].some(({ options: other }) => other.upstream.local === upstream.local);
    if (upstream.local?.close && !isShared) runUnattended("task", upstream.local.close());
  };
  const finish = (tunnel: LivingTunnel, end: AgentEnd): void => {
    if (!living.delete(tunnel)) return;
    tunnel.service?.stop();
    for (const session of sessions) session.drop(tunnel);
    release(tunnel);
    tunnel.options.status?.({ state: "ended", end });
    if (tunnel.added) tunnel.added.reject(new TunnelFailure(end.message, false));
    else if (living.size === 0) over.resolve(end);
  };
  const all: AllTunnels = { ...options, living, sessions, finish };
  for (const one of tunnels) begin(one, undefined);
  return {
    over: over.promise,
    async add(one) {
      const open = [...sessions].filter(({ takesMore }) => takesMore);
      if (open.length === 0) {
        one.status?.({ state: "removed" });
        throw new TunnelFailure("the agent has no session with the server now", true);
      }
      const added = Promise.withResolvers<void>();
      const tunnel = begin(one, added);
      for (const session of open) runUnattended("session", session.openOne(tunnel));
      await added.promise;
    },
    async remove(name) {
      const tunnel = [...living].find(({ options: { name: own } }) => own === name);
      if (!tunnel) return false;
      living.delete(tunnel);
      tunnel.service?.stop();
      await Promise.all([...sessions].map((session) => session.take(tunnel)));
      release(tunnel);
      tunnel.options.status?.({ state: "removed" });
      tunnel.added?.reject(new TunnelFailure("the tunnel was removed", false));
      return true;
    },
    join: (kept, alone) => new SessionTunnels(all, kept, alone),
    stop() {
      for (const session of sessions) session.pause();
      for (const { service } of living) service?.stop();
    },
  };
}
