/** One node among others, as those see it who run on it. */
import type { NodeReport } from "./lease.ts";
import type { Presence } from "./presence.ts";
import type { NodeRow } from "./nodes.ts";

export interface Membership {
  readonly id: string;
  /** Whether the others count on this node. It says so itself: its own view, whether or not the database answers. */
  isAlive(): boolean;
  /** The address of this machine on its way to the database; undefined where that is on the machine itself. */
  readonly localAddress: string | undefined;
  /** How many nodes live, this one with them, as it last saw. */
  readonly alive: number;
  /** When the lease was last renewed, milliseconds since 1970; undefined before it was had. */
  readonly renewedAt: number | undefined;
  /** Revisions that the database was ahead when it was last looked at. */
  readonly behind: number;
  /** Batches that were run again, because another node was first. */
  readonly retries: number;
  /** What the others are shown of this node besides what storage knows. */
  describe(report: () => Partial<NodeReport>): void;
  /** What is at which node of sessions and tunnels. */
  readonly presence: Presence;
  list(): Promise<readonly NodeRow[]>;
}
