/**
 * The agents of all other edges, as this edge serves them: rows of a replica, and objects for those that visitors use.
 */
import type { AgentEndpoint } from "../../../routing/planes/edge-questions.ts";
import type { SharedEntry, SharedTunnel } from "../../../directory/news.ts";
import { Replica } from "../../../directory/replica.ts";
import type { SessionReport } from "../../../directory/agent-reports.ts";
import type { Log } from "../../../lib/log.ts";
import type { Peers } from "../../peers/peers.ts";
import type { PeerPlace } from "../../peers/peer-transport.ts";
import type { OpenTunnels } from "../register/open-tunnels.ts";
import type { Opening } from "../opening/opening.ts";
import { RemoteSession } from "./remote-session.ts";
import { RemoteTunnel } from "./remote-tunnel.ts";
import type { RemoteKind, RemoteParts } from "./remote-tunnel.ts";

export interface RemoteAgentsOptions {
  readonly peers: Peers;
  readonly tunnels: Pick<
    OpenTunnels,
    "awake" | "open" | "sleep" | "woken" | "forget" | "changed" | "close" | "withdraw"
  >;
  readonly opening: Pick<Opening, "elsewhere">;
  readonly log: Log;
  /** Number of edges, including this one. */
  readonly count: () => number;
  /** Whether a tunnel serves the name that is already an object. */
  readonly isAwake: (name: string) => boolean;
}

export class RemoteAgents<Edge extends PeerPlace> {
  readonly #options: RemoteAgentsOptions;
  readonly #replica = new Replica<Edge>();
  /** Objects of tunnels and sessions, by the numbers of their rows. */
  readonly #tunnels = new Map<number, RemoteTunnel>();
  readonly #sessions = new Map<number, RemoteSession>();
  readonly #sessionsOf = new Map<string, number>();
  readonly #kind: RemoteKind;
  #isWaking = false;

  constructor(options: RemoteAgentsOptions) {
    this.#options = options;
    const { opening, log } = options;
    this.#kind = { log, compile: (shared, session) => opening.elsewhere(shared, session) };
  }

  session(id: string): RemoteSession | undefined {
    const number = this.#replica.sessionNumber(id);
    return number === undefined ? undefined : this.#sessionAt(number);
  }

  sessionsOfAccount(accountId: string): number {
    return this.#sessionsOf.get(accountId) ?? 0;
  }

  /**
   * Returns the ids of the agents that have tunnels at the edges that `isMeant` selects, each with the number of tunnels
   * of its largest session there.
   */
  agents(isMeant: (edge: Edge) => boolean): ReadonlyMap<string, number> {
    const { rows } = this.#replica;
    const bySession = new Map<number, number>();
    for (const number of rows.tunnelNumbers()) {
      const session = rows.sessionOf(number);
      const known = bySession.get(session);
      if (known !== undefined) bySession.set(session, known + 1);
      else {
        const edge = this.#replica.placeOfTunnelRow(number);
        if (edge && isMeant(edge)) bySession.set(session, 1);
      }
    }
    const found = new Map<string, number>();
    for (const [session, count] of bySession) {
      const { agentId = "" } = rows.session(session);
      found.set(agentId, Math.max(count, found.get(agentId) ?? 0));
    }
    return found;
  }

  /** Returns the ids of everything that an edge has, tunnels first. */
  idsAt(edge: Edge): readonly string[] {
    return this.#replica.idsAt(edge);
  }

  *endpointsOf(accountId: string): Iterable<AgentEndpoint> {
    const { rows } = this.#replica;
    for (const number of rows.tunnelNumbers()) {
      const session = rows.sessionOf(number);
      if (rows.nameOf(number) === "" || rows.accountOf(session) !== accountId) continue;
      const { shared } = JSON.parse(rows.json(number)) as SharedEntry;
      if (shared.endpoint === undefined) continue;
      const { host, port, request } = shared.endpoint;
      const { id: sessionId, credentialId, agentId = "" } = rows.session(session);
      yield { tunnelId: shared.id, sessionId, credentialId, agentId, host, port, request };
    }
  }

  openSession(edge: Edge, report: SessionReport): void {
    if (this.#replica.sessionNumber(report.id, edge) !== undefined) return;
    this.#replica.putSession(report, edge);
    this.#countSession(report.accountId, 1);
  }

  closeSession(edge: Edge, id: string): void {
    const number = this.#replica.sessionNumber(id, edge);
    if (number === undefined) return;
    this.#countSession(this.#replica.rows.accountOf(number), -1);
    this.#sessions.delete(number);
    this.#replica.closeSession(id, edge);
  }

  closeAll(edge: Edge, ids: Iterable<string>): void {
    for (const id of ids) {
      this.closeTunnel(edge, id, false);
      this.closeSession(edge, id);
    }
  }

  /** Removes an edge and everything that it had. */
  leave(edge: Edge): void {
    this.closeAll(edge, this.idsAt(edge));
    this.#replica.leave(edge);
  }

  /** Adds or changes a tunnel. */
  putTunnel(edge: Edge, entry: SharedEntry): void {
    const { tunnels, log } = this.#options;
    const { rows } = this.#replica;
    const { shared } = entry;
    const { id } = shared;
    const known = this.#replica.tunnelNumber(id, edge);
    const before = known === undefined ? undefined : this.#tunnels.get(known);
    if (known !== undefined && before?.online !== false && rows.json(known) === JSON.stringify(entry)) return;
    const session = this.#replica.sessionNumber(shared.sessionId, edge);
    // This edge's own tunnel is newer: the control plane closes the other one.
    if (session === undefined || tunnels.awake(id)?.isElsewhere === false) return;
    try {
      if (known !== undefined && before?.online !== false && this.#isChange(known, shared, session)) {
        this.#replica.changeTunnel(known, entry);
        before?.change(shared);
        if (before) tunnels.changed(before);
        return;
      }
      const elsewhere = this.#replica.tunnelNumber(id);
      // The edge that still has the tunnel lets its requests finish.
      if (elsewhere !== undefined) this.#close(elsewhere, elsewhere === known);
      this.#open(this.#replica.putTunnel(entry, edge), shared);
    } catch (error) {
      // A tunnel is not served without the options that its agent requested.
      this.closeTunnel(edge, id, false);
      log.error("tunnel of another edge not served here", { tunnel: id, error });
    }
  }

  /** @param finishes whether requests and connections that already use the tunnel may finish */
  closeTunnel(edge: Edge, id: string, finishes: boolean): void {
    const number = this.#replica.tunnelNumber(id, edge);
    if (number !== undefined) this.#close(number, finishes);
  }

  /** Creates objects of the tunnels with a name. */
  wake(name: string): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    const { rows } = this.#replica;
    try {
      for (const number of rows.findNamed(name)) {
        if (!this.#tunnels.has(number)) this.#options.tunnels.woken(this.#make(number, rows.tunnel(number)));
      }
    } finally {
      this.#isWaking = false;
    }
  }

  /** Creates objects of a tunnel and of the tunnels that serve its name with it. */
  wakeTunnel(id: string): void {
    const number = this.#replica.tunnelNumber(id);
    if (number !== undefined && !this.#tunnels.has(number)) this.wake(this.#replica.rows.nameOf(number));
  }

  /** Only tunnels found by a host name may stay rows: the edge listens on ports, and groups contain tunnels with labels. */
  #open(number: number, { id, accountId, startedAt, endpoint, labels }: SharedTunnel): void {
    const { tunnels, isAwake } = this.#options;
    const { name = "" } = endpoint ?? {};
    if (name === "" || name.startsWith(":") || isAwake(name)) {
      tunnels.open(this.#make(number, { id, name, startedAt, labels }));
    } else tunnels.sleep(accountId);
  }

  #close(number: number, finishes: boolean): void {
    const { tunnels } = this.#options;
    const { rows } = this.#replica;
    const id = rows.tunnelId(number);
    const tunnel = this.#tunnels.get(number);
    if (tunnel) {
      tunnel.part();
      this.#tunnels.delete(number);
      this.#replica.closeTunnel(id);
      tunnels[finishes ? "withdraw" : "close"](tunnel);
      return;
    }
    const [name, holder] = [rows.nameOf(number), rows.session(rows.sessionOf(number))];
    this.#replica.closeTunnel(id);
    tunnels.forget(name, holder);
  }

  #make(number: number, parts: RemoteParts): RemoteTunnel {
    const { rows } = this.#replica;
    const session = this.#sessionAt(rows.sessionOf(number));
    const tunnel = new RemoteTunnel(parts, session, this.#kind, () => rows.json(number));
    this.#tunnels.set(number, tunnel);
    return tunnel;
  }

  #sessionAt(number: number): RemoteSession {
    const { rows } = this.#replica;
    const known = this.#sessions.get(number);
    if (known?.id === rows.sessionId(number)) return known;
    const { peers, count } = this.#options;
    const place = this.#replica.placeOfSessionRow(number) as Edge;
    const session = new RemoteSession(rows.session(number), peers, place, count);
    this.#sessions.set(number, session);
    return session;
  }

  /** Whether its agent has changed the known tunnel. Otherwise it is a new tunnel with the same id. */
  #isChange(number: number, { endpoint, startedAt }: SharedTunnel, session: number): boolean {
    if (this.#replica.rows.sessionOf(number) !== session || !endpoint) return false;
    const before = this.#replica.entry(number).shared;
    return (
      before?.startedAt === startedAt &&
      before.endpoint?.name === endpoint.name &&
      before.endpoint.host === endpoint.host &&
      before.endpoint.port === endpoint.port
    );
  }

  #countSession(accountId: string, by: 1 | -1): void {
    const count = this.sessionsOfAccount(accountId) + by;
    if (count > 0) this.#sessionsOf.set(accountId, count);
    else this.#sessionsOf.delete(accountId);
  }
}
