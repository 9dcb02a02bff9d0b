/** Moves the tunnels of a session that ends soon to a session that holds them until their agent is elsewhere. */
import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import type { Upward } from "../../routing/planes/messages.ts";
import type { AgentSession } from "../../tunnel/server-hooks.ts";
import type { EndpointHosts } from "./names/endpoint-hosts.ts";
import type { Opening } from "./opening/opening.ts";
import { ParkedSession } from "./parked-session.ts";
import { renderSession } from "./protocol-hooks.ts";
import type { TunnelGroups } from "./register/tunnel-groups.ts";
import type { OpenTunnels } from "./register/open-tunnels.ts";
import type { SessionBook } from "./register/session-book.ts";
import { RemoteSession } from "./remote/remote-session.ts";
import type { Tunnel } from "./tunnels/tunnel.ts";

/** Tunnels whose visitors wait for their agent. */
export interface ParkedTunnels {
  /** Whether the agent has opened all of them elsewhere. */
  areGone(): boolean;
  /** Closes the rest. Visitors wait no longer. May be repeated. */
  end(): void;
}

export interface ParkingOptions {
  readonly hosts: EndpointHosts;
  readonly groups: TunnelGroups;
  readonly sessions: SessionBook;
  readonly tunnels: OpenTunnels;
  readonly opening: Opening;
  /** Removes a session and its tunnels. */
  readonly leave: (session: AgentSession) => void;
  readonly report: (message: Upward) => void;
  readonly region: string;
  readonly clock: Clock;
}

/** Returns `AgentRegistry.park`. */
export function makeParking(options: ParkingOptions): (session: AgentSession) => ParkedTunnels | undefined {
  const { hosts, groups, sessions, tunnels, opening, leave, clock, report, region } = options;
  const isServedAtNode = (tunnel: Tunnel): boolean => {
    const others = tunnel.name === "" ? groups.alike(tunnel) : hosts.tunnels(tunnel.name);
    return others.some(({ session }) => session instanceof RemoteSession && session.isAtNode);
  };
  const mayWait = (tunnel: Tunnel): boolean => !tunnel.name.startsWith(":") && !isServedAtNode(tunnel);
  return (session) => {
    const held = sessions.tunnelsOf(session);
    const waiting = new Set(held.filter(mayWait));
    for (const tunnel of held) if (!waiting.has(tunnel)) tunnels.withdraw(tunnel);
    if (waiting.size === 0) return undefined;
    const now = clock.now();
    const parked = new ParkedSession(session, newId("ts", now), now);
    sessions.add(parked);
    report({ type: "session_opened", session: renderSession(parked, region) });
    for (const tunnel of waiting) tunnels.replace(tunnel, opening.copy(tunnel, parked));
    return {
      areGone: () => sessions.tunnelsOf(parked).length === 0,
      end() {
        leave(parked);
        parked.release();
      },
    };
  };
}
