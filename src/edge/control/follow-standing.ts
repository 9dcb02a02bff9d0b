/**
 * Follows the standing of this edge's node. While only this node is cut off from the database or from the other nodes, its
 * agents open sessions at other nodes, and their sessions here continue to serve. A node that is cut off from both does
 * the same, but accepts agents, because it does not know whether another node does.
 */
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { NodeMembership } from "../../routing/planes/edge-questions.ts";
import type { AgentServer } from "../../tunnel/agent-server.ts";
import type { AgentSession } from "../../tunnel/server-hooks.ts";
import type { AgentRegistry } from "../agents/registry.ts";
import { makeDepartures } from "../agents/departures.ts";

export interface StandingOptions {
  readonly registry: Pick<AgentRegistry, "sessions" | "withdraw" | "park" | "servedElsewhere">;
  readonly agents: Pick<AgentServer, "turnAway">;
  /** Asks clients with open connections to reconnect, because a load balancer sends them to another node. */
  readonly retireClients: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

export interface EdgeStanding {
  readonly current: NodeMembership;
  take(standing: NodeMembership): void;
}

/** Interval between two agents, so that they reach the other nodes one after the other, milliseconds. */
const stepMs = 10;
/** Longest time that the requests of a session get to finish, milliseconds. */
const finishMs = 10_000;
/** Time after the return in which this edge learns which agents are at other nodes, milliseconds. */
const learnMs = 5_000;
/** Interval between two searches for such agents, milliseconds. */
const roundMs = 1_000;
/** Time after the return in which agents connect elsewhere. Later their sessions here stay, milliseconds. */
const settleMs = 60_000;

export function followStanding({ registry, agents, retireClients, clock, log }: StandingOptions): EdgeStanding {
  let current: NodeMembership = "member";
  let timer: Timer | undefined;
  /** Sessions whose agents were asked to connect elsewhere. */
  const asked = new Set<AgentSession>();
  /** Sessions that end when their requests have finished, with the latest time for that. */
  const leaving = new Map<AgentSession, number>();

  const departures = makeDepartures(registry, clock, "connect to another server");

  const leave = (session: AgentSession): void => {
    registry.withdraw(session);
    leaving.set(session, clock.monotonic() + finishMs);
  };
  const closeLeft = (): void => {
    for (const [session, endsAt] of leaving) {
      if (session.openStreams > 0 && clock.monotonic() < endsAt) continue;
      leaving.delete(session);
      session.close("connect to another server");
    }
  };
  /** Runs `step` periodically until it returns false and no session is leaving. */
  const work = (step: () => boolean): void => {
    timer?.cancel();
    timer = clock.every(stepMs, () => {
      const goesOn = step();
      closeLeft();
      departures.step();
      if (!goesOn && leaving.size + departures.size === 0) timer?.cancel();
    });
  };
  /** Agents that cannot have a second session are disconnected, after all others were asked. */
  const sendAway = (): void => {
    const waiting = [...registry.sessions()];
    const last: AgentSession[] = [];
    log.info("agents are asked to connect to other nodes", { sessions: waiting.length });
    work(() => {
      const session = waiting.shift();
      if (session?.moveAway()) asked.add(session);
      else if (session) last.push(session);
      else if (last.length > 0) departures.add(last.shift() as AgentSession, clock.monotonic() + finishMs);
      return waiting.length + last.length > 0;
    });
  };
  /** Returns the asked sessions whose agents have another session by now. */
  const movedAway = (): AgentSession[] => {
    const sessions = registry.sessions();
    const open = new Set(sessions);
    for (const one of asked) if (!open.has(one)) asked.delete(one);
    const isServedElsewhere = registry.servedElsewhere();
    const again = new Set(sessions.flatMap((one) => (asked.has(one) || one.agentId === "" ? [] : [one.agentId])));
    return sessions.filter(
      (session) => asked.has(session) && (again.has(session.agentId) || isServedElsewhere(session)),
    );
  };
  /** Closes the sessions of agents that have connected elsewhere. */
  const settle = (): void => {
    const endsAt = clock.monotonic() + settleMs;
    let nextRoundAt = clock.monotonic() + learnMs;
    let moved: AgentSession[] = [];
    work(() => {
      const now = clock.monotonic();
      if (moved.length === 0 && now >= nextRoundAt) {
        moved = movedAway();
        nextRoundAt = now + roundMs;
      }
      const session = moved.shift();
      if (session && asked.delete(session)) leave(session);
      if (now >= endsAt) asked.clear();
      return asked.size > 0;
    });
  };
  return {
    get current() {
      return current;
    },
    take(standing) {
      const before = current;
      current = standing;
      agents.turnAway(standing === "excluded");
      if (isAway(standing) && !isAway(before)) {
        sendAway();
        retireClients();
      }
      if (!isAway(standing) && isAway(before)) settle();
    },
  };
}

/** Whether agents serve better at other nodes. */
function isAway(standing: NodeMembership): boolean {
  return standing === "excluded" || standing === "alone";
}
