import { Refusal } from "../../../lib/errors.ts";
import type { SessionReport } from "../../../directory/agent-reports.ts";
import type { MuxStream, StreamWatcher } from "../../../tunnel/mux/mux-stream.ts";
import type { AgentSession, PendingStream, ProxyHeader, TakeStream } from "../../../tunnel/server-hooks.ts";
import type { Peers } from "../../peers/peers.ts";
import type { PeerPlace } from "../../peers/peer-transport.ts";

/** The session of an agent that is connected to another edge. Its streams are opened through that edge. */
export class RemoteSession implements AgentSession, StreamWatcher {
  readonly id: string;
  readonly accountId: string;
  readonly credentialId: string;
  readonly agentId: string;
  readonly agentVersion: string;
  readonly os: string;
  readonly metadata: string;
  readonly ip: string;
  readonly startedAt: number;
  readonly #peers: Peers;
  readonly #place: PeerPlace;
  readonly #share: () => number;
  #open = 0;

  /**
   * @param place of the edge that has it
   * @param share number of edges that share the agent's maximum number of streams
   */
  constructor(report: SessionReport, peers: Peers, place: PeerPlace, share: () => number) {
    this.id = report.id;
    this.accountId = report.accountId;
    this.credentialId = report.credentialId;
    this.agentId = report.agentId ?? "";
    this.agentVersion = report.agentVersion;
    this.os = report.os;
    this.metadata = report.metadata;
    this.ip = report.ip;
    this.startedAt = report.startedMs ?? Date.parse(report.startedAt);
    this.#peers = peers;
    this.#place = place;
    this.#share = share;
  }

  /** Whether another node has it, and not another edge of this node. */
  get isAtNode(): boolean {
    return this.#place.address.startsWith("tls:");
  }

  /** An estimate over all edges: each edge opens at most its share of the streams that the agent accepts. */
  get openStreams(): number {
    return this.#open * this.#share();
  }

  openProxy(header: ProxyHeader, take: TakeStream): PendingStream | undefined {
    return this.#peers.open(this.#place, header, this, (stream, why) => {
      if (stream) this.#open += 1;
      take(stream, why);
    });
  }

  released(): void {
    this.#open -= 1;
  }

  accepted(_stream: MuxStream): void {}

  forgotten(): void {}

  ask(done: (isThere: boolean) => void): void {
    this.#peers.ask(this.#place, this.id, done);
  }

  tellTimes(times: string): void {
    this.#peers.tellTimes(this.#place, this.id, times);
  }

  command(): Promise<never> {
    return Promise.reject(
      new Refusal("not_found", `command the tunnel session "${this.id}": it is not connected here`),
    );
  }

  moveAway(): boolean {
    // The edge that has the session moves its agent away when that edge stops.
    return false;
  }

  stopTunnel(): void {
    // The control plane sends `tunnel_taken` to the edge that has the tunnel.
  }

  close(): void {
    // The control plane sends `session_taken` to the edge that has the session.
  }
}
