/** What other edges hold, as the control plane tells it: tunnels that visitors here reach as if they were here. */
import type { Log } from "../../lib/log.ts";
import type { DirectoryNews, SharedTunnel } from "../../routing/planes/directory.ts";
import type { Peers } from "../peers/peers.ts";
import type { OpenTunnels } from "./open-tunnels.ts";
import type { Opening } from "./opening.ts";
import { RemoteSession } from "./remote-session.ts";
import type { Tunnel } from "./tunnel.ts";

export interface ElsewhereOptions {
  readonly peers: Peers;
  /** How many edges there are, with this one. */
  readonly count: number;
  readonly tunnels: Pick<OpenTunnels, "byId" | "open" | "change" | "close" | "withdraw">;
  readonly opening: Pick<Opening, "elsewhere">;
  /** Tcp tunnels are not given the port for some time. */
  readonly avoidPort: (port: number) => void;
  readonly log: Log;
}

export interface Elsewhere {
  follow(news: readonly DirectoryNews[]): void;
  session(id: string): RemoteSession | undefined;
  countOfAccount(accountId: string): number;
}

interface Other {
  address: string;
  readonly sessions: Map<string, RemoteSession>;
  readonly tunnels: Map<string, Known>;
  /** Ids of what has not been told again since the edge was told of anew. */
  readonly stale: Set<string>;
}

interface Known {
  readonly tunnel: Tunnel;
  /** As it was told. */
  readonly text: string;
}

export function followElsewhere({ peers, count, tunnels, opening, avoidPort, log }: ElsewhereOptions): Elsewhere {
  const others = new Map<string, Other>();
  const sessionsOf = new Map<string, number>();

  const closeTunnel = (other: Other, id: string, finishes = false): void => {
    const known = other.tunnels.get(id);
    other.tunnels.delete(id);
    other.stale.delete(id);
    if (known) tunnels[finishes ? "withdraw" : "close"](known.tunnel);
  };
  const closeSession = (other: Other, id: string): void => {
    const session = other.sessions.get(id);
    other.stale.delete(id);
    if (!session) return;
    other.sessions.delete(id);
    const left = (sessionsOf.get(session.accountId) ?? 1) - 1;
    if (left > 0) sessionsOf.set(session.accountId, left);
    else sessionsOf.delete(session.accountId);
  };
  const close = (other: Other, id: string): void => {
    closeTunnel(other, id);
    closeSession(other, id);
  };
  const put = (other: Other, shared: SharedTunnel): void => {
    const { id } = shared;
    const text = JSON.stringify(shared);
    const known = other.tunnels.get(id);
    other.stale.delete(id);
    if (known?.text === text && known.tunnel.online) return;
    const session = other.sessions.get(shared.sessionId);
    // One of this edge's own is newer: the control plane takes the other one away.
    if (!session || tunnels.byId(id)?.isElsewhere === false) return;
    try {
      const made = opening.elsewhere(shared, session);
      if (known && made.endpoint && isSame(known.tunnel, made)) {
        tunnels.change(known.tunnel, made.endpoint, made.metadata);
        other.tunnels.set(id, { tunnel: known.tunnel, text });
        return;
      }
      const before = tunnels.byId(id);
      if (before) tunnels.close(before);
      tunnels.open(made);
      other.tunnels.set(id, { tunnel: made, text });
    } catch (error) {
      // It is not served without what its agent has asked for.
      closeTunnel(other, id);
      log.error("tunnel of another edge not served here", { tunnel: id, error });
    }
  };
  const take = (news: DirectoryNews): void => {
    if (news.what === "edges") {
      for (const [edgeId, other] of others) {
        if (news.edgeIds.includes(edgeId)) continue;
        for (const id of [...other.tunnels.keys(), ...other.sessions.keys()]) close(other, id);
        others.delete(edgeId);
      }
      return;
    }
    const other = others.get(news.edgeId);
    if (news.what === "edge") {
      if (!other) others.set(news.edgeId, open(news.address));
      else for (const id of [...other.tunnels.keys(), ...other.sessions.keys()]) other.stale.add(id);
      return;
    }
    if (!other) return;
    switch (news.what) {
      case "told":
        for (const id of other.stale) close(other, id);
        return;
      case "session": {
        const { session } = news;
        other.stale.delete(session.id);
        if (other.sessions.has(session.id)) return;
        other.sessions.set(session.id, new RemoteSession(session, peers, other.address, count));
        sessionsOf.set(session.accountId, (sessionsOf.get(session.accountId) ?? 0) + 1);
        return;
      }
      case "port_occupied":
        avoidPort(news.port);
        return;
      case "session_closed":
        closeSession(other, news.sessionId);
        return;
      case "tunnel":
        put(other, news.tunnel);
        return;
      case "tunnel_closed":
        closeTunnel(other, news.tunnelId, news.finishes);
    }
  };
  return {
    follow(all) {
      for (const news of all) take(news);
    },
    session(id) {
      for (const { sessions } of others.values()) {
        const session = sessions.get(id);
        if (session) return session;
      }
      return undefined;
    },
    countOfAccount: (accountId) => sessionsOf.get(accountId) ?? 0,
  };
}

/** Whether one is the other as its agent has changed it. */
function isSame({ online, session, endpoint }: Tunnel, made: Tunnel): boolean {
  return (
    online &&
    session === made.session &&
    endpoint?.host === made.endpoint?.host &&
    endpoint?.port === made.endpoint?.port
  );
}

function open(address: string): Other {
  return { address, sessions: new Map(), tunnels: new Map(), stale: new Set() };
}
