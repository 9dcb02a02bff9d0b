import type { Clock } from "../lib/clock.ts";
import type { AgentRegistry } from "./agents/registry.ts";
import type { AgentSession } from "../tunnel/server-hooks.ts";
import type { DataPlane } from "./data-plane.ts";

/** Share of the delay in which all agents are told to move. The last ones need the rest to connect elsewhere. */
const agentsShare = 0.8;

const drainCheckMs = 20;
/** Interval between closing two agents, if there is enough time, milliseconds. */
const agentMs = 10;
/** Maximum time to wait for agents that are not yet connected elsewhere, milliseconds. */
const moveMs = 2_000;
/** Maximum time to wait for clients of WebSockets that were closed, milliseconds. */
const goodbyeMs = 1_000;

/**
 * Tells clients to reconnect, and agents one after the other to connect elsewhere. Everything is served meanwhile.
 * Resolves after `delayMs`, when all were told.
 */
export function retired({ context, registry, agents }: DataPlane, clock: Clock, delayMs: number): Promise<void> {
  for (const connection of context.connections.members()) connection.retire();
  agents.retire();
  const told = new Set<AgentSession>();
  const beganAt = clock.monotonic();
  return untilOver(clock, () => {
    const share = Math.min(1, (clock.monotonic() - beganAt) / (delayMs * agentsShare));
    const sessions = registry.sessions();
    const due = Math.ceil(sessions.length * share);
    for (const session of sessions.slice(0, due)) {
      if (told.has(session)) continue;
      told.add(session);
      session.moveAway();
    }
    return clock.monotonic() >= beganAt + delayMs;
  });
}

/** Resolves when `isOver` returns true. Checks it periodically, first after one interval. */
function untilOver(clock: Clock, isOver: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.every(drainCheckMs, () => {
      if (!isOver()) return;
      timer.cancel();
      resolve();
    });
  });
}

/**
 * Moves other nodes' visitors away: their edges learn that the tunnels here are closed, and their requests may finish.
 * Resolves when they have finished, or after `boundMs`. First waits briefly for our agents that are still connecting
 * elsewhere.
 */
export async function left({ registry, agents, peers }: DataPlane, clock: Clock, boundMs: number): Promise<void> {
  if (!peers) return;
  const beganAt = clock.monotonic();
  const isLate = (afterMs: number): boolean => clock.monotonic() - beganAt >= Math.min(afterMs, boundMs);
  const isServed = (): boolean => registry.isServedElsewhere();
  if (agents.isRetired && !isServed()) await untilOver(clock, () => isServed() || isLate(moveMs));
  const sessions = registry.sessions();
  for (const session of sessions) if (session.agentId !== "") registry.withdraw(session);
  const alone = sessions.filter(({ agentId }) => agentId === "");
  if (alone.length > 0) await closedOneByOne(alone, registry, clock, beganAt + boundMs - clock.monotonic());
  if (peers.serving > 0) await untilOver(clock, () => peers.serving === 0 || isLate(boundMs));
}

/**
 * Closes agents with a single session, which connect elsewhere shortly afterwards. Each is closed when its requests
 * have finished, one after the other so that they arrive at other nodes gradually. Resolves when all are closed, or
 * after `boundMs`.
 */
function closedOneByOne(
  sessions: readonly AgentSession[],
  registry: Pick<AgentRegistry, "withdraw">,
  clock: Clock,
  boundMs: number,
): Promise<void> {
  const beganAt = clock.monotonic();
  const spanMs = Math.min(boundMs * agentsShare, sessions.length * agentMs);
  let begun = 0;
  const leaving = new Set<AgentSession>();
  return untilOver(clock, () => {
    const elapsed = clock.monotonic() - beganAt;
    const due = Math.ceil(sessions.length * Math.min(1, elapsed / spanMs));
    for (const session of sessions.slice(begun, due)) {
      registry.withdraw(session);
      leaving.add(session);
    }
    begun = Math.max(begun, due);
    for (const session of leaving) {
      if (session.openStreams > 0) continue;
      leaving.delete(session);
      session.close("the server is stopping");
    }
    return elapsed >= boundMs || (begun === sessions.length && leaving.size === 0);
  });
}

/**
 * Closes the remaining WebSockets with a close frame, and waits briefly for their clients. Resolves immediately if there
 * are none.
 */
export function closedWebSockets({ context }: Pick<DataPlane, "context">, clock: Clock): Promise<void> {
  const open = context.connections.members().filter((connection) => connection.leave());
  if (open.length === 0) return Promise.resolve();
  const endsAt = clock.monotonic() + goodbyeMs;
  return untilOver(clock, () => clock.monotonic() >= endsAt || open.every(({ place }) => place < 0));
}

/** Open connections that public listeners have accepted, including those without a request. */
export interface Accepted {
  readonly count: () => number;
  /** Maximum time to wait for such connections. */
  readonly waitMs: number;
}

/** Waits for requests and connections in flight. Resolves when they have finished, or after `boundMs`. */
export function drained(
  { context, splices }: DataPlane,
  clock: Clock,
  boundMs: number,
  accepted: Accepted,
): Promise<void> {
  const now = clock.monotonic();
  const endsAt = now + boundMs;
  const waitsUntil = now + Math.min(boundMs, accepted.waitMs);
  const close = (waits: boolean): void => {
    for (const connection of context.connections.members()) {
      if (waits && connection.mayBeAsked) connection.retire();
      else connection.drain();
    }
  };
  close(accepted.waitMs > 0);
  const isEmpty = (waits: boolean): boolean =>
    context.connections.size + splices.open + (waits ? accepted.count() : 0) === 0;
  if (isEmpty(accepted.waitMs > 0)) return Promise.resolve();
  return untilOver(clock, () => {
    const waits = clock.monotonic() < waitsUntil;
    if (!waits) close(false);
    return isEmpty(waits) || clock.monotonic() >= endsAt;
  });
}
