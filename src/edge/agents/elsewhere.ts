/** What other edges hold, as the control plane tells it: tunnels that visitors here reach as if they were here. */
import type { DirectoryNews } from "../../directory/news.ts";
import type { PeerPlace } from "../peers/transport.ts";
import { RemoteAgents } from "./remote-agents.ts";
import type { RemoteAgentsOptions } from "./remote-agents.ts";
import type { RemoteSession } from "./remote-session.ts";

export interface ElsewhereOptions extends Omit<RemoteAgentsOptions, "count" | "placeOf"> {
  /** Tcp tunnels are not given the port for some time. */
  readonly avoidPort: (port: number) => void;
}

export interface Elsewhere {
  follow(news: readonly DirectoryNews[]): void;
  session(id: string): RemoteSession | undefined;
  countOfAccount(accountId: string): number;
  /** Somebody has come for the tunnels that serve a name, or for one of them. */
  wake(name: string): void;
  wakeTunnel(id: string): void;
  /** How many other nodes there are. */
  nodeCount(): number;
  /** The edges of this node, without this one. */
  siblings(): readonly string[];
  /** Ids of the agents that serve at other nodes. */
  agentsAtNodes(): ReadonlySet<string>;
}

interface OtherEdge extends PeerPlace {
  /** No other edge had or will have it. */
  readonly number: number;
  /** Of the server that it is of, where that is another one. */
  readonly node: string | undefined;
  /** Ids of what has not been told again since the edge was told of anew. */
  readonly stale: Set<string>;
}

export function followElsewhere(options: ElsewhereOptions): Elsewhere {
  const others = new Map<string, OtherEdge>();
  const places = new Map<number, PeerPlace>();
  let lastNumber = 0;
  const agents = new RemoteAgents({
    ...options,
    count: () => others.size + 1,
    placeOf: (edge) => places.get(edge) as PeerPlace,
  });
  const closeAll = ({ number }: OtherEdge, ids: Iterable<string>): void => {
    for (const id of ids) {
      agents.closeTunnel(number, id, false);
      agents.closeSession(number, id);
    }
  };
  const leave = (other: OtherEdge): void => {
    closeAll(other, agents.idsAt(other.number));
    others.delete(other.edgeId);
    places.delete(other.number);
  };
  const keepOnly = (edgeIds: readonly string[]): void => {
    for (const [edgeId, other] of others) if (!edgeIds.includes(edgeId)) leave(other);
  };
  const join = ({ edgeId, address, node }: PeerPlace & { readonly node?: string }): void => {
    const other = others.get(edgeId);
    if (other) {
      // It is told of anew: what is not told again until that is over.
      for (const id of agents.idsAt(other.number)) other.stale.add(id);
      return;
    }
    const ofNode = address.startsWith("tls:") ? (node ?? edgeId) : undefined;
    lastNumber += 1;
    others.set(edgeId, { edgeId, address, node: ofNode, number: lastNumber, stale: new Set() });
    places.set(lastNumber, { edgeId, address });
  };
  const tell = (news: DirectoryNews, other: OtherEdge): void => {
    const { number, stale } = other;
    switch (news.what) {
      case "told":
        closeAll(other, stale);
        stale.clear();
        return;
      case "gone":
        return leave(other);
      case "session":
        stale.delete(news.session.id);
        return agents.openSession(number, news.session);
      case "session_closed":
        stale.delete(news.sessionId);
        return agents.closeSession(number, news.sessionId);
      case "tunnel":
        stale.delete(news.shared.id);
        return agents.putTunnel(number, news.shared);
      case "tunnel_closed":
        stale.delete(news.tunnelId);
        return agents.closeTunnel(number, news.tunnelId, news.finishes);
    }
  };
  const take = (news: DirectoryNews): void => {
    if (news.what === "edges") return keepOnly(news.edgeIds);
    if (news.what === "edge") return join(news);
    if (news.what === "port") return options.avoidPort(news.port);
    const other = others.get(news.edgeId);
    if (other) tell(news, other);
  };
  const ofNodes = (): OtherEdge[] => [...others.values()].filter(({ node }) => node !== undefined);
  return {
    follow(all) {
      for (const news of all) take(news);
    },
    session: (id) => agents.session(id),
    wake: (name) => agents.wake(name),
    wakeTunnel: (id) => agents.wakeTunnel(id),
    nodeCount: () => new Set(ofNodes().map(({ node }) => node)).size,
    siblings: () => [...others].flatMap(([id, { node }]) => (node === undefined ? [id] : [])),
    agentsAtNodes() {
      const meant = new Set(ofNodes().map(({ number }) => number));
      return agents.agentIds((edge) => meant.has(edge));
    },
    countOfAccount: (accountId) => agents.sessionsOfAccount(accountId),
  };
}
