/** A store as one of several nodes: it follows the other nodes, and announces its own commits to them. */
import type { Clock } from "../../lib/clock.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Availability } from "./availability.ts";
import { makeSharedJobs } from "../cluster/jobs.ts";
import type { Jobs } from "../cluster/jobs.ts";
import { Lease } from "../cluster/lease.ts";
import type { NodeReport } from "../cluster/lease.ts";
import type { Membership } from "../cluster/membership.ts";
import { listNodes } from "../cluster/nodes.ts";
import { SharedPresence } from "../cluster/shared-presence.ts";
import { sharedNotes } from "../cluster/shared-notes.ts";
import { makeSharedResults } from "../cluster/shared-results.ts";
import { makeTicketSecrets } from "../cluster/ticket-secrets.ts";
import { Superseded } from "../database/database.ts";
import type { Database, SharedDatabase, DatabaseStep } from "../database/database.ts";
import type { Documents } from "../rows/documents.ts";
import { Follower } from "./commit-follower.ts";
import type { FollowerOptions } from "./commit-follower.ts";
import { SharedCommits } from "./shared-commits.ts";
import type { Sealer } from "../sealing/sealing.ts";
import { Turns } from "./write-turns.ts";

export interface NodeOptions extends FollowerOptions {
  readonly id: string;
  readonly database: Database & { readonly shared: SharedDatabase };
  readonly documents: Documents;
  readonly sealer: Sealer;
  readonly region: string;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface StoreNode {
  readonly membership: Membership;
  readonly jobs: Jobs;
  /** Whether another holder has the database. Only a restart helps. */
  readonly isSuperseded: boolean;
  /** As `Lease.isCutOff`. */
  isCutOff(): boolean;
  /** `tell` is called each time that the lease ends while the database does not answer. */
  onCutOff(tell: () => void): void;
  commits(availability: Pick<Availability, "works">): SharedCommits;
  /** Updates the state to the database. Returns whether the state was outdated. */
  refresh(): Promise<boolean>;
  /** Starts following other nodes, and becomes visible to them. @param maintain as `Writer.maintain` */
  start(maintain: (steps: readonly DatabaseStep[]) => Promise<void>): Promise<void>;
  /** Leaves the cluster and stops following other nodes. */
  stop(): Promise<void>;
}

/** Maximum delay if a notification is lost. */
const pollEveryMs = 1000;
/** Time for which other nodes can read commits without a revision. Slower nodes read everything again. */
const keepMs = 15 * 60 * 1000;
const forgetEveryMs = 60_000;

export function makeNode(options: NodeOptions): StoreNode {
  const { id, database, published, region, version, clock, log } = options;
  const { shared } = database;
  const follower = new Follower(options);
  const turns = new Turns();
  let describe: () => Partial<NodeReport> = () => ({});
  const lease = new Lease({
    shared,
    node: id,
    startedAt: formatTimestamp(clock.now()),
    report: () => ({
      version,
      region,
      apiUrl: undefined,
      peerAddress: undefined,
      agents: 0,
      connections: 0,
      revision: follower.head.revision,
      ...describe(),
    }),
    clock,
    log,
  });
  const presence = new SharedPresence({ shared, lease, sealer: options.sealer, clock, log });
  const jobs = makeSharedJobs(shared, lease, log);
  const following = makeFollowing(follower, turns);
  let commits: SharedCommits | undefined;
  let isStopped = false;
  const look = (): void => {
    if (!isStopped) presence.look();
    // Runs even during a read, whose result may be older than this notification.
    if (!isStopped) following.refresh().catch((error: unknown) => log.debug("other nodes not followed", { error }));
  };
  shared.listen((notice) => {
    if (notice === id || notice === `presence ${id}`) return;
    if (notice?.startsWith("presence ")) {
      presence.look();
      return;
    }
    look();
    // A node has left, or may have left while notifications were lost.
    if (!notice && !isStopped) lease.renew().catch(() => undefined);
  });
  let timers: readonly { cancel(): void }[] = [];
  return {
    membership: {
      id,
      isAlive: () => lease.isHeld(),
      onRenewal: (watch) => lease.onRenewal(watch),
      get localAddress() {
        return shared.localAddress;
      },
      get alive() {
        return lease.alive;
      },
      get renewedAt() {
        return lease.renewedAt;
      },
      get behind() {
        return follower.behind;
      },
      get retries() {
        return commits?.retries ?? 0;
      },
      describe: (report) => void (describe = report),
      presence,
      ticketSecret: makeTicketSecrets(shared, options.sealer),
      list: () => listNodes(shared),
      results: (keepMs) => makeSharedResults(shared, options.sealer, keepMs),
      notes: (limits) => sharedNotes(shared, options.sealer, limits),
    },
    jobs,
    isCutOff: () => lease.isCutOff(),
    onCutOff: (tell) => lease.onRenewal(() => lease.isCutOff() && tell()),
    get isSuperseded() {
      return following.isSuperseded;
    },
    commits(availability) {
      commits = new SharedCommits({ ...options, published, follower, lease, turns, availability });
      return commits;
    },
    refresh: following.refresh,
    async start(maintain) {
      await lease.start();
      const forgetting = jobs.want("forget batches");
      const forget = (): void => {
        if (!forgetting.isHeld()) return;
        maintain(forgetSteps).catch((error: unknown) => log.debug("old batches not deleted", { error }));
      };
      timers = [clock.every(pollEveryMs, look), clock.every(forgetEveryMs, forget)];
      look();
    },
    async stop() {
      isStopped = true;
      for (const timer of timers) timer.cancel();
      await turns.take(async () => undefined);
      await lease.end();
    },
  };
}

/** Reads the commits of other nodes, in turn with this node's commits. */
interface Following {
  /** Same as `Node.refresh`. */
  refresh(): Promise<boolean>;
  /** Same as `Node.isSuperseded`. */
  readonly isSuperseded: boolean;
}

function makeFollowing(follower: Follower, turns: Turns): Following {
  let isSuperseded = false;
  /** Callers share a read that waits for its turn. */
  let waiting: Promise<boolean> | undefined;
  const catchUp = async (): Promise<boolean> => {
    try {
      return await follower.catchUp();
    } catch (error) {
      isSuperseded ||= error instanceof Superseded;
      throw error;
    }
  };
  return {
    get isSuperseded() {
      return isSuperseded;
    },
    refresh: () =>
      (waiting ??= turns.take(() => {
        waiting = undefined;
        return catchUp();
      })),
  };
}

/** The oldest stored batch is recorded first, so that nodes farther behind can detect it. */
const forgetSteps: readonly DatabaseStep[] = [
  {
    sql:
      "update head set sequence_kept = greatest(sequence_kept, coalesce((select max(sequence) from batches " +
      "where at_ms < (extract(epoch from clock_timestamp()) * 1000)::bigint - $1), 0)) where id = 1",
    parameters: [keepMs],
  },
  { sql: "delete from unrecorded where sequence <= (select sequence_kept from head where id = 1)", parameters: [] },
  { sql: "delete from batches where sequence < (select sequence_kept from head where id = 1)", parameters: [] },
];
