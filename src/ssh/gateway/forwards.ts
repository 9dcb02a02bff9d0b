/** The forwards of one connection, and the endpoints that they became. */
import { reportFailure } from "../../lib/boundary.ts";
import { Refusal } from "../../lib/errors.ts";
import type { BoundTunnel, ClientSession } from "../../tunnel/client-hooks.ts";
import { bindOf, noWords, UnclearForward } from "./forward-request.ts";
import type { CommandWords, ForwardRequest } from "./forward-request.ts";
import type { Terminal } from "./terminal.ts";

export interface Forward {
  readonly requested: ForwardRequest;
  /** As visitors' channels name it: with the port that the client was told. */
  shown: ForwardRequest;
  isHttp: boolean;
  hasProxyHeader: boolean;
  tunnel: BoundTunnel | undefined;
}

export interface ForwardsOptions {
  readonly domain: string;
  readonly terminal: Terminal;
}

/** First port for a client that asked for any. Each of its forwards has another one. */
const firstPort = 443;
const nextPorts = 1_024;

export class Forwards {
  /** Undefined until the client's command is known, or will not come. */
  words: CommandWords | undefined;
  lastProblem = "nothing was published";
  readonly #options: ForwardsOptions;
  readonly #forwards = new Set<Forward>();
  readonly #byTunnel = new Map<string, Forward>();
  readonly #decided = Promise.withResolvers<void>();
  readonly #pending = new Set<Promise<number | undefined>>();

  constructor(options: ForwardsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#forwards.size;
  }

  /** Whether forwards were requested and none is left. */
  get isUseless(): boolean {
    return this.words !== undefined && this.#pending.size === 0 && this.#forwards.size === 0;
  }

  /** Publishes what was requested, with these words. */
  decide(words: CommandWords | undefined): void {
    this.words ??= words ?? noWords;
    this.#decided.resolve();
  }

  /** Resolves when every requested forward is published or refused. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending);
  }

  ofTunnel(id: string): Forward | undefined {
    return this.#byTunnel.get(id);
  }

  /** Publishes a forward once the words are known. Resolves with its port, or undefined if it was refused. */
  ask(requested: ForwardRequest, session: ClientSession): Promise<number | undefined> {
    const forward = { requested, shown: requested, isHttp: true, hasProxyHeader: false, tunnel: undefined };
    this.#forwards.add(forward);
    const asked = this.#publish(forward, session);
    this.#pending.add(asked);
    return asked.finally(() => this.#pending.delete(asked));
  }

  async cancel({ address, port }: ForwardRequest, session: ClientSession): Promise<boolean> {
    const found = [...this.#forwards].find(({ shown }) => shown.address === address && shown.port === port);
    if (!found) return false;
    this.#forget(found);
    if (found.tunnel) await session.unbind(found.tunnel.id).catch(() => undefined);
    return true;
  }

  /** The server has ended an endpoint. */
  stopped(tunnelId: string, text: string): void {
    const forward = this.#byTunnel.get(tunnelId);
    if (!forward) return;
    this.#options.terminal.problem(`${forward.tunnel?.url} has ended: ${text}`);
    this.#forget(forward);
  }

  close(): void {
    this.#forwards.clear();
    this.#decided.resolve();
  }

  async #publish(forward: Forward, session: ClientSession): Promise<number | undefined> {
    await this.#decided.promise;
    if (!this.#forwards.has(forward)) return undefined;
    const { terminal, domain } = this.#options;
    try {
      const bind = bindOf(forward.requested, this.words ?? noWords, domain);
      forward.isHttp = bind.proto === "http" || bind.proto === "https";
      forward.hasProxyHeader = (bind.proxyProtocol ?? 0) > 0;
      let port = forward.requested.port;
      const tunnel = await session.bind(bind, (bound) => {
        // A visitor may arrive in the same turn.
        port = this.#portOf(forward, bound);
        forward.shown = { address: forward.requested.address, port };
        forward.tunnel = bound;
        this.#byTunnel.set(bound.id, forward);
      });
      terminal.published(tunnel.url, port);
      return port;
    } catch (error) {
      this.#forget(forward);
      if (!(error instanceof Refusal || error instanceof UnclearForward)) {
        reportFailure("session", error);
        this.lastProblem = "The server could not publish the service.";
      } else {
        const code = error instanceof Refusal ? ` (${error.code})` : "";
        this.lastProblem = `Not published: ${error.message}${code}`;
      }
      terminal.problem(this.lastProblem);
      return undefined;
    }
  }

  #portOf({ requested, isHttp }: Forward, bound: BoundTunnel): number {
    if (requested.port !== 0) return requested.port;
    const used = new Set([...this.#forwards].map(({ shown }) => shown.port));
    const bare = isHttp || bound.address === "" ? 0 : Number(bound.address.slice(bound.address.lastIndexOf(":") + 1));
    if (bare > 0 && !used.has(bare)) return bare;
    let port = firstPort;
    while (used.has(port)) port = port === firstPort ? nextPorts : port + 1;
    return port;
  }

  #forget(forward: Forward): void {
    this.#forwards.delete(forward);
    if (forward.tunnel) this.#byTunnel.delete(forward.tunnel.id);
  }
}
