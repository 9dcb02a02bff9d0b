/** Presence entries of the other nodes, stored in a replica and sent to the edges of this node as news. */
import { sharesName } from "../../directory/name-claims.ts";
import { newsOf } from "../../directory/news.ts";
import type { DirectoryNews, EdgeEntry, DirectoryEntry, PortEntry, SharedTunnel } from "../../directory/news.ts";
import { Replica } from "../../directory/replica.ts";
import type { Clock } from "../../lib/clock.ts";
import { siblingOf } from "../../lib/plain-names.ts";
import type { Downward } from "../../routing/planes/messages.ts";
import type { Presence } from "../../storage/cluster/presence.ts";
import type { EdgeLine } from "../edges/edges.ts";
import type { ProblemsEntry } from "../edges/shared-problems.ts";
import type { DeliveryEntry } from "../events/shared-deliveries.ts";
import type { UnreachedEntry } from "./isolation.ts";
import { LapsedEntries } from "./lapsed-entries.ts";

/** Order of kinds: an entry is usable only after the entries of earlier kinds. */
const order = ["edge", "port", "session", "tunnel"];

/** An edge of another node. */
interface OtherEdge {
  entry: EdgeEntry;
  readonly line: EdgeLine;
}

/** Entries that are not about agents. */
export type OtherEntry = DeliveryEntry | ProblemsEntry | UnreachedEntry;

export interface NodeEntriesOptions {
  readonly presence: Pick<Presence, "follow">;
  /** Sends a message to an edge of another node through an edge of this node. */
  readonly relay: (place: { readonly edgeId: string; readonly address: string }, message: Downward) => void;
  /** Receives the entries of other nodes that are not about agents. Undefined: the entry with the id was removed. */
  readonly heard: (id: string, entry: OtherEntry | undefined) => void;
  /** Resolves with whether the edge of another node answers, soon in both cases. */
  readonly isThere: (line: EdgeLine) => Promise<boolean>;
  /** Whether agents may no longer connect with the token. */
  readonly isRevoked: (accountId: string, credentialId: string) => boolean;
  readonly clock: Clock;
}

export class NodeEntries {
  readonly agents = new Replica<OtherEdge>();
  readonly #options: NodeEntriesOptions;
  readonly #edges = new Map<string, OtherEdge>();
  readonly #ports = new Map<string, PortEntry>();
  /** Ids of entries that are not about agents. */
  readonly #rest = new Set<string>();
  /** Entries that need another entry, which has not arrived yet. */
  #early = new Map<string, DirectoryEntry>();
  readonly #lapsed: LapsedEntries;
  #told: (news: readonly DirectoryNews[]) => void = () => undefined;

  constructor(options: NodeEntriesOptions) {
    this.#options = options;
    const { clock } = options;
    this.#lapsed = new LapsedEntries({
      isThere: async (edgeId) => {
        const edge = this.#edges.get(edgeId);
        return edge !== undefined && (await options.isThere(edge.line));
      },
      drop: (ids) => this.#end(ids),
      clock,
    });
  }

  /** Returns the lines to the edges whose nodes are members of the cluster. */
  lines(): readonly EdgeLine[] {
    return [...this.#edges].flatMap(([edgeId, { line }]) => (this.#lapsed.isAway(edgeId) ? [] : [line]));
  }

  /** Returns the lines to all edges, including those of nodes that are cut off from the database. */
  allLines(): readonly EdgeLine[] {
    return Array.from(this.#edges.values(), ({ line }) => line);
  }

  /** Returns the lines to all edges by their nodes. */
  linesByNode(): ReadonlyMap<string, readonly EdgeLine[]> {
    const edges = [...this.#edges.values()];
    return new Map(
      [...Map.groupBy(edges, ({ entry }) => entry.node ?? "")].map(([node, ofNode]) => [
        node,
        ofNode.map(({ line }) => line),
      ]),
    );
  }

  lineOf(sessionId: string): EdgeLine | undefined {
    return this.agents.placeOfSession(sessionId)?.line;
  }

  edgeIds(): readonly string[] {
    return [...this.#edges.keys()];
  }

  news(): readonly DirectoryNews[] {
    const edges = Array.from(this.#edges.values(), ({ entry }) => entry);
    const agents = [...this.#edges].flatMap(([edgeId, edge]) => this.agents.entriesAt(edge, edgeId));
    return [...edges, ...this.#ports.values(), ...agents].flatMap(newsOf);
  }

  /** A tunnel of this node serves its name from now on: a lapsed entry with that name has ended. */
  serves(tunnel: SharedTunnel): void {
    const news: DirectoryNews[] = [];
    this.#endLapsed(tunnel, news);
    if (news.length > 0) this.#told(news);
  }

  /** Ends lapsed agents whose token was revoked, because their node does not learn about it. */
  endRevoked(): void {
    const news: DirectoryNews[] = [];
    this.#endRevoked(news);
    if (news.length > 0) this.#told(news);
  }

  follow(onNews: (news: readonly DirectoryNews[]) => void, taken: (id: string, moved: boolean) => void): void {
    this.#told = onNews;
    this.#options.presence.follow({
      has: (id) => this.#has(id),
      ids: () => [...this.#edges.keys(), ...this.#ports.keys(), ...this.#rest, ...this.agents.allIds()],
      heard: (all) => {
        const news: DirectoryNews[] = [];
        for (const one of all) {
          if (one.what === "removed") this.#remove(one.id, news);
          else if (one.what === "put") this.#hear(one.id, entryOf(one));
          else if (one.what === "lapsed") this.#lapse(one.id, news);
        }
        for (const { what, id } of all) if (what === "taken") taken(id, this.#has(id));
        const puts = inOrder([...this.#early].map(([id, entry]) => ({ ...entry, id })));
        this.#early = new Map();
        for (const { id, ...entry } of puts) this.#put(id, entry as DirectoryEntry, news);
        if (all.some(({ what }) => what === "lapsed")) this.#endRevoked(news);
        onNews(news);
      },
    });
  }

  #has(id: string): boolean {
    const { agents } = this;
    return [this.#edges, this.#ports, this.#rest, this.#early, agents].some((one) => one.has(id));
  }

  #hear(id: string, entry: DirectoryEntry | OtherEntry): void {
    if (entry.what !== "delivery" && entry.what !== "problems" && entry.what !== "unreached") {
      this.#early.set(id, entry);
      return;
    }
    this.#rest.add(id);
    this.#options.heard(id, entry);
  }

  #lapse(id: string, news: DirectoryNews[]): void {
    const edgeId = this.#edgeOf(id);
    if (edgeId === undefined) return this.#remove(id, news);
    this.#lapsed.add(id, edgeId);
    if (id === edgeId) news.push({ what: "away", edgeId, isAway: true });
  }

  /** Returns the edge of an entry in use; undefined for entries that are not about agents or have not arrived. */
  #edgeOf(id: string): string | undefined {
    if (this.#edges.has(id)) return id;
    const { agents } = this;
    const edge = agents.placeOfSession(id) ?? agents.placeOfTunnel(id);
    return edge?.entry.edgeId ?? this.#ports.get(id)?.edgeId;
  }

  #end(ids: readonly string[]): void {
    const news: DirectoryNews[] = [];
    for (const id of ids) this.#remove(id, news);
    this.#told(news);
  }

  #endRevoked(news: DirectoryNews[]): void {
    const { agents } = this;
    const isOver = (sessionId: string): boolean => {
      const session = agents.session(sessionId);
      return session !== undefined && this.#options.isRevoked(session.accountId, session.credentialId);
    };
    const lapsed = this.#lapsed.ids().map((id) => ({ id, sessionId: agents.tunnel(id)?.sessionId ?? id }));
    // The tunnels first: their sessions say which token they have.
    const ended = lapsed.filter(({ sessionId }) => isOver(sessionId));
    for (const { id, sessionId } of ended) if (id !== sessionId) this.#remove(id, news);
    for (const { id, sessionId } of ended) if (id === sessionId) this.#remove(id, news);
  }

  /** Ends lapsed entries that may not have a name beside this tunnel, which is in the database. */
  #endLapsed({ id, accountId, endpoint }: SharedTunnel, news: DirectoryNews[]): void {
    if (!endpoint) return;
    const { name, pool } = endpoint;
    const { rows } = this.agents;
    for (const number of [...rows.findNamed(name), ...rows.findNamed(siblingOf(name))]) {
      const other = rows.tunnelId(number);
      const edgeId = this.agents.placeOfTunnelRow(number)?.entry.edgeId ?? "";
      if (other === id || !this.#lapsed.has(other, edgeId)) continue;
      const { shared } = this.agents.entry(number);
      const isSame = shared?.endpoint?.name === name;
      const mayStay = isSame
        ? sharesName({ accountId: shared.accountId, pool: shared.endpoint?.pool }, { accountId, pool })
        : shared?.accountId === accountId;
      if (!mayStay) this.#remove(other, news);
    }
  }

  #put(id: string, entry: DirectoryEntry, news: DirectoryNews[]): void {
    const { agents } = this;
    this.#lapsed.delete(id, this.#edgeOf(id) ?? "");
    if (entry.what === "edge") return this.#putEdge(entry, news);
    const edge = this.#edges.get(entry.edgeId);
    const session = entry.what === "tunnel" ? entry.shared?.sessionId : undefined;
    if (!edge || (session !== undefined && agents.sessionNumber(session, edge) === undefined)) {
      this.#early.set(id, entry);
      return;
    }
    if (entry.what === "tunnel" && entry.shared) this.#endLapsed(entry.shared, news);
    news.push(...newsOf(entry));
    if (entry.what === "port") {
      this.#ports.set(id, entry);
      return;
    }
    // The agent has moved, so the previous edge no longer has it.
    const before = entry.what === "session" ? agents.closeSession(id) : agents.closeTunnel(id);
    if (entry.what === "session") agents.putSession(entry.session, edge);
    else agents.putTunnel(entry, edge);
    if (before !== edge) this.#over(entry.what, id, before, news);
  }

  #remove(id: string, news: DirectoryNews[]): void {
    this.#lapsed.delete(id, this.#edgeOf(id) ?? "");
    this.#early.delete(id);
    this.#ports.delete(id);
    this.#options.heard(id, undefined);
    this.#rest.delete(id);
    const edge = this.#edges.get(id);
    if (edge) {
      this.#lapsed.leave(id);
      news.push({ what: "gone", edgeId: id });
      this.#edges.delete(id);
      this.agents.leave(edge);
      return;
    }
    this.#over("session", id, this.agents.closeSession(id), news);
    this.#over("tunnel", id, this.agents.closeTunnel(id), news);
  }

  /** @param edge that had it, if any */
  #over(what: "session" | "tunnel", id: string, edge: OtherEdge | undefined, news: DirectoryNews[]): void {
    if (!edge) return;
    const { edgeId } = edge.entry;
    // The tunnel's edge closes the connections that must not continue.
    news.push(
      what === "session"
        ? { what: "session_closed", edgeId, sessionId: id }
        : { what: "tunnel_closed", edgeId, tunnelId: id, finishes: true },
    );
  }

  #putEdge(entry: EdgeEntry, news: DirectoryNews[]): void {
    const { edgeId } = entry;
    const known = this.#edges.get(edgeId);
    if (known) {
      known.entry = entry;
      news.push({ what: "away", edgeId, isAway: false });
      return;
    }
    const send = (message: Downward): void => {
      const { address } = edge.entry;
      this.#options.relay({ edgeId, address }, message);
    };
    const edge: OtherEdge = { entry, line: { edgeId, send } };
    this.#edges.set(edgeId, edge);
    news.push(entry);
  }
}

function entryOf({ body, node }: { readonly body: string; readonly node: string }): DirectoryEntry | OtherEntry {
  const entry = JSON.parse(body) as DirectoryEntry | OtherEntry;
  return entry.what === "edge" ? { ...entry, node } : entry;
}

/** Omits kinds that only a newer version knows. */
function inOrder<E extends { readonly what: DirectoryEntry["what"] }>(entries: readonly E[]): readonly E[] {
  const known = entries.filter(({ what }) => order.includes(what));
  return known.sort((one, other) => order.indexOf(one.what) - order.indexOf(other.what));
}
