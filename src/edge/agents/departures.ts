/**
 * Ends sessions of agents that cannot have a second one. Each session ends when its requests have finished. Visitors
 * wait meanwhile, and until the agent has connected elsewhere.
 */
import type { Clock } from "../../lib/clock.ts";
import type { AgentSession } from "../../tunnel/server-hooks.ts";
import type { ParkedTunnels } from "./parking.ts";
import type { AgentRegistry } from "./registry.ts";

export interface Departures {
  /** Number of sessions whose agents have not yet connected elsewhere. */
  readonly size: number;
  /** @param endsAt latest time for the end of its requests, see `Clock.monotonic` */
  add(session: AgentSession, endsAt: number): void;
  /** Call periodically. */
  step(): void;
  /** Stops waiting for agents. */
  finish(): void;
}

/** Longest time that visitors wait for the end of a session's requests, and again for the agent, milliseconds. */
const holdMs = 2_000;
/** Time until every edge knows where an agent is, milliseconds. */
const spreadMs = 100;

interface Departure {
  readonly session: AgentSession;
  readonly endsAt: number;
  readonly parked: ParkedTunnels | undefined;
  readonly parkedAt: number;
  closedAt: number | undefined;
  /** When the agent had all its tunnels elsewhere. */
  movedAt: number | undefined;
}

/** @param reason told to the agents */
export function makeDepartures(registry: Pick<AgentRegistry, "park">, clock: Clock, reason: string): Departures {
  const departures = new Set<Departure>();
  const closes = (one: Departure, now: number): void => {
    if (one.closedAt !== undefined || (one.session.openStreams > 0 && now < one.endsAt)) return;
    one.closedAt = now;
    one.session.close(reason);
  };
  /** Whether no visitor needs to wait for the agent any more. */
  const isOver = (one: Departure, now: number): boolean => {
    const { parked, parkedAt, closedAt = parkedAt } = one;
    if (!parked) return true;
    if (parked.areGone()) one.movedAt ??= now;
    return now >= closedAt + holdMs || now >= (one.movedAt ?? Infinity) + spreadMs;
  };
  return {
    get size() {
      return departures.size;
    },
    add(session, endsAt) {
      const parkedAt = clock.monotonic();
      const parked = registry.park(session);
      departures.add({ session, endsAt, parked, parkedAt, closedAt: undefined, movedAt: undefined });
    },
    step() {
      const now = clock.monotonic();
      for (const one of departures) {
        closes(one, now);
        if (!isOver(one, now)) continue;
        one.parked?.end();
        if (one.closedAt !== undefined) departures.delete(one);
      }
    },
    finish() {
      for (const { parked } of departures) parked?.end();
      departures.clear();
    },
  };
}
