/**
 * Sessions and tunnels of agents, by edge. The control plane has one replica of its edges and one of the other nodes'
 * edges. Each edge has one of the other edges.
 */
import { endpointIdOf } from "../lib/ids.ts";
import { hostOfName } from "../lib/plain-names.ts";
import { AgentIndex } from "./agent-index.ts";
import type { Labels } from "./labels.ts";
import { nameOfEntry } from "./news.ts";
import type { SessionEntry, SharedTunnel, TunnelEntry } from "./news.ts";
import type { SessionReport, TunnelReport } from "./agent-reports.ts";
import { AgentRows } from "./agent-rows.ts";

/** A replica, for queries that need no places. */
export type Agents = Replica<object>;

/**
 * A place is an object that represents an edge. While an agent moves, two places may have the same session or tunnel.
 * Queries without a place return the latest.
 */
export class Replica<Place extends object> {
  /** Rows of sessions and tunnels, by number. Here, a place is also a number. */
  readonly rows = new AgentRows<SessionReport>();
  readonly #numbers = new Map<Place, number>();
  readonly #places = new Map<number, Place>();
  #lastPlace = 0;
  #index: AgentIndex | undefined;
  #changes = 0;

  /** @param isIndexed whether queries by account and label are expected. Otherwise the first query creates the index */
  constructor({ isIndexed = false }: { readonly isIndexed?: boolean } = {}) {
    if (isIndexed) this.#index = new AgentIndex();
  }

  /** Incremented with every change. */
  get changes(): number {
    return this.#changes;
  }

  count(of: "sessions" | "tunnels"): number {
    return of === "sessions" ? this.rows.sessionCount : this.rows.tunnelCount;
  }

  /** Replaces the same session at the same place. */
  putSession(session: SessionReport, place: Place): void {
    this.closeSession(session.id, place);
    const number = this.rows.openSession(session, this.#numberOf(place));
    this.#index?.sessions.add(session.accountId, number);
    this.#changes += 1;
  }

  /** Returns the previous place of the session. */
  closeSession(id: string, from?: Place): Place | undefined {
    const number = this.sessionNumber(id, from);
    if (number === undefined) return undefined;
    const place = this.placeOfSessionRow(number);
    this.#index?.sessions.remove(this.rows.accountOf(number), number);
    this.rows.closeSession(number);
    this.#changes += 1;
    return place;
  }

  /** Replaces the same tunnel at the same place. Returns the number of the row. */
  putTunnel(entry: TunnelEntry, place: Place): number {
    const known = commonFieldsOf(entry);
    const { id, sessionId, startedAt } = known;
    this.closeTunnel(id, place);
    const reported = this.sessionNumber(sessionId, place);
    const session = reported ?? this.rows.openSession(makeUnreportedSession(known), this.#numberOf(place));
    const startedMs = typeof startedAt === "string" ? Date.parse(startedAt) : startedAt;
    const parts = { id, name: nameOfEntry(entry), startedAt: startedMs };
    const number = this.rows.openTunnel(parts, session, JSON.stringify(entry));
    if (reported === undefined) this.rows.closeSession(session);
    this.#index?.addTunnel(known, number);
    this.#changes += 1;
    return number;
  }

  /** Applies a change by the agent. The session, name and start of the tunnel stay the same. */
  changeTunnel(number: number, entry: TunnelEntry): void {
    this.rows.changeTunnel(number, JSON.stringify(entry));
    this.#changes += 1;
  }

  /** Returns the previous place of the tunnel. */
  closeTunnel(id: string, from?: Place): Place | undefined {
    const number = this.tunnelNumber(id, from);
    if (number === undefined) return undefined;
    const place = this.placeOfTunnelRow(number);
    this.#index?.removeTunnel(this.#tunnelAt(number), number);
    this.rows.closeTunnel(number);
    // The same tunnel at another place has the same labels.
    const other = this.#index && this.tunnelNumber(id);
    if (other !== undefined) this.#index?.addTunnel(this.#tunnelAt(other), other);
    this.#changes += 1;
    return place;
  }

  /** Removes the edge with all its entries. */
  leave(place: Place): void {
    for (const id of this.idsAt(place)) {
      this.closeTunnel(id, place);
      this.closeSession(id, place);
    }
    const number = this.#numbers.get(place);
    if (number !== undefined) this.#places.delete(number);
    this.#numbers.delete(place);
  }

  /** Returns the ids of all entries at a place: tunnels first. */
  idsAt(place: Place): readonly string[] {
    const { sessions, tunnels } = this.#numbersAt(place);
    return [
      ...tunnels.map((number) => this.rows.tunnelId(number)),
      ...sessions.map((number) => this.rows.sessionId(number)),
    ];
  }

  /**
   * Returns all entries at a place: sessions first.
   * @param edgeId edge of the place
   */
  entriesAt(place: Place, edgeId: string): (SessionEntry | TunnelEntry)[] {
    const { sessions, tunnels } = this.#numbersAt(place);
    return [
      ...sessions.map((number) => ({ what: "session" as const, edgeId, session: this.rows.session(number) })),
      ...tunnels.map((number) => this.entry(number)),
    ];
  }

  /** Iterates over the ids of all sessions and tunnels. */
  *allIds(): Iterable<string> {
    for (const number of this.rows.sessionNumbers()) yield this.rows.sessionId(number);
    for (const number of this.rows.tunnelNumbers()) yield this.rows.tunnelId(number);
  }

  has(id: string): boolean {
    return this.sessionNumber(id) !== undefined || this.tunnelNumber(id) !== undefined;
  }

  /** Returns the number of a session's row. */
  sessionNumber(id: string, place?: Place): number | undefined {
    return this.rows.sessionNumber(id, place && (this.#numbers.get(place) ?? 0));
  }

  /** Returns the number of a tunnel's row. */
  tunnelNumber(id: string, place?: Place): number | undefined {
    return this.rows.tunnelNumber(id, place && (this.#numbers.get(place) ?? 0));
  }

  placeOfSession(id: string): Place | undefined {
    const number = this.sessionNumber(id);
    return number === undefined ? undefined : this.placeOfSessionRow(number);
  }

  placeOfTunnel(id: string): Place | undefined {
    const number = this.tunnelNumber(id);
    return number === undefined ? undefined : this.placeOfTunnelRow(number);
  }

  /** @param number number of a tunnel's row */
  placeOfTunnelRow(number: number): Place | undefined {
    return this.placeOfSessionRow(this.rows.sessionOf(number));
  }

  /** @param number number of the tunnel's row */
  entry(number: number): TunnelEntry {
    return JSON.parse(this.rows.json(number)) as TunnelEntry;
  }

  session(id: string, place?: Place): SessionReport | undefined {
    const number = this.sessionNumber(id, place);
    return number === undefined ? undefined : this.rows.session(number);
  }

  tunnel(id: string): TunnelReport | undefined {
    const number = this.tunnelNumber(id);
    return number === undefined ? undefined : this.entry(number).tunnel;
  }

  /** Returns the tunnel of an endpoint. */
  tunnelOfEndpoint(id: string): TunnelReport | undefined {
    const number = this.rows.tunnelOfPart(id);
    const tunnel = number === undefined ? undefined : this.entry(number).tunnel;
    return tunnel?.endpoint?.id === id ? tunnel : undefined;
  }

  /** Iterates over the ids of an account, in no particular order. */
  *ids(of: "sessions" | "tunnels" | "endpoints", accountId: string): Iterable<string> {
    const { rows } = this;
    const { sessions, tunnels } = this.#indexed();
    if (of === "sessions") {
      for (const number of sessions.of(accountId)) yield rows.sessionId(number);
      return;
    }
    for (const number of tunnels.of(accountId)) {
      if (of === "tunnels") yield rows.tunnelId(number);
      else if (rows.nameOf(number) !== "") yield endpointIdOf(rows.tunnelId(number));
    }
  }

  /** Returns the tunnels with names of a host (see `hostOfName`). */
  findAtHost(host: string): readonly TunnelReport[] {
    return this.rows.findAtHost(host).flatMap((number) => this.entry(number).tunnel ?? []);
  }

  /** Whether a tunnel of another account has the name of a host below `domain`. */
  hasForeignBelow(domain: string, accountId: string): boolean {
    const { rows } = this;
    for (const number of rows.tunnelNumbers()) {
      if (!hostOfName(rows.nameOf(number)).endsWith(`.${domain}`)) continue;
      if (rows.accountOf(rows.sessionOf(number)) !== accountId) return true;
    }
    return false;
  }

  /** Returns the ids of an account's tunnels that have all of `labels`. */
  findLabelled(accountId: string, labels: Labels): readonly string[] {
    return this.#indexed().findLabelled(accountId, labels);
  }

  #indexed(): AgentIndex {
    if (this.#index) return this.#index;
    const { rows } = this;
    const index = new AgentIndex();
    for (const number of rows.sessionNumbers()) index.sessions.add(rows.accountOf(number), number);
    for (const number of rows.tunnelNumbers()) index.addTunnel(this.#tunnelAt(number), number);
    this.#index = index;
    return index;
  }

  /** Returns the fields of a tunnel for the index. Only tunnels without a name have labels. */
  #tunnelAt(number: number): Parameters<AgentIndex["addTunnel"]>[0] {
    const { rows } = this;
    if (rows.nameOf(number) === "") return commonFieldsOf(this.entry(number));
    return { id: rows.tunnelId(number), accountId: rows.accountOf(rows.sessionOf(number)) };
  }

  /** @param number number of a session's row */
  placeOfSessionRow(number: number): Place | undefined {
    return this.#places.get(this.rows.placeOf(number));
  }

  #numbersAt(place: Place): { readonly sessions: readonly number[]; readonly tunnels: readonly number[] } {
    const { rows } = this;
    const at = this.#numbers.get(place);
    return {
      sessions: [...rows.sessionNumbers()].filter((number) => rows.placeOf(number) === at),
      tunnels: [...rows.tunnelNumbers()].filter((number) => rows.placeOf(rows.sessionOf(number)) === at),
    };
  }

  #numberOf(place: Place): number {
    const known = this.#numbers.get(place);
    if (known !== undefined) return known;
    this.#lastPlace += 1;
    this.#numbers.set(place, this.#lastPlace);
    this.#places.set(this.#lastPlace, place);
    return this.#lastPlace;
  }
}

/** Replaces the session of a tunnel if it was not reported. Queries do not find it. */
function makeUnreportedSession(tunnel: { readonly sessionId: string; readonly accountId: string }): SessionReport {
  const { sessionId: id, accountId } = tunnel;
  const unknown = { credentialId: "", agentVersion: "", ip: "", os: "", metadata: "", region: "" };
  return { id, accountId, ...unknown, startedAt: "", transport: "" };
}

/** Returns the fields that both forms of an entry have. */
function commonFieldsOf({ tunnel, shared }: TunnelEntry): SharedTunnel | TunnelReport {
  return shared ?? (tunnel as TunnelReport);
}
