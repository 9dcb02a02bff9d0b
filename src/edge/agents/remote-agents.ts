/** What all other edges hold, which visitors here reach as if it were here: rows, and objects of what somebody has come for. */
import { AgentRows } from "../../directory/rows.ts";
import type { TunnelParts } from "../../directory/rows.ts";
import type { Log } from "../../lib/log.ts";
import type { SharedTunnel } from "../../directory/news.ts";
import type { SessionReport } from "../../directory/reports.ts";
import type { Peers } from "../peers/peers.ts";
import type { PeerPlace } from "../peers/transport.ts";
import type { OpenTunnels } from "./open-tunnels.ts";
import type { Opening } from "./opening.ts";
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
  /** How many edges there are, with this one. */
  readonly count: () => number;
  /** Whether something serves the name that is not asleep. */
  readonly isAwake: (name: string) => boolean;
  /** The edge with a number, which has what is told with it. */
  readonly placeOf: (edge: number) => PeerPlace;
}

/** Edges are told apart by numbers. */
export class RemoteAgents {
  readonly #options: RemoteAgentsOptions;
  readonly #rows = new AgentRows<SessionReport>();
  /** Those that somebody has come for, by their numbers. */
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
    const number = this.#rows.sessionNumber(id);
    return number === undefined ? undefined : this.#sessionAt(number);
  }

  sessionsOfAccount(accountId: string): number {
    return this.#sessionsOf.get(accountId) ?? 0;
  }

  /** Ids of the agents that have tunnels at an edge that is meant. */
  agentIds(isMeant: (edge: number) => boolean): ReadonlySet<string> {
    const rows = this.#rows;
    const sessions = new Set(Array.from(rows.tunnelNumbers(), (number) => rows.sessionOf(number)));
    const meant = [...sessions].filter((session) => isMeant(rows.placeOf(session)));
    return new Set(meant.map((session) => rows.session(session).agentId ?? ""));
  }

  /** Ids of all that an edge holds, those of tunnels first. */
  idsAt(edge: number): readonly string[] {
    const rows = this.#rows;
    const tunnels = [...rows.tunnelNumbers()].filter((number) => this.#edgeOf(number) === edge);
    const sessions = [...rows.sessionNumbers()].filter((number) => rows.placeOf(number) === edge);
    return [...tunnels.map((number) => rows.tunnelId(number)), ...sessions.map((number) => rows.sessionId(number))];
  }

  openSession(edge: number, report: SessionReport): void {
    if (this.#rows.sessionNumber(report.id, edge) !== undefined) return;
    this.#rows.openSession(report, edge);
    this.#countSession(report.accountId, 1);
  }

  closeSession(edge: number, id: string): void {
    const number = this.#rows.sessionNumber(id, edge);
    if (number === undefined) return;
    this.#countSession(this.#rows.accountOf(number), -1);
    this.#sessions.delete(number);
    this.#rows.closeSession(number);
  }

  /** New, or changed. */
  putTunnel(edge: number, shared: SharedTunnel): void {
    const { tunnels, log } = this.#options;
    const { id } = shared;
    const json = JSON.stringify(shared);
    const known = this.#tunnelAt(edge, id);
    const before = known === undefined ? undefined : this.#tunnels.get(known);
    if (known !== undefined && before?.online !== false && this.#rows.json(known) === json) return;
    const session = this.#rows.sessionNumber(shared.sessionId, edge);
    // One of this edge's own is newer: the control plane takes the other one away.
    if (session === undefined || tunnels.awake(id)?.isElsewhere === false) return;
    try {
      if (known !== undefined && before?.online !== false && this.#isChange(known, shared, session)) {
        this.#rows.changeTunnel(known, json);
        before?.change(shared);
        if (before) tunnels.changed(before);
        return;
      }
      const elsewhere = this.#rows.tunnelNumber(id);
      if (elsewhere !== undefined) this.#close(elsewhere, false);
      this.#open(this.#rows.openTunnel(tunnelParts(shared), session, json), shared);
    } catch (error) {
      // It is not served without what its agent has asked for.
      this.closeTunnel(edge, id, false);
      log.error("tunnel of another edge not served here", { tunnel: id, error });
    }
  }

  /** @param finishes what is under way through it may end by itself */
  closeTunnel(edge: number, id: string, finishes: boolean): void {
    const number = this.#tunnelAt(edge, id);
    if (number !== undefined) this.#close(number, finishes);
  }

  /** Somebody has come for the tunnels with a name. */
  wake(name: string): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    try {
      for (const number of this.#rows.named(name)) {
        if (!this.#tunnels.has(number)) this.#options.tunnels.woken(this.#make(number, this.#rows.tunnel(number)));
      }
    } finally {
      this.#isWaking = false;
    }
  }

  /** Somebody has come for a tunnel, and so for those that serve its name with it. */
  wakeTunnel(id: string): void {
    const number = this.#rows.tunnelNumber(id);
    if (number !== undefined && !this.#tunnels.has(number)) this.wake(this.#rows.nameOf(number));
  }

  /** Only what is found by the name of a host alone can sleep: ports are listened on, and labels looked through. */
  #open(number: number, shared: SharedTunnel): void {
    const { tunnels, isAwake } = this.#options;
    const { name = "" } = shared.endpoint ?? {};
    if (name === "" || name.startsWith(":") || isAwake(name)) {
      tunnels.open(this.#make(number, { ...tunnelParts(shared), labels: shared.labels }));
    } else tunnels.sleep(shared.accountId);
  }

  #close(number: number, finishes: boolean): void {
    const { tunnels } = this.#options;
    const rows = this.#rows;
    const tunnel = this.#tunnels.get(number);
    if (tunnel) {
      tunnel.part();
      this.#tunnels.delete(number);
      rows.closeTunnel(number);
      tunnels[finishes ? "withdraw" : "close"](tunnel);
      return;
    }
    const [name, holder] = [rows.nameOf(number), rows.session(rows.sessionOf(number))];
    rows.closeTunnel(number);
    tunnels.forget(name, holder);
  }

  #make(number: number, parts: RemoteParts): RemoteTunnel {
    const session = this.#sessionAt(this.#rows.sessionOf(number));
    const tunnel = new RemoteTunnel(parts, session, this.#kind, () => this.#rows.json(number));
    this.#tunnels.set(number, tunnel);
    return tunnel;
  }

  #sessionAt(number: number): RemoteSession {
    const known = this.#sessions.get(number);
    if (known?.id === this.#rows.sessionId(number)) return known;
    const { peers, count, placeOf } = this.#options;
    const session = new RemoteSession(this.#rows.session(number), peers, placeOf(this.#rows.placeOf(number)), count);
    this.#sessions.set(number, session);
    return session;
  }

  #told(number: number): SharedTunnel {
    return JSON.parse(this.#rows.json(number)) as SharedTunnel;
  }

  #edgeOf(tunnel: number): number {
    return this.#rows.placeOf(this.#rows.sessionOf(tunnel));
  }

  /** The number of a tunnel that the edge has, as far as was told. */
  #tunnelAt(edge: number, id: string): number | undefined {
    const number = this.#rows.tunnelNumber(id);
    return number !== undefined && this.#edgeOf(number) === edge ? number : undefined;
  }

  /** Whether it is the one that is known as its agent has changed it, and no other. */
  #isChange(number: number, { endpoint, startedAt }: SharedTunnel, session: number): boolean {
    if (this.#rows.sessionOf(number) !== session || !endpoint) return false;
    const { endpoint: before, startedAt: began } = this.#told(number);
    return (
      began === startedAt &&
      before?.name === endpoint.name &&
      before.host === endpoint.host &&
      before.port === endpoint.port
    );
  }

  #countSession(accountId: string, by: 1 | -1): void {
    const count = this.sessionsOfAccount(accountId) + by;
    if (count > 0) this.#sessionsOf.set(accountId, count);
    else this.#sessionsOf.delete(accountId);
  }
}

function tunnelParts({ id, endpoint, startedAt }: SharedTunnel): TunnelParts {
  return { id, name: endpoint?.name ?? "", startedAt };
}
