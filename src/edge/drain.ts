import type { Clock } from "../lib/clock.ts";
import type { AgentRegistry } from "./agents/registry.ts";
import type { AgentSession } from "../tunnel/server-hooks.ts";
import type { DataPlane } from "./data-plane.ts";
import { makeDepartures } from "./agents/departures.ts";

/** Share of the delay in which all agents are told to move. The last ones need the rest to connect elsewhere. */
const agentsShare = 0.8;

const drainCheckMs = 20;
/** Interval between closing two agents, if there is enough time, milliseconds. */
const agentMs = 10;
/** Maximum time to wait for agents that are not yet connected elsewhere, milliseconds. */
const moveMs = 5_000;
/** Interval between two searches for agents that are connected elsewhere, milliseconds. */
const roundMs = 200;
/** Maximum time for requests of other nodes and for clients of closed WebSockets at the end, milliseconds. */
const goodbyeMs = 1_000;

/**
 * Tells clients to reconnect, and agents one after the other to connect elsewhere. Everything is served meanwhile.
 * Resolves after `delayMs`, when all were told.
 * @param movers gets the sessions whose agents connect elsewhere and keep this session until the server closes it
 */
export function retireEdge(
  { context, registry, agents }: DataPlane,
  clock: Clock,
  delayMs: number,
  movers: Set<AgentSession>,
): Promise<void> {
  for (const connection of context.connections.members()) connection.retire();
  agents.retire();
  const notified = new Set<AgentSession>();
  const beganAt = clock.monotonic();
  return untilOver(clock, () => {
    const share = Math.min(1, (clock.monotonic() - beganAt) / (delayMs * agentsShare));
    const sessions = registry.sessions();
    const due = Math.ceil(sessions.length * share);
    for (const session of sessions.slice(0, due)) {
      if (notified.has(session)) continue;
      notified.add(session);
      if (session.moveAway()) movers.add(session);
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
 * Moves visitors to the agents' sessions at other nodes. A session gets no new requests as soon as its agent serves
 * elsewhere, and its requests may finish. Agents that cannot have a second session are closed one by one. Resolves when
 * all have left and no request of another node is in progress, or after `boundMs`. Without other nodes, visitors here
 * need the agents, and it resolves immediately.
 */
export async function waitForVisitorsToLeave(
  { registry, peers }: DataPlane,
  clock: Clock,
  boundMs: number,
  movers: ReadonlySet<AgentSession>,
): Promise<void> {
  if (!peers || registry.nodeCount() === 1) return;
  const beganAt = clock.monotonic();
  let nextRoundAt = beganAt;
  const staying = new Set(registry.sessions().filter((one) => one.agentId !== "" || movers.has(one)));
  const alone = registry.sessions().filter((one) => !staying.has(one));
  const moved = untilOver(clock, () => {
    const now = clock.monotonic();
    if (now >= nextRoundAt) {
      nextRoundAt = now + roundMs;
      const isServedElsewhere = registry.servedElsewhere();
      for (const session of staying) {
        if (!isServedElsewhere(session)) continue;
        registry.withdraw(session);
        staying.delete(session);
      }
    }
    const waitsForAgents = staying.size > 0 && movers.size > 0 && now - beganAt < moveMs;
    return now - beganAt >= boundMs || (!waitsForAgents && peers.serving === 0);
  });
  await Promise.all([moved, alone.length > 0 && closeOneByOne(alone, registry, clock, boundMs)]);
}

/** Withdraws all agents. Resolves when the requests of other nodes have finished, after a short time at most. */
export function withdrawAgents({ registry, peers }: DataPlane, clock: Clock): Promise<void> {
  for (const session of registry.sessions()) registry.withdraw(session);
  if (!peers?.serving) return Promise.resolve();
  const endsAt = clock.monotonic() + goodbyeMs;
  return untilOver(clock, () => peers.serving === 0 || clock.monotonic() >= endsAt);
}

/**
 * Closes agents with a single session, one after the other so that they arrive at other nodes gradually. Each is closed
 * when its requests have finished, and then visitors wait for it. Resolves when all have connected elsewhere, or after
 * `boundMs`.
 */
function closeOneByOne(
  sessions: readonly AgentSession[],
  registry: Pick<AgentRegistry, "park">,
  clock: Clock,
  boundMs: number,
): Promise<void> {
  const beganAt = clock.monotonic();
  const spanMs = Math.min(boundMs * agentsShare, sessions.length * agentMs);
  const departures = makeDepartures(registry, clock, "the server is stopping: connect again to reach another one");
  let begun = 0;
  return untilOver(clock, () => {
    const elapsed = clock.monotonic() - beganAt;
    const due = Math.ceil(sessions.length * Math.min(1, elapsed / spanMs));
    for (const session of sessions.slice(begun, due)) departures.add(session, beganAt + boundMs);
    begun = Math.max(begun, due);
    departures.step();
    if (elapsed < boundMs) return begun === sessions.length && departures.size === 0;
    departures.finish();
    return true;
  });
}

/**
 * Closes the remaining WebSockets with a close frame, and waits briefly for their clients. Resolves immediately if there
 * are none.
 */
export function closeWebSockets({ context }: Pick<DataPlane, "context">, clock: Clock): Promise<void> {
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
export function waitForDrain(
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
