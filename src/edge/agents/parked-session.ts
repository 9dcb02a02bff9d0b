/**
 * Holds the tunnels of an agent that is asked to connect elsewhere and can have only one session. The names stay known
 * at every edge, and visitors wait for the agent's return.
 */
import { runContained } from "../../lib/boundary.ts";
import type { AgentCommand } from "../../routing/planes/messages.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { AgentSession, PendingStream, ProxyHeader, TakeStream } from "../../tunnel/server-hooks.ts";

/** Maximum number of visitors that wait for one tunnel at this edge. The others get a response immediately. */
const maxWaiting = 64;

export class ParkedSession implements AgentSession {
  readonly id: string;
  readonly accountId: string;
  readonly credentialId: string;
  readonly agentId = "";
  readonly agentVersion: string;
  readonly os: string;
  readonly metadata: string;
  readonly ip: string;
  readonly isSsh: boolean;
  readonly startedAt: number;
  readonly openStreams = 0;
  readonly #session: AgentSession;
  readonly #waiting = new Map<string, Set<TakeStream>>();
  #isOver = false;

  /** @param session the agent's only session, which ends soon */
  constructor(session: AgentSession, id: string, startedAt: number) {
    this.#session = session;
    this.id = id;
    this.accountId = session.accountId;
    this.credentialId = session.credentialId;
    this.agentVersion = session.agentVersion;
    this.os = session.os;
    this.metadata = session.metadata;
    this.ip = session.ip;
    this.isSsh = session.isSsh === true;
    this.startedAt = startedAt;
  }

  openProxy({ tunnelId }: ProxyHeader, take: TakeStream): PendingStream | undefined {
    const waiting = this.#waiting.get(tunnelId) ?? new Set();
    this.#waiting.set(tunnelId, waiting);
    if (this.#isOver || waiting.size >= maxWaiting) {
      take(undefined, "tunnel_gone");
      return undefined;
    }
    waiting.add(take);
    return { withdraw: () => waiting.delete(take) };
  }

  /** The visitors that still wait choose another tunnel, such as the one that the agent has opened elsewhere. */
  release(): void {
    this.#isOver = true;
    const all = [...this.#waiting.values()].flatMap((takes) => [...takes]);
    this.#waiting.clear();
    for (const take of all) runContained("stream", () => take(undefined, "tunnel_gone"));
  }

  ask(done: (isThere: boolean) => void): void {
    this.#session.ask(done);
  }

  command(command: AgentCommand): Promise<string | undefined> {
    return this.#session.command(command);
  }

  moveAway(): boolean {
    return false;
  }

  stopTunnel(tunnelId: string, message: string, reason: RefusalName): void {
    this.#session.stopTunnel(tunnelId, message, reason);
  }

  tellTimes(lines: string): void {
    this.#session.tellTimes(lines);
  }

  close(reason: string): void {
    this.#session.close(reason);
  }
}
