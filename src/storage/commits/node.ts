/** A store as one of several nodes: what follows the others, and what the others follow. */
import type { Clock } from "../../lib/clock.ts";
import { timestamp } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Availability } from "./availability.ts";
import { sharedJobs } from "../cluster/jobs.ts";
import type { Jobs } from "../cluster/jobs.ts";
import { Lease } from "../cluster/lease.ts";
import type { NodeReport } from "../cluster/lease.ts";
import type { Membership } from "../cluster/membership.ts";
import { listNodes } from "../cluster/nodes.ts";
import { SharedPresence } from "../cluster/shared-presence.ts";
import { Superseded } from "../database/database.ts";
import type { Database, Shared, Step } from "../database/database.ts";
import type { Documents } from "../rows/documents.ts";
import { Follower } from "./follower.ts";
import type { FollowerOptions } from "./follower.ts";
import { SharedCommits } from "./shared-commits.ts";
import type { Sealer } from "../sealing/sealing.ts";
import { Turns } from "./turns.ts";

export interface NodeOptions extends FollowerOptions {
  readonly id: string;
  readonly database: Database & { readonly shared: Shared };
  readonly documents: Documents;
  readonly sealer: Sealer;
  readonly region: string;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Node {
  readonly membership: Membership;
  readonly jobs: Jobs;
  /** Another holder has the database: only a restart helps. */
  readonly isSuperseded: boolean;
  commits(availability: Pick<Availability, "works">): SharedCommits;
  /** Brings the state to where the database stands now; whether it was somewhere else. */
  refresh(): Promise<boolean>;
  /** Begins to follow, and to be seen. @param maintain as `Writer.maintain` */
  start(maintain: (steps: readonly Step[]) => Promise<void>): Promise<void>;
  /** Leaves the others; nothing is followed any more. */
  stop(): Promise<void>;
}

/** A lost hint costs no more than this. */
const pollEveryMs = 1000;
/** How long others have to read what is in no revision; then they read everything anew. */
const keepMs = 15 * 60 * 1000;
const forgetEveryMs = 60_000;

export function makeNode(options: NodeOptions): Node {
  const { id, database, published, region, version, clock, log } = options;
  const { shared } = database;
  const follower = new Follower(options);
  const turns = new Turns();
  let describe: () => Partial<NodeReport> = () => ({});
  const lease = new Lease({
    shared,
    node: id,
    startedAt: timestamp(clock.now()),
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
  const jobs = sharedJobs(shared, lease, log);
  const following = makeFollowing(follower, turns);
  let commits: SharedCommits | undefined;
  let isStopped = false;
  const look = (): void => {
    if (!isStopped) presence.look();
    // Also while one reads: what it has seen may be older than what is told of now.
    if (!isStopped) following.refresh().catch((error: unknown) => log.debug("other nodes not followed", { error }));
  };
  shared.listen((notice) => {
    if (notice === id || notice === `presence ${id}`) return;
    if (notice?.startsWith("presence ")) {
      presence.look();
      return;
    }
    look();
    // Somebody has left, or may have while nothing was heard.
    if (!notice && !isStopped) lease.renew().catch(() => undefined);
  });
  let timers: readonly { cancel(): void }[] = [];
  return {
    membership: {
      id,
      isAlive: () => lease.isHeld(),
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
      list: () => listNodes(shared),
    },
    jobs,
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

/** Reading what the others have written, in turn with our own commits. */
interface Following {
  /** As `Node.refresh`. */
  refresh(): Promise<boolean>;
  /** As `Node.isSuperseded`. */
  readonly isSuperseded: boolean;
}

function makeFollowing(follower: Follower, turns: Turns): Following {
  let isSuperseded = false;
  /** Whoever asks while one waits for its turn gets what that one finds. */
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

/** What is kept is named first, so that whoever is farther behind knows. */
const forgetSteps: readonly Step[] = [
  {
    sql:
      "update head set sequence_kept = greatest(sequence_kept, coalesce((select max(sequence) from batches " +
      "where at_ms < (extract(epoch from clock_timestamp()) * 1000)::bigint - $1), 0)) where id = 1",
    parameters: [keepMs],
  },
  { sql: "delete from unrecorded where sequence <= (select sequence_kept from head where id = 1)", parameters: [] },
  { sql: "delete from batches where sequence < (select sequence_kept from head where id = 1)", parameters: [] },
];
