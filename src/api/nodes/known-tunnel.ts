/** What this control plane keeps of a tunnel of another node: a pattern that many share, read when somebody wants it. */
import { unfold } from "../../lib/patterns.ts";
import type { Pattern, Patterns } from "../../lib/patterns.ts";
import type { SharedTunnel } from "../../routing/planes/directory.ts";
import type { SessionReport, TunnelReport } from "../../routing/planes/messages.ts";
import { partsOfTunnel } from "../../lib/tunnel-parts.ts";

/** As its node tells of it. */
export interface TunnelEntry {
  readonly what: "tunnel";
  readonly edgeId: string;
  readonly tunnel: TunnelReport;
  readonly shared: SharedTunnel;
}

/** Who asks for one member asks for the next. */
let last: { readonly of: KnownTunnel; readonly entry: TunnelEntry } | undefined;

export class KnownTunnel implements TunnelReport {
  get what(): "tunnel" {
    return "tunnel";
  }

  readonly id: string;
  readonly edgeId: string;
  readonly name: string;
  readonly startedAtMs: number;
  readonly #session: SessionReport;
  readonly #pattern: Pattern;

  /** @param session that has it; @param edgeId the same text for all of an edge */
  constructor(id: string, edgeId: string, entry: TunnelEntry, session: SessionReport, patterns: Patterns) {
    this.id = id;
    this.edgeId = edgeId;
    this.name = entry.shared.endpoint?.name ?? "";
    this.startedAtMs = entry.shared.startedAt;
    this.#session = session;
    this.#pattern = patterns.fold(JSON.stringify(entry), this.#parts());
    last = { of: this, entry };
  }

  get entry(): TunnelEntry {
    if (last?.of !== this) last = { of: this, entry: JSON.parse(unfold(this.#pattern, this.#parts())) as TunnelEntry };
    return last.entry;
  }

  get accountId(): string {
    return this.#session.accountId;
  }

  get sessionId(): string {
    return this.#session.id;
  }

  get credentialId(): string {
    return this.#session.credentialId;
  }

  get startedAt(): string {
    return this.entry.tunnel.startedAt;
  }

  get metadata(): string {
    return this.entry.tunnel.metadata;
  }

  get forwardsTo(): string {
    return this.entry.tunnel.forwardsTo;
  }

  get region(): string {
    return this.entry.tunnel.region;
  }

  get endpoint(): NonNullable<TunnelReport["endpoint"]> | undefined {
    return this.entry.tunnel.endpoint;
  }

  get labels(): Readonly<Record<string, string>> | undefined {
    // What has a name has none.
    return this.name === "" ? this.entry.tunnel.labels : undefined;
  }

  /** It is not wanted any more. */
  release(patterns: Patterns): void {
    patterns.release(this.#pattern);
  }

  #parts(): readonly string[] {
    return partsOfTunnel({ id: this.id, name: this.name, startedAt: this.startedAtMs }, this.#session);
  }
}
