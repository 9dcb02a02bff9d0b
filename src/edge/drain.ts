import type { Clock } from "../lib/clock.ts";
import type { AgentRegistry } from "./agents/registry.ts";
import type { AgentSession } from "../tunnel/server-hooks.ts";
import type { DataPlane } from "./data-plane.ts";

/** Of the delay, in which all agents are told: the last ones need some of it to connect elsewhere. */
const agentsShare = 0.8;

const drainCheckMs = 20;
/** Between two agents that are closed one after the other, where there is time for it. */
const agentMs = 10;
/** How long agents are waited for that are not elsewhere yet. */
const moveMs = 2_000;

/**
 * Tells clients to connect anew, and agents to connect elsewhere, one after the other, while everything is served as
 * before. Resolves after `delayMs`, by when all were told.
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

/** Looks again and again, first after a while. */
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
 * Has the visitors of other nodes go elsewhere as well: those are told that the tunnels here have gone, and what is under
 * way through them may end. Resolves when it has, or after `boundMs`. Agents of ours that were told to go elsewhere may
 * still be on their way: they are waited for a little before.
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
 * Agents with one session are elsewhere a moment after that was closed: each is closed when what is under way through it
 * has ended, and they come to other nodes one after the other. Resolves when all are, or after `boundMs`.
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

/** What listeners for the public have accepted and is open, also of what has not asked for anything. */
export interface Accepted {
  readonly count: () => number;
  /** How long such connections are waited for. */
  readonly waitMs: number;
}

/** Lets requests and connections in flight end by themselves; resolves when they have, or after `boundMs`. */
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
