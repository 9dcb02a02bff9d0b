/**
 * What of agents is at which node: this node's is put where the others find it, and theirs is told to its edges, and to
 * whoever follows the edges, as if those were edges of this node.
 */
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { Patterns } from "../../lib/patterns.ts";
import type { DirectoryNews } from "../../routing/planes/directory.ts";
import type { Downward, SessionReport } from "../../routing/planes/messages.ts";
import type { Presence } from "../../storage/cluster/presence.ts";
import type { OtherNodes } from "../edges/directory.ts";
import type { EdgeQueries } from "../edges/queries.ts";
import type { EdgeLine, EdgeObserver } from "../edges/edges.ts";
import type { DeliveryEntry, SharedDeliveries } from "../events/shared-deliveries.ts";
import { shareNameClaims } from "../edges/node-claims.ts";
import { KnownTunnel } from "./known-tunnel.ts";
import type { TunnelEntry } from "./known-tunnel.ts";

export interface NodeDirectoryOptions {
  readonly presence: Presence;
  /** Where others reach this machine. */
  readonly host: () => string;
  /** Those who are told of other nodes' edges. */
  readonly observers: readonly EdgeObserver[];
  /** Sends a message to an edge of another node, by way of one of this. */
  readonly relay: (place: { readonly edgeId: string; readonly address: string }, message: Downward) => void;
  /** Resolves once the edges of other nodes have come so far, with those that have not after `timeoutMs`. */
  readonly reached: EdgeQueries["reached"];
  /** Told of what other nodes say of deliveries of events. */
  readonly heard: SharedDeliveries["heard"];
  readonly clock: Clock;
  readonly log: Log;
}

export interface NodeDirectory extends OtherNodes {
  /** The edges of other nodes. */
  lines(): readonly EdgeLine[];
  /** How many other nodes have. */
  count(of: "sessions" | "tunnels"): number;
  /** Where this node's edges are reached, with commas between them; undefined while none is there. */
  address(): string | undefined;
}

type EdgeEntry = { readonly what: "edge"; readonly edgeId: string; readonly address: string; readonly node?: string };
type SessionEntry = { readonly what: "session"; readonly edgeId: string; readonly session: SessionReport };
/** Something else on the machine of an edge listens there. */
type PortEntry = { readonly what: "port"; readonly edgeId: string; readonly port: number };
type Entry = EdgeEntry | PortEntry | SessionEntry | TunnelEntry;

/** How long an agent waits for other nodes to serve what it has published. */
const publishMs = 1_000;
/** What rests on what. */
const order = ["edge", "port", "session", "tunnel"];
/** How long others do not give out a port that is taken here; whoever still cannot have it says so again. */
const occupiedMs = 600_000;

/** What there is of another node. */
type Known = EdgeEntry | PortEntry | SessionEntry | KnownTunnel;

export function openNodeDirectory(options: NodeDirectoryOptions): NodeDirectory {
  const { presence, host, clock } = options;
  const put = (id: string, entry: Entry, name?: Parameters<Presence["put"]>[2]): void =>
    presence.put(id, JSON.stringify(entry), name);
  const others = new Others(options);
  /** Where the edges of this node are. */
  const own = new Map<string, string>();
  /** Ports that were told of, until they are tried again. */
  const occupied = new Map<string, Timer>();
  const reachedBy = inBatches((change) => options.reached({ revision: 0, change }, publishMs));
  return {
    claims: (local) => shareNameClaims(local, presence, clock),
    putEdge(edgeId, port) {
      const at = placeText(host(), port);
      own.set(edgeId, at);
      put(edgeId, { what: "edge", edgeId, address: `tls:${at}` });
    },
    putSession: (edgeId, session) => put(session.id, { what: "session", edgeId, session }),
    putTunnel(edgeId, tunnel, shared) {
      const { endpoint, accountId } = shared;
      const name = endpoint && { name: endpoint.name, accountId, pool: endpoint.pool };
      put(tunnel.id, { what: "tunnel", edgeId, tunnel, shared }, name);
    },
    occupied(edgeId, port) {
      const id = `${edgeId}:${port}`;
      occupied.get(id)?.cancel();
      occupied.set(
        id,
        clock.after(occupiedMs, () => {
          occupied.delete(id);
          presence.remove(id);
        }),
      );
      put(id, { what: "port", edgeId, port });
    },
    remove(id) {
      if (own.delete(id)) {
        const ports = [...occupied.keys()].filter((one) => one.startsWith(`${id}:`));
        for (const one of ports) {
          occupied.get(one)?.cancel();
          occupied.delete(one);
          presence.remove(one);
        }
      }
      presence.remove(id);
    },
    told: (done) => void presence.told().then((change) => reachedBy(change, done)),
    change: () => presence.change,
    news: () => others.news(),
    edgeIds: () => others.edgeIds(),
    follow: (told, taken) => others.follow(told, taken),
    lines: () => others.lines(),
    count: (of) => others.count(of === "sessions" ? "session" : "tunnel"),
    address: () => (own.size > 0 ? [...own.values()].join(", ") : undefined),
  };
}

/** Asks for the newest of all numbers that came while it was asking, and tells everybody whom that answers. */
function inBatches(ask: (number: number) => Promise<unknown>): (number: number, done: () => void) => void {
  let waiting: (() => void)[] = [];
  let newest = 0;
  let isAsking = false;
  const work = async (): Promise<void> => {
    isAsking = true;
    while (waiting.length > 0) {
      const answered = waiting;
      waiting = [];
      await ask(newest);
      for (const done of answered) done();
    }
    isAsking = false;
  };
  return (number, done) => {
    newest = Math.max(newest, number);
    waiting.push(done);
    if (!isAsking) void work();
  };
}

function placeText(host: string, port: number): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** What other nodes have. */
class Others {
  readonly #options: NodeDirectoryOptions;
  readonly #lines = new Map<string, EdgeLine>();
  readonly #known = new Map<string, Known>();
  readonly #patterns = new Patterns();
  readonly #counts = { edge: 0, port: 0, session: 0, tunnel: 0 };
  /** What rests on something that is not there yet. */
  #early = new Map<string, Entry>();

  constructor(options: NodeDirectoryOptions) {
    this.#options = options;
  }

  lines(): readonly EdgeLine[] {
    return [...this.#lines.values()];
  }

  count(of: Entry["what"]): number {
    return this.#counts[of];
  }

  edgeIds(): readonly string[] {
    return [...this.#lines.keys()];
  }

  news(): readonly DirectoryNews[] {
    return inOrder([...this.#known.values()]).flatMap((one) => newsOf(one.what === "tunnel" ? one.entry : one));
  }

  follow(told: (news: readonly DirectoryNews[]) => void, taken: (id: string, moved: boolean) => void): void {
    const { presence } = this.#options;
    presence.subscribe((all) => {
      const news: DirectoryNews[] = [];
      for (const one of all) {
        if (one.what === "taken") taken(one.id, presence.others().has(one.id));
        else if (one.what === "removed") this.#remove(one.id, news);
        else this.#hear(one.id, entryOf(one));
      }
      const puts = inOrder([...this.#early].map(([id, entry]) => ({ ...entry, id })));
      this.#early = new Map();
      for (const { id, ...entry } of puts) this.#put(id, entry as Entry, news);
      told(news);
    });
  }

  #hear(id: string, entry: Entry | DeliveryEntry): void {
    if (entry.what === "delivery") this.#options.heard(id, entry);
    else this.#early.set(id, entry);
  }

  #put(id: string, entry: Entry, news: DirectoryNews[]): void {
    const { what, edgeId } = entry;
    if (what === "edge" && !this.#lines.has(edgeId)) this.#addLine(entry);
    const line = this.#lines.get(edgeId);
    const session = what === "tunnel" ? this.#known.get(entry.shared.sessionId) : undefined;
    if (!line || (what === "tunnel" && session?.what !== "session")) {
      this.#early.set(id, entry);
      return;
    }
    const before = this.#known.get(id);
    if (before) this.#release(before);
    else this.#counts[what] += 1;
    const known =
      what === "tunnel"
        ? new KnownTunnel(id, line.edgeId ?? edgeId, entry, (session as SessionEntry).session, this.#patterns)
        : entry;
    this.#known.set(id, known);
    news.push(...(what === "edge" && before ? [] : newsOf(entry)));
    if (what === "session") this.#observe({ type: "session_opened", session: entry.session }, line);
    if (known.what === "tunnel") this.#observe({ type: "tunnel_opened", tunnel: known }, line);
    // It has moved: where it was, it is over.
    if (before && before.edgeId !== edgeId) this.#close(id, before, news);
  }

  #remove(id: string, news: DirectoryNews[]): void {
    this.#early.delete(id);
    this.#options.heard(id, undefined);
    const before = this.#known.get(id);
    if (!before || !this.#known.delete(id)) return;
    this.#release(before);
    this.#counts[before.what] -= 1;
    this.#close(id, before, news);
  }

  #release(known: Known): void {
    if (known.what === "tunnel") known.release(this.#patterns);
  }

  #close(id: string, { what, edgeId }: Known, news: DirectoryNews[]): void {
    const line = this.#lines.get(edgeId);
    if (!line) return;
    if (what === "edge") {
      news.push({ what: "gone", edgeId });
      this.#observe({ type: "gone" }, line);
      this.#lines.delete(edgeId);
    } else if (what === "port") {
      // Those who were told of it have forgotten it by themselves.
    } else if (what === "session") {
      news.push({ what: "session_closed", edgeId, sessionId: id });
      this.#observe({ type: "session_closed", sessionId: id }, line);
    } else {
      // Whoever has it cuts what must not go on.
      news.push({ what: "tunnel_closed", edgeId, tunnelId: id, finishes: true });
      this.#observe({ type: "tunnel_closed", tunnelId: id }, line);
    }
  }

  #addLine({ edgeId, address }: Entry & { readonly what: "edge" }): void {
    const send = (message: Downward): void => this.#options.relay({ edgeId, address }, message);
    this.#lines.set(edgeId, { edgeId, send });
  }

  #observe(message: Parameters<EdgeObserver["receive"]>[0], line: EdgeLine): void {
    for (const observer of this.#options.observers) observer.receive(message, line);
  }
}

function entryOf({ body, node }: { readonly body: string; readonly node: string }): Entry | DeliveryEntry {
  const entry = JSON.parse(body) as Entry | DeliveryEntry;
  return entry.what === "edge" ? { ...entry, node } : entry;
}

/** Without what only a newer version knows. */
function inOrder<E extends { readonly what: Entry["what"] }>(entries: readonly E[]): readonly E[] {
  const known = entries.filter(({ what }) => order.includes(what));
  return known.sort((one, other) => order.indexOf(one.what) - order.indexOf(other.what));
}

function newsOf(entry: Entry): DirectoryNews[] {
  const { edgeId } = entry;
  if (entry.what === "edge") {
    return [{ what: "edge", edgeId, address: entry.address, ...(entry.node !== undefined && { node: entry.node }) }];
  }
  if (entry.what === "port") return [{ what: "port_occupied", edgeId, port: entry.port }];
  if (entry.what === "session") return [{ what: "session", edgeId, session: entry.session }];
  return [{ what: "tunnel", edgeId, tunnel: entry.shared }];
}
