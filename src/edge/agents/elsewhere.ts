/** What other edges hold, as the control plane tells it: tunnels that visitors here reach as if they were here. */
import { Patterns } from "../../lib/patterns.ts";
import type { DirectoryNews } from "../../routing/planes/directory.ts";
import { OtherEdge } from "./other-edge.ts";
import type { OtherEdgeOptions } from "./other-edge.ts";
import type { RemoteSession } from "./remote-session.ts";

export interface ElsewhereOptions extends Omit<OtherEdgeOptions, "count" | "counted" | "patterns"> {
  /** Tcp tunnels are not given the port for some time. */
  readonly avoidPort: (port: number) => void;
}

export interface Elsewhere {
  follow(news: readonly DirectoryNews[]): void;
  session(id: string): RemoteSession | undefined;
  countOfAccount(accountId: string): number;
  /** How many other nodes there are. */
  nodeCount(): number;
  /** The edges of this node, without this one. */
  siblings(): readonly string[];
  /** Ids of the agents that serve at other nodes. */
  agentsAtNodes(): ReadonlySet<string>;
}

export function followElsewhere(options: ElsewhereOptions): Elsewhere {
  const others = new Map<string, OtherEdge>();
  const sessionsOf = new Map<string, number>();
  const counted: OtherEdgeOptions["counted"] = (accountId, by) => {
    const count = (sessionsOf.get(accountId) ?? 0) + by;
    if (count > 0) sessionsOf.set(accountId, count);
    else sessionsOf.delete(accountId);
  };
  const parts = { ...options, counted, patterns: new Patterns(), count: (): number => others.size + 1 };
  const keepOnly = (edgeIds: readonly string[]): void => {
    for (const [edgeId, other] of others) {
      if (edgeIds.includes(edgeId)) continue;
      other.leave();
      others.delete(edgeId);
    }
  };
  const take = (news: DirectoryNews): void => {
    if (news.what === "edges") return keepOnly(news.edgeIds);
    const other = others.get(news.edgeId);
    if (news.what === "edge") {
      if (other) other.begin();
      else others.set(news.edgeId, new OtherEdge(news, parts));
      return;
    }
    switch (news.what) {
      case "told":
        return other?.told();
      case "gone":
        other?.leave();
        others.delete(news.edgeId);
        return;
      case "session":
        return other?.openSession(news.session);
      case "session_closed":
        return other?.closeSession(news.sessionId);
      case "tunnel":
        return other?.putTunnel(news.tunnel);
      case "tunnel_closed":
        return other?.closeTunnel(news.tunnelId, news.finishes);
      case "port_occupied":
        return options.avoidPort(news.port);
    }
  };
  return {
    follow(all) {
      for (const news of all) take(news);
    },
    session(id) {
      for (const other of others.values()) {
        const session = other.session(id);
        if (session) return session;
      }
      return undefined;
    },
    nodeCount: () => new Set([...others.values()].flatMap(({ node }) => node ?? [])).size,
    siblings: () => [...others].flatMap(([id, { node }]) => (node === undefined ? [id] : [])),
    agentsAtNodes: () =>
      new Set([...others.values()].flatMap((other) => (other.node === undefined ? [] : [...other.agentIds()]))),
    countOfAccount: (accountId) => sessionsOf.get(accountId) ?? 0,
  };
}
