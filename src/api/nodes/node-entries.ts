/** What other nodes have, as they tell of it: entries of presence, and the news that edges of this node get of them. */
import type { DirectoryNews } from "../../routing/planes/directory.ts";
import type { Downward, SessionReport } from "../../routing/planes/messages.ts";
import type { Presence } from "../../storage/cluster/presence.ts";
import type { EdgeLine } from "../edges/edges.ts";
import type { ProblemsEntry } from "../edges/shared-problems.ts";
import type { DeliveryEntry } from "../events/shared-deliveries.ts";
import { KnownAgents } from "./known-agents.ts";
import type { TunnelEntry } from "./known-agents.ts";

type EdgeEntry = { readonly what: "edge"; readonly edgeId: string; readonly address: string; readonly node?: string };
type SessionEntry = { readonly what: "session"; readonly edgeId: string; readonly session: SessionReport };
/** Something else on the machine of an edge listens there. */
type PortEntry = { readonly what: "port"; readonly edgeId: string; readonly port: number };
export type Entry = EdgeEntry | PortEntry | SessionEntry | TunnelEntry;

/** What rests on what. */
const order = ["edge", "port", "session", "tunnel"];

interface OtherEdge {
  readonly entry: EdgeEntry;
  readonly line: EdgeLine;
  /** No other edge had or will have it. */
  readonly number: number;
}

/** What is not about agents. */
export type OtherEntry = DeliveryEntry | ProblemsEntry;

export interface NodeEntriesOptions {
  readonly presence: Pick<Presence, "follow">;
  /** Sends a message to an edge of another node, by way of one of this. */
  readonly relay: (place: { readonly edgeId: string; readonly address: string }, message: Downward) => void;
  /** Told of what other nodes say of anything but agents; undefined: what was said under the id is taken back. */
  readonly heard: (id: string, entry: OtherEntry | undefined) => void;
}

export class NodeEntries {
  readonly agents = new KnownAgents();
  readonly #options: NodeEntriesOptions;
  readonly #edges = new Map<string, OtherEdge>();
  readonly #byNumber = new Map<number, OtherEdge>();
  readonly #ports = new Map<string, PortEntry>();
  /** Ids of what is not about agents. */
  readonly #rest = new Set<string>();
  /** What rests on something that is not there yet. */
  #early = new Map<string, Entry>();
  #lastNumber = 0;

  constructor(options: NodeEntriesOptions) {
    this.#options = options;
  }

  lines(): readonly EdgeLine[] {
    return Array.from(this.#edges.values(), ({ line }) => line);
  }

  lineOf(sessionId: string): EdgeLine | undefined {
    const number = this.agents.edgeOfSession(sessionId);
    return number === undefined ? undefined : this.#byNumber.get(number)?.line;
  }

  edgeIds(): readonly string[] {
    return [...this.#edges.keys()];
  }

  news(): readonly DirectoryNews[] {
    const news: DirectoryNews[] = [];
    for (const { entry } of this.#edges.values()) news.push(newsOf(entry));
    for (const port of this.#ports.values()) news.push(newsOf(port));
    for (const { edge, ...one } of this.agents.all()) {
      const edgeId = this.#byNumber.get(edge)?.entry.edgeId;
      if (edgeId === undefined) continue;
      news.push(newsOf("session" in one ? { what: "session", edgeId, session: one.session } : one.entry));
    }
    return news;
  }

  follow(told: (news: readonly DirectoryNews[]) => void, taken: (id: string, moved: boolean) => void): void {
    this.#options.presence.follow({
      has: (id) => this.#has(id),
      ids: () => [...this.#edges.keys(), ...this.#ports.keys(), ...this.#rest, ...this.agents.allIds()],
      heard: (all) => {
        const news: DirectoryNews[] = [];
        for (const one of all) {
          if (one.what === "removed") this.#remove(one.id, news);
          else if (one.what === "put") this.#hear(one.id, entryOf(one));
        }
        for (const { what, id } of all) if (what === "taken") taken(id, this.#has(id));
        const puts = inOrder([...this.#early].map(([id, entry]) => ({ ...entry, id })));
        this.#early = new Map();
        for (const { id, ...entry } of puts) this.#put(id, entry as Entry, news);
        told(news);
      },
    });
  }

  #has(id: string): boolean {
    const { agents } = this;
    return [this.#edges, this.#ports, this.#rest, this.#early, agents].some((one) => one.has(id));
  }

  #hear(id: string, entry: Entry | OtherEntry): void {
    if (entry.what !== "delivery" && entry.what !== "problems") {
      this.#early.set(id, entry);
      return;
    }
    this.#rest.add(id);
    this.#options.heard(id, entry);
  }

  #put(id: string, entry: Entry, news: DirectoryNews[]): void {
    const { what, edgeId } = entry;
    if (what === "edge") {
      if (!this.#edges.has(edgeId)) news.push(newsOf(entry));
      this.#putEdge(entry);
      return;
    }
    const number = this.#edges.get(edgeId)?.number;
    if (number === undefined || (what === "tunnel" && !this.agents.hasSession(entry.shared.sessionId, number))) {
      this.#early.set(id, entry);
      return;
    }
    news.push(newsOf(entry));
    if (what === "port") {
      this.#ports.set(id, entry);
      return;
    }
    const { agents } = this;
    const before = what === "session" ? agents.putSession(entry.session, number) : agents.putTunnel(entry, number);
    // It has moved: where it was, it is over.
    if (before !== number) this.#over(what, id, before, news);
  }

  #remove(id: string, news: DirectoryNews[]): void {
    this.#early.delete(id);
    this.#ports.delete(id);
    this.#options.heard(id, undefined);
    this.#rest.delete(id);
    const edge = this.#edges.get(id);
    if (edge) {
      news.push({ what: "gone", edgeId: id });
      this.#edges.delete(id);
      this.#byNumber.delete(edge.number);
      this.agents.leave(edge.number);
      return;
    }
    this.#over("session", id, this.agents.closeSession(id), news);
    this.#over("tunnel", id, this.agents.closeTunnel(id), news);
  }

  /** @param number of the edge that had it, if any had */
  #over(what: "session" | "tunnel", id: string, number: number | undefined, news: DirectoryNews[]): void {
    const edgeId = number === undefined ? undefined : this.#byNumber.get(number)?.entry.edgeId;
    if (edgeId === undefined) return;
    // Whoever has a tunnel cuts what must not go on.
    news.push(
      what === "session"
        ? { what: "session_closed", edgeId, sessionId: id }
        : { what: "tunnel_closed", edgeId, tunnelId: id, finishes: true },
    );
  }

  #putEdge(entry: EdgeEntry): void {
    const { edgeId, address } = entry;
    const before = this.#edges.get(edgeId);
    const send = (message: Downward): void => this.#options.relay({ edgeId, address }, message);
    this.#lastNumber += 1;
    const { number, line } = before ?? { number: this.#lastNumber, line: { edgeId, send } };
    const edge = { entry, number, line };
    this.#edges.set(edgeId, edge);
    this.#byNumber.set(number, edge);
  }
}

function entryOf({ body, node }: { readonly body: string; readonly node: string }): Entry | OtherEntry {
  const entry = JSON.parse(body) as Entry | OtherEntry;
  return entry.what === "edge" ? { ...entry, node } : entry;
}

/** Without what only a newer version knows. */
function inOrder<E extends { readonly what: Entry["what"] }>(entries: readonly E[]): readonly E[] {
  const known = entries.filter(({ what }) => order.includes(what));
  return known.sort((one, other) => order.indexOf(one.what) - order.indexOf(other.what));
}

function newsOf(entry: Entry): DirectoryNews {
  const { edgeId } = entry;
  switch (entry.what) {
    case "edge":
      return { what: "edge", edgeId, address: entry.address, ...(entry.node !== undefined && { node: entry.node }) };
    case "port":
      return { what: "port_occupied", edgeId, port: entry.port };
    case "session":
      return { what: "session", edgeId, session: entry.session };
    case "tunnel":
      return { what: "tunnel", edgeId, tunnel: entry.shared };
  }
}
