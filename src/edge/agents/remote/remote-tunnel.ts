/**
 * A tunnel of another edge that a visitor here has requested. An edge knows the tunnels of all others, but visitors of
 * most arrive at other edges. Until the first visitor, a tunnel is a row of the replica.
 */
import type { TunnelParts } from "../../../directory/agent-rows.ts";
import type { Log } from "../../../lib/log.ts";
import type { SharedEntry, SharedTunnel } from "../../../directory/news.ts";
import type { BindRequest } from "../../../tunnel/server-hooks.ts";
import { companyOf } from "../opening/company.ts";
import type { RemoteSession } from "./remote-session.ts";
import type { Company, Endpoint, Tunnel } from "../tunnels/tunnel.ts";

/** Dependencies shared by the tunnels of other edges. */
export interface RemoteKind {
  /** Throws if the endpoint does not compile here. */
  readonly compile: (shared: SharedTunnel, session: RemoteSession) => Endpoint | undefined;
  readonly log: Log;
}

/** Data available without reading the text of the row. */
export interface RemoteParts extends TunnelParts {
  readonly labels?: Tunnel["labels"];
}

/** Data that requests need. */
interface Opened extends SharedTunnel {
  /** Undefined for a tunnel with labels, and for an endpoint that does not compile here. */
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
  #read: () => string;
  #opened: Opened | undefined;
  /** Cached, because each claim of the name reads it several times. */
  #kept: { readonly company: Company | undefined } | undefined;

  /**
   * @param read returns the text of the row, which is an entry. Called only if more than `parts` is needed: after a
   * node's death each agent wakes its tunnel and then takes over its name
   */
  constructor(parts: RemoteParts, session: RemoteSession, kind: RemoteKind, read: () => string) {
    this.id = parts.id;
    this.session = session;
    this.startedAt = parts.startedAt;
    this.name = parts.name;
    this.labels = parts.labels;
    this.#kind = kind;
    this.#read = read;
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
    this.#kept ??= { company: this.#company() };
    return this.#kept.company;
  }

  /** Applies a change by its agent that keeps the place. Throws if it does not compile here. */
  change(shared: SharedTunnel): void {
    this.#kept = undefined;
    this.#opened &&= { ...shared, served: this.#kind.compile(shared, this.session) };
  }

  /** Detaches the tunnel from its row, which is removed. Requests that use the tunnel may still read from it. */
  part(): void {
    const text = this.#read();
    this.#read = () => text;
  }

  #company(): Company | undefined {
    const { endpoint } = this.#told();
    return endpoint && companyOf(this.session, JSON.parse(endpoint.request) as BindRequest);
  }

  #told(): SharedTunnel {
    return (JSON.parse(this.#read()) as SharedEntry).shared;
  }

  /** Compiled once, because an endpoint has state, such as that of circuit breakers. */
  #open(): Opened {
    if (this.#opened) return this.#opened;
    const shared = this.#told();
    const opened: Opened = { ...shared, served: undefined };
    this.#opened = opened;
    try {
      opened.served = this.#kind.compile(shared, this.session);
    } catch (error) {
      // A tunnel is not served without the options that its agent requested.
      this.#kind.log.error("tunnel of another edge not served here", { tunnel: this.id, error });
    }
    return opened;
  }
}
