/** Follows the news of other edges. Visitors here reach the agents of other edges as if they were connected here. */
import type { DirectoryNews } from "../../../directory/news.ts";
import type { AgentEndpoint } from "../../../routing/planes/edge-questions.ts";
import type { PeerPlace } from "../../peers/peer-transport.ts";
import { RemoteAgents } from "./remote-agents.ts";
import type { RemoteAgentsOptions } from "./remote-agents.ts";
import type { RemoteSession } from "./remote-session.ts";

export interface ElsewhereOptions extends Omit<RemoteAgentsOptions, "count"> {
  /** Excludes a port from tcp tunnels for some time. */
  readonly avoidPort: (port: number) => void;
}

export interface Elsewhere {
  follow(news: readonly DirectoryNews[]): void;
  session(id: string): RemoteSession | undefined;
  countOfAccount(accountId: string): number;
  /** Iterates over the endpoints of the account's agents. */
  endpointsOf(accountId: string): Iterable<AgentEndpoint>;
  /** Called when a visitor requests the tunnels that serve a name. */
  wake(name: string): void;
  /** Like `wake`, by the id of one of the tunnels. */
  wakeTunnel(id: string): void;
  /** Number of other nodes that are members of the cluster. */
  nodeCount(): number;
  /** Returns the edges of this node, without this one. */
  siblings(): readonly string[];
  /** Returns the ids of the agents that serve at other nodes, each with the number of tunnels of its largest session. */
  agentsAtNodes(): ReadonlyMap<string, number>;
}

interface OtherEdge extends PeerPlace {
  /** The edge's node, if it is not this node. */
  readonly node: string | undefined;
  /** Ids that the edge had before it joined again and has not reported since. */
  readonly stale: Set<string>;
  /** Whether the edge's node is cut off from the database. */
  isAway: boolean;
}

export function followElsewhere(options: ElsewhereOptions): Elsewhere {
  const otherEdges = new Map<string, OtherEdge>();
  const agents = new RemoteAgents<OtherEdge>({ ...options, count: () => otherEdges.size + 1 });
  const leave = (other: OtherEdge): void => {
    agents.leave(other);
    otherEdges.delete(other.edgeId);
  };
  const keepOnly = (edgeIds: readonly string[]): void => {
    for (const [edgeId, other] of otherEdges) if (!edgeIds.includes(edgeId)) leave(other);
  };
  const join = ({ edgeId, address, node }: PeerPlace & { readonly node?: string }): void => {
    const other = otherEdges.get(edgeId);
    if (other) {
      for (const id of agents.idsAt(other)) other.stale.add(id);
      return;
    }
    const ofNode = address.startsWith("tls:") ? (node ?? edgeId) : undefined;
    otherEdges.set(edgeId, { edgeId, address, node: ofNode, stale: new Set(), isAway: false });
  };
  const followEdge = (news: DirectoryNews, other: OtherEdge): void => {
    const { stale } = other;
    switch (news.what) {
      case "told":
        agents.closeAll(other, stale);
        stale.clear();
        return;
      case "gone":
        return leave(other);
      case "away":
        other.isAway = news.isAway;
        return;
      case "session":
        stale.delete(news.session.id);
        return agents.openSession(other, news.session);
      case "session_closed":
        stale.delete(news.sessionId);
        return agents.closeSession(other, news.sessionId);
      case "tunnel":
        stale.delete(news.shared.id);
        return agents.putTunnel(other, news);
      case "tunnel_closed":
        stale.delete(news.tunnelId);
        return agents.closeTunnel(other, news.tunnelId, news.finishes);
    }
  };
  const take = (news: DirectoryNews): void => {
    if (news.what === "edges") return keepOnly(news.edgeIds);
    if (news.what === "edge") return join(news);
    if (news.what === "port") return options.avoidPort(news.port);
    const other = otherEdges.get(news.edgeId);
    if (other) followEdge(news, other);
  };
  const ofNodes = (): OtherEdge[] => [...otherEdges.values()].filter(({ node }) => node !== undefined);
  return {
    follow(all) {
      for (const news of all) take(news);
    },
    session: (id) => agents.session(id),
    wake: (name) => agents.wake(name),
    wakeTunnel: (id) => agents.wakeTunnel(id),
    nodeCount: () => new Set(ofNodes().flatMap(({ node, isAway }) => (isAway ? [] : [node]))).size,
    siblings: () => [...otherEdges].flatMap(([id, { node }]) => (node === undefined ? [id] : [])),
    agentsAtNodes() {
      return agents.agents(({ node }) => node !== undefined);
    },
    endpointsOf: (accountId) => agents.endpointsOf(accountId),
    countOfAccount: (accountId) => agents.sessionsOfAccount(accountId),
  };
}
