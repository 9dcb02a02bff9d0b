/** What this control plane knows of the agents of other nodes. */
import { AgentRows } from "../../lib/agent-rows.ts";
import { endpointIdOf } from "../../lib/ids.ts";
import { hostOfName } from "../../lib/plain-names.ts";
import type { SharedTunnel } from "../../routing/planes/directory.ts";
import type { SessionReport, TunnelReport } from "../../routing/planes/messages.ts";
import { makeLabelIndex } from "../edges/label-index.ts";
import type { Labels } from "../edges/label-index.ts";
import type { OtherAgents } from "../edges/other-agents.ts";

/** As its node tells of it. */
export interface TunnelEntry {
  readonly what: "tunnel";
  readonly edgeId: string;
  readonly tunnel: TunnelReport;
  readonly shared: SharedTunnel;
}

/** Edges are told apart by numbers. */
export class KnownAgents implements OtherAgents {
  readonly #rows = new AgentRows<SessionReport>();
  readonly #labelled = makeLabelIndex<number>();
  #changes = 0;

  get changes(): number {
    return this.#changes;
  }

  count(of: "sessions" | "tunnels"): number {
    return of === "sessions" ? this.#rows.sessionCount : this.#rows.tunnelCount;
  }

  has(id: string): boolean {
    return this.#rows.sessionNumber(id) !== undefined || this.#rows.tunnelNumber(id) !== undefined;
  }

  /** Of all sessions and tunnels. */
  *allIds(): Iterable<string> {
    const rows = this.#rows;
    for (const number of rows.sessionNumbers()) yield rows.sessionId(number);
    for (const number of rows.tunnelNumbers()) yield rows.tunnelId(number);
  }

  /** Everything, with the numbers of the edges that have it; sessions first. */
  *all(): Iterable<
    { readonly edge: number } & ({ readonly session: SessionReport } | { readonly entry: TunnelEntry })
  > {
    const rows = this.#rows;
    for (const number of rows.sessionNumbers()) yield { edge: rows.placeOf(number), session: rows.session(number) };
    for (const number of rows.tunnelNumbers()) yield { edge: this.#edgeOf(number), entry: this.#entry(number) };
  }

  /** Answers which edge had it before. */
  putSession(session: SessionReport, edge: number): number | undefined {
    const before = this.closeSession(session.id);
    this.#rows.openSession(session, edge);
    this.#changes += 1;
    return before;
  }

  /** Answers which edge had it. */
  closeSession(id: string): number | undefined {
    const number = this.#rows.sessionNumber(id);
    if (number === undefined) return undefined;
    const edge = this.#rows.placeOf(number);
    this.#rows.closeSession(number);
    this.#changes += 1;
    return edge;
  }

  hasSession(id: string, edge: number): boolean {
    return this.#rows.sessionNumber(id, edge) !== undefined;
  }

  /** The number of the edge that has a session. */
  edgeOfSession(id: string): number | undefined {
    const number = this.#rows.sessionNumber(id);
    return number === undefined ? undefined : this.#rows.placeOf(number);
  }

  /** Its session must be known to be at the edge. Answers which edge had it before. */
  putTunnel(entry: TunnelEntry, edge: number): number | undefined {
    const { id, sessionId, accountId, endpoint, startedAt, labels } = entry.shared;
    const before = this.closeTunnel(id);
    const session = this.#rows.sessionNumber(sessionId, edge);
    if (session === undefined) throw new Error(`know the tunnel "${id}": its session is not known`);
    const parts = { id, name: endpoint?.name ?? "", startedAt };
    const number = this.#rows.openTunnel(parts, session, JSON.stringify(entry));
    if (labels) this.#labelled.add(accountId, id, labels, number);
    this.#changes += 1;
    return before;
  }

  /** Answers which edge had it. */
  closeTunnel(id: string): number | undefined {
    const number = this.#rows.tunnelNumber(id);
    if (number === undefined) return undefined;
    const edge = this.#edgeOf(number);
    // What has a name has no labels.
    if (this.#rows.nameOf(number) === "") {
      const { accountId, labels = {} } = this.#entry(number).shared;
      this.#labelled.remove(accountId, id, labels);
    }
    this.#rows.closeTunnel(number);
    this.#changes += 1;
    return edge;
  }

  /** The edge is gone, with all that it had. */
  leave(edge: number): void {
    const rows = this.#rows;
    const tunnels = [...rows.tunnelNumbers()].filter((number) => this.#edgeOf(number) === edge);
    for (const number of tunnels) this.closeTunnel(rows.tunnelId(number));
    const sessions = [...rows.sessionNumbers()].filter((number) => rows.placeOf(number) === edge);
    for (const number of sessions) this.closeSession(rows.sessionId(number));
  }

  session(id: string): SessionReport | undefined {
    const number = this.#rows.sessionNumber(id);
    return number === undefined ? undefined : this.#rows.session(number);
  }

  tunnel(id: string): TunnelReport | undefined {
    const number = this.#rows.tunnelNumber(id);
    return number === undefined ? undefined : this.#entry(number).tunnel;
  }

  tunnelOfEndpoint(id: string): TunnelReport | undefined {
    const number = this.#rows.tunnelOfPart(id);
    const tunnel = number === undefined ? undefined : this.#entry(number).tunnel;
    return tunnel?.endpoint?.id === id ? tunnel : undefined;
  }

  *ids(of: "sessions" | "tunnels" | "endpoints", accountId: string): Iterable<string> {
    const rows = this.#rows;
    if (of === "sessions") {
      for (const number of rows.sessionNumbers())
        if (rows.accountOf(number) === accountId) yield rows.sessionId(number);
      return;
    }
    for (const number of rows.tunnelNumbers()) {
      if (rows.accountOf(rows.sessionOf(number)) !== accountId) continue;
      const id = rows.tunnelId(number);
      if (of === "tunnels") yield id;
      else if (rows.nameOf(number) !== "") yield endpointIdOf(id);
    }
  }

  atHost(host: string): readonly TunnelReport[] {
    return this.#rows.atHost(host).map((number) => this.#entry(number).tunnel);
  }

  hasForeignBelow(domain: string, accountId: string): boolean {
    const rows = this.#rows;
    for (const number of rows.tunnelNumbers()) {
      if (!hostOfName(rows.nameOf(number)).endsWith(`.${domain}`)) continue;
      if (rows.accountOf(rows.sessionOf(number)) !== accountId) return true;
    }
    return false;
  }

  having(accountId: string, labels: Labels): readonly string[] {
    return this.#labelled.having(accountId, labels);
  }

  #entry(number: number): TunnelEntry {
    return JSON.parse(this.#rows.json(number)) as TunnelEntry;
  }

  #edgeOf(tunnel: number): number {
    return this.#rows.placeOf(this.#rows.sessionOf(tunnel));
  }
}
