/** A node among others, as the code on that node sees it. */
import type { NodeReport } from "./lease.ts";
import type { Presence } from "./presence.ts";
import type { NodeRow } from "./nodes.ts";
import type { NoteLimits, SharedNotes } from "./shared-notes.ts";
import type { SharedResults } from "./shared-results.ts";
import type { ShareTicketSecret } from "./ticket-secrets.ts";

export interface Membership {
  readonly id: string;
  /**
   * Whether other nodes consider this node alive. This is the node's own view, and needs no response from the database.
   */
  isAlive(): boolean;
  /** Calls `watch` after each renewal of the lease, and when the lease is lost. */
  onRenewal(watch: () => void): void;
  /** Address of this machine on its connection to the database; undefined if the database is on the same machine. */
  readonly localAddress: string | undefined;
  /** Number of live nodes that this node last saw, including itself. */
  readonly alive: number;
  /** Time of the last renewal of the lease, milliseconds since 1970; undefined before the first one. */
  readonly renewedAt: number | undefined;
  /** Number of revisions that the database was ahead at the last check. */
  readonly behind: number;
  /** Batches that ran again because another node was first. */
  readonly retries: number;
  /** Sets the data about this node for other nodes, in addition to storage's own data. */
  describe(report: () => Partial<NodeReport>): void;
  /** Sessions and tunnels of each node. */
  readonly presence: Presence;
  readonly ticketSecret: ShareTicketSecret;
  list(): Promise<readonly NodeRow[]>;
  /** Results that all nodes can read until `keepMs` after their last change. */
  results(keepMs: number): SharedResults;
  /** Short-lived texts for all nodes. */
  notes(limits: NoteLimits): SharedNotes;
}
