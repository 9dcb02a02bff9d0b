/** One authenticated agent on the server's side: its tunnels, its requests, and the requests to it. */
import { Refusal } from "../lib/errors.ts";
import type { RefusalName } from "../lib/errors.ts";
import { newId } from "../lib/ids.ts";
import type { AgentCommand } from "../routing/planes/messages.ts";
import { readBind } from "./bind-asked.ts";
import type { BindAsked } from "./bind-asked.ts";
import { echoOptions } from "./bind-options.ts";
import { askPulse, commandAgent, moveAgentAway, notifyStopped } from "./agent-commands.ts";
import { textMember } from "./json-message.ts";
import { LabelledIds } from "./labelled-ids.ts";
import type { Heartbeat } from "./agent-heartbeat.ts";
import type { JsonObject } from "./json-message.ts";
import { parseLabelled, parsePatch, renderBound, renderRefusedBind } from "./tunnel-messages.ts";
import type { AuthMessage } from "./tunnel-messages.ts";
import { errorCode } from "./mux/frame.ts";
import { ProxySlots } from "./proxy-slots.ts";
import type {
  AgentSession,
  BindProgress,
  LabelRequest,
  PendingStream,
  ProxyHeader,
  TakeStream,
  Unclaimed,
} from "./server-hooks.ts";
import { TimesTeller } from "./request-times.ts";
import type { SessionIdentity, SessionParts } from "./session-parts.ts";
import { streamType } from "./typed-stream.ts";
import { renderWireError } from "./wire-error.ts";

export interface RequestAnswer {
  readonly body: JsonObject;
  /** Call when the agent knows about the tunnel; undefined if not needed. */
  readonly answered?: () => void;
  /** Whether the agent needs time to learn about the tunnel. */
  readonly learnsLate?: boolean;
}

/** A bind that waits for the result from another session. */
interface Unasked {
  readonly ask: AgentSession;
}

/** A request of an agent, across its repetitions. */
interface BindAttempt {
  readonly asked: Map<AgentSession, boolean>;
  readonly progress: BindProgress;
  /** Id of the tunnel that a bind creates. */
  id: string | undefined;
  /** The parsed request of a bind, with its proof checked. */
  asking?: BindAsked;
}

export class ServerSession implements AgentSession {
  readonly id: string;
  readonly clientId: string;
  readonly accountId: string;
  readonly credentialId: string;
  readonly agentId: string;
  readonly agentVersion: string;
  readonly os: string;
  readonly metadata: string;
  readonly ip: string;
  readonly isSsh: boolean;
  readonly startedAt: number;
  readonly #parts: SessionParts;
  readonly #agent: AuthMessage;
  readonly #slots: ProxySlots;
  readonly #tunnels = new Set<string>();
  readonly #labelledIds = new LabelledIds((request, ordinal) =>
    this.#parts.proofs.labelledId(this.clientId, request, ordinal),
  );
  /** Tunnels whose response is not sent yet, with the reason if they have already ended. */
  #unanswered: Map<string, Refusal | undefined> | undefined;
  readonly #times: TimesTeller;
  #heartbeat: Heartbeat | undefined;

  constructor(parts: SessionParts, identity: SessionIdentity, agent: AuthMessage) {
    this.id = identity.id;
    this.clientId = identity.clientId;
    this.accountId = identity.accountId;
    this.credentialId = identity.credentialId;
    this.agentId = agent.agentId;
    this.agentVersion = agent.agentVersion;
    this.os = agent.os;
    this.metadata = agent.metadata;
    this.ip = identity.ip;
    this.isSsh = identity.isSsh;
    this.startedAt = parts.clock.now();
    this.#parts = parts;
    this.#agent = agent;
    this.#times = new TimesTeller(parts.mux);
    this.#slots = new ProxySlots(parts.mux, parts.clock, {
      maxStreams: parts.limits.maxStreams[agent.kind],
      maxHeld: parts.limits.maxHeld[agent.kind],
      maxUnaccepted: parts.limits.maxUnaccepted[agent.kind],
      maxWaiting: parts.limits.maxWaiting,
      maxWaitMs: parts.limits.maxWaitMs,
    });
  }

  get openStreams(): number {
    return this.#slots.openCount;
  }

  openProxy(header: ProxyHeader, take: TakeStream): PendingStream | undefined {
    return this.#slots.open(header, take);
  }

  /** Heartbeat of its connection. */
  set heartbeat(heartbeat: Heartbeat) {
    this.#heartbeat = heartbeat;
  }

  ask(done: (isThere: boolean) => void): void {
    if (this.#heartbeat) this.#heartbeat.ask(this.#parts.limits.askMs, done);
    else done(!this.#parts.mux.over);
  }

  command(command: AgentCommand): Promise<string | undefined> {
    if (command.name === "pulse") return askPulse(this.#parts, this.#heartbeat);
    return commandAgent(this.#parts, this.#agent, command);
  }

  moveAway(): boolean {
    return moveAgentAway(this.#parts, this.#agent);
  }

  stopTunnel(tunnelId: string, message: string, reason: RefusalName): void {
    if (this.#unanswered?.has(tunnelId)) {
      // The response reports the end, because the agent does not know the tunnel before it.
      this.#unanswered.set(tunnelId, new Refusal(reason, message));
      return;
    }
    if (this.#tunnels.has(tunnelId)) notifyStopped(this.#parts.mux, this.#agent, tunnelId, message, reason);
  }

  tellTimes(lines: string): void {
    this.#times.tell(lines);
  }

  close(reason: string): void {
    this.#parts.mux.close(errorCode.none, reason);
  }

  /**
   * Calls `done` with the response to a message, immediately or after other sessions were checked; undefined for an
   * unknown type.
   * @param isWanted whether the agent still waits for it
   */
  answer(
    type: number,
    message: JsonObject,
    isWanted: () => boolean,
    done: (reply: RequestAnswer | undefined) => void,
  ): void {
    const { mux, hooks, limits } = this.#parts;
    const asked = new Map<AgentSession, boolean>();
    const attempt: BindAttempt = { asked, progress: {}, id: undefined };
    const repeat = (): void => {
      if (!mux.over && isWanted()) replyOrAsk();
      else if (attempt.id !== undefined) hooks.abandoned(attempt.id, attempt.progress);
    };
    const replyOrAsk = (): void => {
      const outcome = this.#reply(type, message, attempt);
      if (outcome && "claim" in outcome) return outcome.claim(repeat);
      if (!outcome || !("ask" in outcome)) {
        return this.#whenReady(attempt, () => this.#stillOpen(attempt.id, outcome), done);
      }
      const { ask: holder } = outcome;
      if (asked.size >= limits.maxAsked) {
        asked.set(holder, true);
        return replyOrAsk();
      }
      holder.ask((isThere) => {
        asked.set(holder, isThere);
        repeat();
      });
    };
    replyOrAsk();
  }

  /** Responds immediately, or when visitors can reach the tunnel. */
  #whenReady(
    { id, progress: { ready } }: BindAttempt,
    answer: () => RequestAnswer | undefined,
    done: (reply?: RequestAnswer) => void,
  ): void {
    if (!ready || id === undefined || !this.#tunnels.has(id)) return done(answer());
    (this.#unanswered ??= new Map()).set(id, undefined);
    ready(() => done(answer()));
  }

  /** Returns the response to a bind, or the refusal if its tunnel was stopped before the response. */
  #stillOpen(id: string | undefined, reply: RequestAnswer | undefined): RequestAnswer | undefined {
    const refusal = id === undefined ? undefined : this.#unanswered?.get(id);
    if (id !== undefined) this.#unanswered?.delete(id);
    if (id === undefined || !refusal) return reply;
    this.#forget(id);
    return { body: renderRefusedBind(renderWireError(refusal)) };
  }

  #reply(type: number, message: JsonObject, attempt: BindAttempt): RequestAnswer | Unasked | Unclaimed | undefined {
    let learning: string | undefined;
    const body = this.#answer(type, message, attempt, (tunnelId) => (learning = tunnelId));
    if (!body || isWaiting(body)) return body;
    if (learning === undefined) return { body };
    const tunnelId = learning;
    return { body, answered: () => this.#slots.release(tunnelId), learnsLate: this.#learnsLate };
  }

  /** Call when the connection has ended. */
  ended(): void {
    this.#slots.close();
    for (const tunnelId of this.#tunnels) this.#tell(() => this.#parts.hooks.unbind(this, tunnelId));
    this.#tunnels.clear();
    this.#tell(() => this.#parts.hooks.closed(this));
  }

  /** An error in one tunnel must not prevent the removal of the others. */
  #tell(hook: () => void): void {
    try {
      hook();
    } catch (error) {
      this.#parts.log.error("agent session could not be put away", { session: this.id, error });
    }
  }

  #answer(
    type: number,
    message: JsonObject,
    attempt: BindAttempt,
    bound: (tunnelId: string) => void,
  ): JsonObject | Unasked | Unclaimed | undefined {
    switch (type) {
      case streamType.bind:
        return this.#refusing(() => this.#bind(message, attempt, bound), renderRefusedBind);
      case streamType.startLabelled:
        return this.#refusing(
          () => this.#label(message, attempt, bound),
          (error) => ({ Id: "", Error: error }),
        );
      case streamType.unbind:
        return this.#refusing(
          () => this.#unbind(message),
          (error) => ({ Error: error }),
        );
      case streamType.patchTunnel:
        return this.#refusing(
          () => this.#patch(message, attempt),
          (error) => ({ Error: error }),
        );
      case streamType.serverInfo:
        return this.#serverInfo();
      default:
        return undefined;
    }
  }

  #serverInfo(): JsonObject {
    const { region, edges, nodes, edgeSet } = this.#parts;
    if (this.#agent.kind !== "postern" || (nodes() === 0 && edges() === 1)) return { Region: region };
    return { Region: region, Edges: edges(), Nodes: nodes(), EdgeSet: edgeSet() };
  }

  #bind(
    message: JsonObject,
    attempt: BindAttempt,
    bound: (tunnelId: string) => void,
  ): JsonObject | Unasked | Unclaimed {
    this.#checkTunnelCount();
    const { proofs, hooks, clock } = this.#parts;
    attempt.asking ??= readBind(message, proofs, this.accountId);
    const { request, proven } = attempt.asking;
    const returning = proven !== undefined && !this.#tunnels.has(proven.id);
    const id = returning ? proven.id : (attempt.id ?? newId("tn", clock.now()));
    attempt.id = id;
    const { options } = request;
    this.#slots.add(id);
    try {
      const asking = returning ? request : { ...request, id: "" };
      const given = hooks.bind(this, id, asking, attempt.asked, attempt.progress);
      if (isWaiting(given)) {
        this.#slots.remove(id);
        return given;
      }
      this.#bound(id, bound);
      const echoed = echoOptions(options, { ...given, proto: request.proto }, proofs, this.accountId);
      const token = returning ? proven.token : proofs.tunnelToken(this.accountId, id);
      return renderBound(id, given.url, request.proto, echoed, token);
    } catch (error) {
      this.#slots.remove(id);
      throw error;
    }
  }

  #label(message: JsonObject, attempt: BindAttempt, bound: (tunnelId: string) => void): JsonObject {
    this.#checkTunnelCount();
    const request = parseLabelled(message);
    const id = this.#labelledId(request);
    attempt.id = id;
    this.#slots.add(id);
    try {
      this.#parts.hooks.label(this, id, request, attempt.progress);
    } catch (error) {
      this.#slots.remove(id);
      this.#labelledIds.release(id);
      throw error;
    }
    this.#bound(id, bound);
    return { Id: id, Error: "" };
  }

  #bound(id: string, bound: (tunnelId: string) => void): void {
    if (this.#parts.mux.over) {
      this.#parts.hooks.unbind(this, id);
      throw new Refusal("internal", "The session has ended.");
    }
    this.#tunnels.add(id);
    bound(id);
  }

  #patch(message: JsonObject, attempt: BindAttempt): JsonObject | Unclaimed {
    const { id, change } = parsePatch(message);
    if (!this.#tunnels.has(id)) {
      throw new Refusal("agent_request_invalid", `change the tunnel "${id}": this session has no tunnel with this id`);
    }
    return this.#parts.hooks.patch(this, id, change, attempt.progress) ?? { Error: "" };
  }

  /** Unknown ids are not an error: Rust agents unbind twice (§4.4). */
  #unbind(message: JsonObject): JsonObject {
    const id = textMember(message, "Id", 255);
    if (this.#forget(id)) this.#parts.hooks.unbind(this, id);
    return { Error: "" };
  }

  /** Returns false if the session does not have the tunnel. */
  #forget(id: string): boolean {
    if (!this.#tunnels.delete(id)) return false;
    this.#slots.remove(id);
    this.#labelledIds.release(id);
    return true;
  }

  /** Returns the same id after a reconnect, because the request contains none (§4.3). */
  #labelledId(request: LabelRequest): string {
    const labels = Object.entries(request.labels).sort(([a], [b]) => (a < b ? -1 : 1));
    const key = JSON.stringify([labels, request.metadata, request.forwardsTo]);
    return this.#labelledIds.take(key, (id) => this.#tunnels.has(id));
  }

  #checkTunnelCount(): void {
    const { maxTunnels } = this.#parts.limits;
    if (this.#tunnels.size >= maxTunnels) {
      throw new Refusal("agent_limit", `The session has ${maxTunnels} tunnels, the maximum.`);
    }
  }

  /** Rust agents accept streams in a different task than the one that processes our response about the tunnel. */
  get #learnsLate(): boolean {
    return this.#agent.kind === "rust";
  }

  #refusing<T>(run: () => T, refused: (error: string) => JsonObject): T | JsonObject {
    try {
      return run();
    } catch (error) {
      if (error instanceof Refusal) return refused(renderWireError(error));
      this.#parts.log.error("agent message failed", { error });
      return refused(renderWireError(new Refusal("internal")));
    }
  }
}

function isWaiting(outcome: object): outcome is Unasked | Unclaimed {
  return "ask" in outcome || "claim" in outcome;
}
