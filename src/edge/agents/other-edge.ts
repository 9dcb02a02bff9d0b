/** One other edge with what it holds, which visitors here reach as if it were here. */
import type { Log } from "../../lib/log.ts";
import type { Patterns } from "../../lib/patterns.ts";
import type { SharedTunnel } from "../../routing/planes/directory.ts";
import type { SessionReport } from "../../routing/planes/messages.ts";
import type { Peers } from "../peers/peers.ts";
import type { PeerPlace } from "../peers/transport.ts";
import type { OpenTunnels } from "./open-tunnels.ts";
import type { Opening } from "./opening.ts";
import { RemoteSession } from "./remote-session.ts";
import { RemoteTunnel } from "./remote-tunnel.ts";
import type { RemoteKind } from "./remote-tunnel.ts";

export interface OtherEdgeOptions {
  readonly peers: Peers;
  readonly tunnels: Pick<OpenTunnels, "byId" | "open" | "changed" | "close" | "withdraw">;
  readonly opening: Pick<Opening, "elsewhere">;
  readonly log: Log;
  /** How many edges there are, with this one. */
  readonly count: () => number;
  /** Of the tunnels of all other edges. */
  readonly patterns: Patterns;
  /** Told of each session that begins (1) or ends (−1). */
  readonly counted: (accountId: string, by: 1 | -1) => void;
}

export class OtherEdge {
  /** Of the server that it is of, where that is another one. */
  readonly node: string | undefined;
  readonly #place: PeerPlace;
  readonly #options: OtherEdgeOptions;
  readonly #sessions = new Map<string, RemoteSession>();
  readonly #tunnels = new Map<string, RemoteTunnel>();
  readonly #kind: RemoteKind;
  /** Ids of what has not been told again since the edge was told of anew. */
  readonly #stale = new Set<string>();

  constructor(place: PeerPlace & { readonly node?: string }, options: OtherEdgeOptions) {
    this.#place = place;
    this.node = place.address.startsWith("tls:") ? (place.node ?? place.edgeId) : undefined;
    this.#options = options;
    const { patterns, opening, log } = options;
    this.#kind = { patterns, log, compile: (shared, session) => opening.elsewhere(shared, session) };
  }

  session(id: string): RemoteSession | undefined {
    return this.#sessions.get(id);
  }

  /** Of its tunnels' agents, as often as they have some. */
  *agentIds(): Iterable<string> {
    for (const { session } of this.#tunnels.values()) yield session.agentId;
  }

  /** It is told of anew: what is not told again until `told` is over. */
  begin(): void {
    for (const id of [...this.#tunnels.keys(), ...this.#sessions.keys()]) this.#stale.add(id);
  }

  told(): void {
    for (const id of this.#stale) this.#close(id);
  }

  /** It has gone. */
  leave(): void {
    for (const id of [...this.#tunnels.keys(), ...this.#sessions.keys()]) this.#close(id);
  }

  openSession(report: SessionReport): void {
    this.#stale.delete(report.id);
    if (this.#sessions.has(report.id)) return;
    const { peers, count, counted } = this.#options;
    this.#sessions.set(report.id, new RemoteSession(report, peers, this.#place, count));
    counted(report.accountId, 1);
  }

  closeSession(id: string): void {
    this.#stale.delete(id);
    const session = this.#sessions.get(id);
    if (!session) return;
    this.#sessions.delete(id);
    this.#options.counted(session.accountId, -1);
  }

  /** New, or changed. */
  putTunnel(shared: SharedTunnel): void {
    const { tunnels, log } = this.#options;
    const { id } = shared;
    const known = this.#tunnels.get(id);
    this.#stale.delete(id);
    if (known?.online === true && known.text === JSON.stringify(shared)) return;
    const session = this.#sessions.get(shared.sessionId);
    // One of this edge's own is newer: the control plane takes the other one away.
    if (!session || tunnels.byId(id)?.isElsewhere === false) return;
    try {
      if (known && isChange(known, shared, session)) {
        known.change(shared);
        tunnels.changed(known);
        return;
      }
      const before = tunnels.byId(id);
      if (before) tunnels.close(before);
      known?.release();
      const tunnel = new RemoteTunnel(shared, session, this.#kind);
      this.#tunnels.set(id, tunnel);
      tunnels.open(tunnel);
    } catch (error) {
      // It is not served without what its agent has asked for.
      this.closeTunnel(id, false);
      log.error("tunnel of another edge not served here", { tunnel: id, error });
    }
  }

  /** @param finishes what is under way through it may end by itself */
  closeTunnel(id: string, finishes: boolean): void {
    const known = this.#tunnels.get(id);
    this.#tunnels.delete(id);
    this.#stale.delete(id);
    if (!known) return;
    this.#options.tunnels[finishes ? "withdraw" : "close"](known);
    known.release();
  }

  #close(id: string): void {
    this.closeTunnel(id, false);
    this.closeSession(id);
  }
}

/** Whether it is the one that is known as its agent has changed it, and no other. */
function isChange({ online, session, text }: RemoteTunnel, { endpoint }: SharedTunnel, of: RemoteSession): boolean {
  if (!online || session !== of || !endpoint) return false;
  const before = (JSON.parse(text) as SharedTunnel).endpoint;
  return before?.name === endpoint.name && before.host === endpoint.host && before.port === endpoint.port;
}
