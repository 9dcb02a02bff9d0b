/**
 * Which edge has which session and tunnel: told to every other edge, so that a visitor of any reaches the agents of all.
 * Claims of names are decided here, one after another. Its sources are the lines to the edges of this process, and what
 * other nodes tell.
 */
import type { DirectoryNews, SharedTunnel } from "../../routing/planes/directory.ts";
import type { SessionReport, TunnelReport, Upward } from "../../routing/planes/messages.ts";
import type { EdgeLine, EdgeObserver } from "./edges.ts";
import { makeNameClaims } from "./name-claims.ts";
import type { NameClaims } from "./name-claims.ts";
import { trackPublications } from "./publications.ts";

/** What the directory has to do with other nodes. */
export interface OtherNodes {
  /** Claims that hold over all nodes, where `local` are those of this one. */
  claims(local: NameClaims): NameClaims;
  /** What is at this node, for the others. */
  putEdge(edgeId: string, port: number): void;
  putSession(edgeId: string, session: SessionReport): void;
  putTunnel(edgeId: string, tunnel: TunnelReport, shared: SharedTunnel): void;
  /** Something else on this machine listens there: tunnels are not given the port for some time. */
  occupied(edgeId: string, port: number): void;
  remove(id: string): void;
  /** Calls `done` once the edges of the others serve all that was put; not much later, where one does not. */
  told(done: () => void): void;
  /** All that others have. */
  news(): readonly DirectoryNews[];
  edgeIds(): readonly string[];
  /** Up to which change what they have is told. */
  change(): number;
  /** Called once. `told` gets news of others in order; `taken` what of this node's another one has by now, or its name. */
  follow(told: (news: readonly DirectoryNews[]) => void, taken: (id: string, moved: boolean) => void): void;
}

/** What one edge has. */
interface Holding {
  readonly edgeId: string;
  readonly address: string;
  readonly sessions: Map<string, SessionReport>;
  readonly tunnels: Map<string, SharedTunnel>;
  /** It has told everything that it had when it said hello. */
  isTold: boolean;
}

/**
 * @param lineCount how many edges there are to be: the rest of a crash is cleared away once all are there again
 * @param nodes undefined for a server that is alone
 */
export function keepDirectory(lineCount: number, nodes?: OtherNodes): EdgeObserver {
  const directory = new Directory(lineCount, nodes);
  return { receive: (message, line) => directory.receive(message, line) };
}

class Directory {
  readonly #lineCount: number;
  readonly #nodes: OtherNodes | undefined;
  readonly #holdings = new Map<EdgeLine, Holding>();
  readonly #lineOfTunnel = new Map<string, EdgeLine>();
  readonly #lineOfSession = new Map<string, EdgeLine>();
  readonly #claims: NameClaims;
  readonly #publications = trackPublications(() => this.#nodes?.change() ?? 0);

  constructor(lineCount: number, nodes: OtherNodes | undefined) {
    this.#lineCount = lineCount;
    this.#nodes = nodes;
    const local = makeNameClaims();
    this.#claims = nodes?.claims(local) ?? local;
    nodes?.follow(
      (news) => this.#tellAll(news),
      (id, moved) => this.#taken(id, moved),
    );
  }

  receive(message: Upward, line: EdgeLine): void {
    if (message.type === "hello") {
      const { edgeId, peerAddress, peerPort } = message;
      if (peerAddress !== undefined || peerPort !== undefined) this.#join(edgeId, peerAddress ?? "", line);
      if (peerPort !== undefined) this.#nodes?.putEdge(edgeId, peerPort);
      return;
    }
    const holding = this.#holdings.get(line);
    if (!holding) return;
    switch (message.type) {
      case "gone":
        // What it had is told to be over; that it is gone, once another is there in its place.
        return this.#leave(line);
      case "told":
        holding.isTold = true;
        this.#tell({ what: "told", edgeId: holding.edgeId }, line);
        return this.#tellEdges();
      case "session_opened":
        return this.#openSession(message.session, line, holding);
      case "session_closed":
        return this.#closeSession(message.sessionId, line, holding);
      case "tunnel_opened":
        if (message.shared) this.#openTunnel(message.tunnel, message.shared, line, holding);
        return;
      case "tunnel_closed":
        return this.#closeTunnel(message.tunnelId, line, holding, message.finishes);
      case "claim": {
        const { call } = message;
        return this.#claims.claim(message.claim, line, (answer) => line.send({ type: "claimed", call, answer }));
      }
      case "port_occupied":
        this.#nodes?.occupied(holding.edgeId, message.port);
        return this.#tell({ what: "port_occupied", edgeId: holding.edgeId, port: message.port }, line);
      case "directory_taken":
        return this.#publications.taken(line, message.number);
      case "claim_dropped":
        this.#claims.drop(message.tunnelId, line);
    }
  }

  #tell(news: DirectoryNews, from: EdgeLine): void {
    for (const line of this.#holdings.keys()) if (line !== from) this.#publications.send(line, [news]);
  }

  #tellAll(news: readonly DirectoryNews[]): void {
    if (news.length > 0) for (const line of this.#holdings.keys()) this.#publications.send(line, news);
  }

  /** Which edges there are; while some of them are still to come, nobody knows. */
  #tellEdges(): void {
    const all = [...this.#holdings.values()];
    if (all.length < this.#lineCount || !all.every(({ isTold }) => isTold)) return;
    const elsewhere = this.#nodes?.edgeIds() ?? [];
    for (const [line, { edgeId }] of this.#holdings) {
      const edgeIds = all.flatMap((one) => (one.edgeId === edgeId ? [] : [one.edgeId]));
      this.#publications.send(line, [{ what: "edges", edgeIds: [...edgeIds, ...elsewhere] }]);
    }
  }

  #join(edgeId: string, address: string, line: EdgeLine): void {
    this.#leave(line);
    const news = [...[...this.#holdings.values()].flatMap(newsOf), ...(this.#nodes?.news() ?? [])];
    this.#holdings.set(line, { edgeId, address, sessions: new Map(), tunnels: new Map(), isTold: false });
    this.#publications.send(line, news);
    this.#tell({ what: "edge", edgeId, address }, line);
  }

  #leave(line: EdgeLine): void {
    const holding = this.#holdings.get(line);
    if (!holding) return;
    for (const id of holding.tunnels.keys()) this.#closeTunnel(id, line, holding);
    for (const id of holding.sessions.keys()) this.#closeSession(id, line, holding);
    this.#holdings.delete(line);
    this.#nodes?.remove(holding.edgeId);
    this.#claims.leave(line);
    this.#publications.leave(line);
  }

  #openSession(session: SessionReport, line: EdgeLine, holding: Holding): void {
    const { id } = session;
    const before = this.#lineOfSession.get(id);
    this.#lineOfSession.set(id, line);
    holding.sessions.set(id, session);
    if (before && before !== line) {
      this.#takeSession(id, before);
      this.#nodes?.remove(id);
    }
    this.#nodes?.putSession(holding.edgeId, session);
    this.#tell({ what: "session", edgeId: holding.edgeId, session }, line);
  }

  #closeSession(id: string, line: EdgeLine, holding: Holding): void {
    if (!holding.sessions.delete(id)) return;
    if (this.#lineOfSession.get(id) === line) {
      this.#lineOfSession.delete(id);
      this.#nodes?.remove(id);
    }
    this.#tell({ what: "session_closed", edgeId: holding.edgeId, sessionId: id }, line);
  }

  #openTunnel(report: TunnelReport, tunnel: SharedTunnel, line: EdgeLine, holding: Holding): void {
    const { id, endpoint, accountId } = tunnel;
    const before = this.#lineOfTunnel.get(id);
    if (before && before !== line) {
      this.#takeTunnel(id, before, true);
      this.#nodes?.remove(id);
    }
    this.#lineOfTunnel.set(id, line);
    const former = holding.tunnels.get(id)?.endpoint;
    if (former && former.name !== endpoint?.name) this.#claims.release(former.name, id, line);
    holding.tunnels.set(id, tunnel);
    if (endpoint) {
      const made = this.#claims.open(endpoint.name, { tunnelId: id, accountId, pool: endpoint.pool, line });
      for (const one of made) this.#takeTunnel(one.tunnelId, one.line, false);
    }
    this.#nodes?.putTunnel(holding.edgeId, report, tunnel);
    this.#tell({ what: "tunnel", edgeId: holding.edgeId, tunnel }, line);
    const others = [...this.#holdings.keys()].filter((one) => one !== line);
    const published = (): void => line.send({ type: "published", tunnelId: id });
    this.#publications.afterwards(others, () => (this.#nodes ? this.#nodes.told(published) : published()));
    this.#claims.settle(endpoint?.name);
  }

  #closeTunnel(id: string, line: EdgeLine, holding: Holding, finishes = false): void {
    const tunnel = holding.tunnels.get(id);
    if (!tunnel) return;
    holding.tunnels.delete(id);
    if (tunnel.endpoint) this.#claims.release(tunnel.endpoint.name, id, line);
    if (this.#lineOfTunnel.get(id) === line) {
      this.#lineOfTunnel.delete(id);
      this.#nodes?.remove(id);
    }
    this.#tell({ what: "tunnel_closed", edgeId: holding.edgeId, tunnelId: id, finishes }, line);
  }

  /** Another node has it, where its agent has moved to, or its name. */
  #taken(id: string, moved: boolean): void {
    this.#takeSession(id, this.#lineOfSession.get(id));
    this.#takeTunnel(id, this.#lineOfTunnel.get(id), moved);
  }

  #takeSession(sessionId: string, from: EdgeLine | undefined): void {
    const session = from && this.#holdings.get(from)?.sessions.get(sessionId);
    const startedMs = session?.startedMs;
    if (startedMs !== undefined) from?.send({ type: "session_taken", sessionId, startedMs });
  }

  #takeTunnel(tunnelId: string, from: EdgeLine | undefined, moved: boolean): void {
    const tunnel = from && this.#holdings.get(from)?.tunnels.get(tunnelId);
    if (tunnel) from.send({ type: "tunnel_taken", tunnelId, moved, startedAt: tunnel.startedAt });
  }
}

function newsOf({ edgeId, address, sessions, tunnels, isTold }: Holding): DirectoryNews[] {
  return [
    { what: "edge", edgeId, address },
    ...Array.from(sessions.values(), (session) => ({ what: "session" as const, edgeId, session })),
    ...Array.from(tunnels.values(), (tunnel) => ({ what: "tunnel" as const, edgeId, tunnel })),
    ...(isTold ? [{ what: "told" as const, edgeId }] : []),
  ];
}
