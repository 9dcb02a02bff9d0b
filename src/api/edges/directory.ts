/**
 * Directory of this node: which of its edges has which session and tunnel. It sends this news to the other edges, so
 * that visitors of any edge reach all agents. It also shares the news with the other nodes and decides on claims of
 * names.
 */
import { makeNameClaims } from "../../directory/name-claims.ts";
import type { NameClaims } from "../../directory/name-claims.ts";
import { newsOf } from "../../directory/news.ts";
import type { DirectoryNews, SessionEntry, SharedTunnel, TunnelEntry } from "../../directory/news.ts";
import { Replica } from "../../directory/replica.ts";
import type { SessionReport, TunnelReport } from "../../directory/agent-reports.ts";
import type { Upward } from "../../routing/planes/messages.ts";
import type { EdgeLine, EdgeObserver } from "./edges.ts";
import { trackPublications } from "./publications.ts";

/** The other nodes, as this node's directory uses them. */
export interface OtherNodes {
  /** Returns claims that hold over all nodes; `local` are the claims of this node. */
  claims(local: NameClaims<EdgeLine>): NameClaims<EdgeLine>;
  /** Shares an edge of this node with the other nodes. */
  putEdge(edgeId: string, port: number): void;
  /** Shares a session or tunnel of an edge of this node. */
  put(entry: SessionEntry | TunnelEntry): void;
  /** Reserves a port that another program uses on this machine. No tunnel gets the port for some time. */
  occupied(edgeId: string, port: number): void;
  remove(id: string): void;
  /** Calls `done` once the edges of other nodes serve everything that was put, or after a short timeout. */
  told(done: () => void): void;
  /** Returns all news of the other nodes. */
  news(): readonly DirectoryNews[];
  edgeIds(): readonly string[];
  /** Last change of the other nodes that `news` contains. */
  change(): number;
  /**
   * Called once. `told` gets news of the other nodes in order. `taken` gets sessions and tunnels that moved to another
   * node, or tunnels that lost their name.
   */
  follow(onNews: (news: readonly DirectoryNews[]) => void, taken: (id: string, moved: boolean) => void): void;
}

/** An edge that reaches agents of other edges. */
interface SharingEdge {
  readonly edgeId: string;
  readonly address: string;
  /** Whether the edge has reported everything that it had at its hello. */
  isTold: boolean;
}

export interface DirectoryOptions {
  /** Number of the node's edges. Leftovers of a crash are removed once all edges are connected again. */
  readonly lineCount: number;
  /** Undefined for a server without a cluster. */
  readonly nodes?: OtherNodes | undefined;
  /** Where the agents of this node's edges are stored. */
  readonly agents?: Replica<EdgeLine>;
}

export function keepDirectory(options: DirectoryOptions): EdgeObserver {
  const directory = new Directory(options);
  return { receive: (message, line) => directory.receive(message, line) };
}

class Directory {
  readonly #lineCount: number;
  readonly #nodes: OtherNodes | undefined;
  readonly #agents: Replica<EdgeLine>;
  readonly #edges = new Map<EdgeLine, SharingEdge>();
  readonly #claims: NameClaims<EdgeLine>;
  readonly #publications = trackPublications(() => this.#nodes?.change() ?? 0);

  constructor({ lineCount, nodes, agents = new Replica() }: DirectoryOptions) {
    this.#lineCount = lineCount;
    this.#nodes = nodes;
    this.#agents = agents;
    const local = makeNameClaims<EdgeLine>();
    this.#claims = nodes?.claims(local) ?? local;
    nodes?.follow(
      (news) => this.#tellAll(news),
      (id, moved) => this.#taken(id, moved),
    );
  }

  receive(message: Upward, line: EdgeLine): void {
    switch (message.type) {
      case "hello": {
        const { edgeId, peerAddress, peerPort } = message;
        this.#leave(line);
        if (peerAddress !== undefined || peerPort !== undefined) this.#join(edgeId, peerAddress ?? "", line);
        if (peerPort !== undefined) this.#nodes?.putEdge(edgeId, peerPort);
        return;
      }
      case "gone":
        // The other edges learn now that its agents are disconnected. They learn that the edge itself is removed once
        // another edge takes its place.
        return this.#leave(line);
      case "session_opened":
        return this.#openSession(message.session, line);
      case "session_closed":
        return this.#closeSession(message.sessionId, line);
      case "tunnel_opened":
        return this.#openTunnel(message.tunnel, message.shared, line);
      case "tunnel_closed":
        return this.#closeTunnel(message.tunnelId, line, message.finishes);
    }
    const edge = this.#edges.get(line);
    if (edge) this.#receiveShared(message, line, edge);
  }

  /** Handles messages that only an edge with other edges sends. */
  #receiveShared(message: Upward, line: EdgeLine, edge: SharingEdge): void {
    const { edgeId } = edge;
    switch (message.type) {
      case "told":
        edge.isTold = true;
        this.#tell({ what: "told", edgeId }, line);
        return this.#tellEdges();
      case "claim": {
        const { call } = message;
        return this.#claims.claim(message.claim, line, (answer) => line.send({ type: "claimed", call, answer }));
      }
      case "port_occupied":
        this.#nodes?.occupied(edgeId, message.port);
        return this.#tell({ what: "port", edgeId, port: message.port }, line);
      case "directory_taken":
        return this.#publications.taken(line, message.number);
      case "claim_dropped":
        this.#claims.drop(message.tunnelId, line);
    }
  }

  #tell(news: DirectoryNews, from: EdgeLine): void {
    for (const line of this.#edges.keys()) if (line !== from) this.#publications.send(line, [news]);
  }

  #tellAll(news: readonly DirectoryNews[]): void {
    if (news.length > 0) for (const line of this.#edges.keys()) this.#publications.send(line, news);
  }

  /** Sends the list of edges, once it is complete. */
  #tellEdges(): void {
    const all = [...this.#edges.values()];
    if (all.length < this.#lineCount || !all.every(({ isTold }) => isTold)) return;
    const elsewhere = this.#nodes?.edgeIds() ?? [];
    for (const [line, { edgeId }] of this.#edges) {
      const edgeIds = all.flatMap((one) => (one.edgeId === edgeId ? [] : [one.edgeId]));
      this.#publications.send(line, [{ what: "edges", edgeIds: [...edgeIds, ...elsewhere] }]);
    }
  }

  #join(edgeId: string, address: string, line: EdgeLine): void {
    const news = [...this.#edges].flatMap(([one, edge]) => this.#newsOf(one, edge));
    this.#edges.set(line, { edgeId, address, isTold: false });
    this.#publications.send(line, [...news, ...(this.#nodes?.news() ?? [])]);
    this.#tell({ what: "edge", edgeId, address }, line);
  }

  #newsOf(line: EdgeLine, { edgeId, address, isTold }: SharingEdge): DirectoryNews[] {
    const news = this.#agents.entriesAt(line, edgeId).flatMap(newsOf);
    return [{ what: "edge", edgeId, address }, ...news, ...(isTold ? [{ what: "told" as const, edgeId }] : [])];
  }

  #leave(line: EdgeLine): void {
    const edge = this.#edges.get(line);
    if (!edge) return this.#agents.leave(line);
    for (const id of this.#agents.idsAt(line)) {
      this.#closeTunnel(id, line);
      this.#closeSession(id, line);
    }
    this.#agents.leave(line);
    this.#edges.delete(line);
    this.#nodes?.remove(edge.edgeId);
    this.#claims.leave(line);
    this.#publications.leave(line);
  }

  #openSession(session: SessionReport, line: EdgeLine): void {
    const { id } = session;
    const edge = this.#edges.get(line);
    const before = edge && this.#agents.placeOfSession(id);
    this.#agents.putSession(session, line);
    if (!edge) return;
    if (before && before !== line) {
      this.#takeSession(id, before);
      this.#nodes?.remove(id);
    }
    const entry: SessionEntry = { what: "session", edgeId: edge.edgeId, session };
    this.#nodes?.put(entry);
    this.#tell(entry, line);
  }

  #closeSession(id: string, line: EdgeLine): void {
    const edge = this.#edges.get(line);
    const isLatest = edge && this.#agents.placeOfSession(id) === line;
    if (!this.#agents.closeSession(id, line) || !edge) return;
    if (isLatest) this.#nodes?.remove(id);
    this.#tell({ what: "session_closed", edgeId: edge.edgeId, sessionId: id }, line);
  }

  #openTunnel(tunnel: TunnelReport, shared: SharedTunnel | undefined, line: EdgeLine): void {
    const edge = this.#edges.get(line);
    const { id } = tunnel;
    const entry: TunnelEntry = {
      what: "tunnel",
      edgeId: edge?.edgeId ?? "",
      tunnel,
      ...(shared && { shared }),
    };
    const before = edge && this.#agents.placeOfTunnel(id);
    const former = this.#nameAt(id, line);
    this.#agents.putTunnel(entry, line);
    if (!edge || !shared) return;
    if (before && before !== line) {
      this.#takeTunnel(id, before, true);
      this.#nodes?.remove(id);
    }
    if (former !== "" && former !== shared.endpoint?.name) this.#claims.release(former, id, line);
    this.#serveName(shared, line);
    this.#nodes?.put(entry);
    for (const news of newsOf(entry)) this.#tell(news, line);
    const otherLines = [...this.#edges.keys()].filter((one) => one !== line);
    const published = (): void => line.send({ type: "published", tunnelId: id });
    this.#publications.afterwards(otherLines, () => (this.#nodes ? this.#nodes.told(published) : published()));
    this.#claims.settle(shared.endpoint?.name);
  }

  /** Starts to serve the tunnel's name and closes the tunnels that it replaces. */
  #serveName({ id, accountId, endpoint }: SharedTunnel, line: EdgeLine): void {
    if (!endpoint) return;
    const { name, pool } = endpoint;
    const replaced = this.#claims.open(name, { tunnelId: id, accountId, pool, place: line });
    for (const one of replaced) this.#takeTunnel(one.tunnelId, one.place, false);
  }

  #closeTunnel(id: string, line: EdgeLine, finishes = false): void {
    const edge = this.#edges.get(line);
    const isLatest = edge && this.#agents.placeOfTunnel(id) === line;
    const name = this.#nameAt(id, line);
    if (!this.#agents.closeTunnel(id, line) || !edge) return;
    if (name !== "") this.#claims.release(name, id, line);
    if (isLatest) this.#nodes?.remove(id);
    this.#tell({ what: "tunnel_closed", edgeId: edge.edgeId, tunnelId: id, finishes }, line);
  }

  /** Handles an agent that moved to another node, or a name that a tunnel of another node now has. */
  #taken(id: string, moved: boolean): void {
    this.#takeSession(id, this.#agents.placeOfSession(id));
    this.#takeTunnel(id, this.#agents.placeOfTunnel(id), moved);
  }

  #takeSession(sessionId: string, from: EdgeLine | undefined): void {
    const startedMs = from && this.#agents.session(sessionId, from)?.startedMs;
    if (startedMs !== undefined) from?.send({ type: "session_taken", sessionId, startedMs });
  }

  #takeTunnel(tunnelId: string, from: EdgeLine | undefined, moved: boolean): void {
    const tunnel = from && this.#sharedAt(tunnelId, from);
    if (tunnel) from.send({ type: "tunnel_taken", tunnelId, moved, startedAt: tunnel.startedAt });
  }

  /** Returns the name that a tunnel serves at an edge; "" for none. */
  #nameAt(tunnelId: string, line: EdgeLine): string {
    const number = this.#agents.tunnelNumber(tunnelId, line);
    return number === undefined ? "" : this.#agents.rows.nameOf(number);
  }

  #sharedAt(tunnelId: string, line: EdgeLine): SharedTunnel | undefined {
    const number = this.#agents.tunnelNumber(tunnelId, line);
    return number === undefined ? undefined : this.#agents.entry(number).shared;
  }
}
