/**
 * A tunnel of another edge. Each edge has all of them, and visitors of most go elsewhere: until somebody comes for it, it
 * is little more than a pattern that many share (see `Patterns`).
 */
import type { Log } from "../../lib/log.ts";
import { unfold } from "../../lib/patterns.ts";
import type { Pattern, Patterns } from "../../lib/patterns.ts";
import type { SharedTunnel } from "../../routing/planes/directory.ts";
import { partsOfTunnel } from "../../lib/tunnel-parts.ts";
import type { BindRequest } from "../../tunnel/server-hooks.ts";
import { companyOf } from "./company.ts";
import type { Company } from "./company.ts";
import type { RemoteSession } from "./remote-session.ts";
import type { Endpoint, Tunnel } from "./tunnel.ts";

/** What the tunnels of another edge have in common. */
export interface RemoteKind {
  readonly patterns: Patterns;
  /** Throws where the endpoint does not compile here. */
  readonly compile: (shared: SharedTunnel, session: RemoteSession) => Endpoint | undefined;
  readonly log: Log;
}

/** What visitors need of it. */
interface Opened extends SharedTunnel {
  /** Undefined for one with labels, and for one that does not compile here. */
  served: Endpoint | undefined;
}

export class RemoteTunnel implements Tunnel {
  readonly id: string;
  readonly session: RemoteSession;
  readonly startedAt: number;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly isElsewhere = true;
  online = true;
  readonly #kind: RemoteKind;
  #pattern: Pattern;
  #opened: Opened | undefined;

  constructor(shared: SharedTunnel, session: RemoteSession, kind: RemoteKind) {
    this.id = shared.id;
    this.session = session;
    this.startedAt = shared.startedAt;
    this.name = shared.endpoint?.name ?? "";
    this.labels = shared.labels;
    this.#kind = kind;
    this.#pattern = this.#fold(shared);
  }

  /** As it was told. */
  get text(): string {
    return unfold(this.#pattern, this.#parts());
  }

  get isOpened(): boolean {
    return this.#opened !== undefined;
  }

  get forwardsTo(): string {
    return this.#open().forwardsTo;
  }

  get metadata(): string {
    return this.#open().metadata;
  }

  set metadata(metadata: string) {
    this.#opened = { ...this.#open(), metadata };
  }

  get http2(): boolean {
    return this.#open().http2;
  }

  get proxyProtocol(): 0 | 1 | 2 {
    return this.#open().proxyProtocol;
  }

  get wantsTimes(): boolean {
    return this.#open().wantsTimes === true;
  }

  get endpoint(): Endpoint | undefined {
    return this.name === "" ? undefined : this.#open().served;
  }

  set endpoint(endpoint: Endpoint | undefined) {
    this.#open().served = endpoint;
  }

  get company(): Company | undefined {
    if (this.name === "") return undefined;
    if (this.#opened) return this.#opened.served?.company;
    const { endpoint } = JSON.parse(this.text) as SharedTunnel;
    return endpoint && companyOf(this.session, JSON.parse(endpoint.request) as BindRequest);
  }

  /** Its agent has changed it, but for its place: throws where what it is now does not compile here. */
  change(shared: SharedTunnel): void {
    const served = this.#opened && this.#kind.compile(shared, this.session);
    this.#kind.patterns.release(this.#pattern);
    this.#pattern = this.#fold(shared);
    this.#opened &&= { ...shared, served };
  }

  /** It is not wanted any more. */
  release(): void {
    this.#kind.patterns.release(this.#pattern);
  }

  #fold(shared: SharedTunnel): Pattern {
    return this.#kind.patterns.fold(JSON.stringify(shared), this.#parts());
  }

  #parts(): readonly string[] {
    return partsOfTunnel(this, this.session);
  }

  /** What somebody has come for is kept as it is compiled: it has state, such as that of circuit breakers. */
  #open(): Opened {
    if (this.#opened) return this.#opened;
    const shared = JSON.parse(this.text) as SharedTunnel;
    const opened: Opened = { ...shared, served: undefined };
    this.#opened = opened;
    try {
      opened.served = this.#kind.compile(shared, this.session);
    } catch (error) {
      // It is not served without what its agent has asked for.
      this.#kind.log.error("tunnel of another edge not served here", { tunnel: this.id, error });
    }
    return opened;
  }
}
