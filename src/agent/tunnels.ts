/** The tunnels of an agent: those that it began with, and those that come and go while it runs. */
import { letGo } from "../lib/boundary.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { AgentEnd } from "./end.ts";
import { watchService } from "./service-watch.ts";
import { SessionTunnels } from "./session-tunnels.ts";
import type { AllTunnels, Kept, LivingTunnel } from "./session-tunnels.ts";
import type { TunnelOptions } from "./tunnel.ts";

interface TunnelsOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Whether to go on trying to open a tunnel that never was open. */
  readonly retryFirst: boolean;
}

/** Why a tunnel that was added did not come about. */
export class TunnelFailure extends Error {
  override readonly name = "TunnelFailure";
  /** There is no session with the server: it may be tried again. */
  readonly isOffline: boolean;

  constructor(message: string, isOffline: boolean) {
    super(message);
    this.isOffline = isOffline;
  }
}

export interface Tunnels {
  /**
   * Resolves when the last of those from the beginning has ended and none is left, with its reason; never while there
   * were none.
   */
  readonly over: Promise<AgentEnd>;
  /**
   * Has one more, in every session that there is and that comes. Resolves when it is open in one of them. Rejects with
   * `TunnelFailure` when it was refused, or there is no session: it is over then.
   */
  add(options: TunnelOptions): Promise<void>;
  /** Takes one away; resolves when the server knows, with whether there was one. What is under way goes on. */
  remove(name: string): Promise<boolean>;
  /** Has them in one more session, beside others; the arguments are those of `SessionTunnels`. */
  join(kept: Kept, alone: () => void): SessionTunnels;
  /** Nothing of them is watched or tried any more. */
  stop(): void;
}

export function makeTunnels(given: readonly TunnelOptions[], options: TunnelsOptions): Tunnels {
  const over = Promise.withResolvers<AgentEnd>();
  const living = new Set<LivingTunnel>();
  const sessions = new Set<SessionTunnels>();
  const begin = (one: TunnelOptions, added: LivingTunnel["added"]): LivingTunnel => {
    // What the agent serves itself does not go away.
    const service =
      one.service && !one.upstream.local ? watchService(one.upstream, options.clock, one.service) : undefined;
    const openIn = new Set<SessionTunnels>();
    const tunnel = { options: one, service, added, wasOpen: false, openIn, made: undefined, making: undefined };
    living.add(tunnel);
    return tunnel;
  };
  const finish = (tunnel: LivingTunnel, end: AgentEnd): void => {
    if (!living.delete(tunnel)) return;
    tunnel.service?.stop();
    for (const session of sessions) session.drop(tunnel);
    tunnel.options.status?.({ state: "ended", end });
    if (tunnel.added) tunnel.added.reject(new TunnelFailure(end.message, false));
    else if (living.size === 0) over.resolve(end);
  };
  const all: AllTunnels = { ...options, living, sessions, finish };
  for (const one of given) begin(one, undefined);
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
      for (const session of open) letGo("session", session.openOne(tunnel));
      await added.promise;
    },
    async remove(name) {
      const tunnel = [...living].find(({ options: { name: own } }) => own === name);
      if (!tunnel) return false;
      living.delete(tunnel);
      tunnel.service?.stop();
      await Promise.all([...sessions].map((session) => session.take(tunnel)));
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
