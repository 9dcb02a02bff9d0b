/**
 * Shows other nodes that this node is alive: it renews a row, and counts as dead by the database's clock if it does
 * not. Each time that a node becomes alive (again), it gets a new epoch, which every commit compares. So work that
 * began under an earlier epoch cannot be stored, even if no other node has taken it over.
 */
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { channel } from "../database/database.ts";
import type { SharedDatabase } from "../database/database.ts";
import { DatabaseClock } from "./database-clock.ts";
import { leaseMs } from "./node-tables.ts";

/** Compared by each commit: the node's lease must be the one under which the commit began. */
export interface Fence {
  readonly node: string;
  readonly epoch: number;
}

/** Data about a node for other nodes. */
export interface NodeReport {
  readonly version: string;
  readonly region: string;
  readonly apiUrl: string | undefined;
  readonly peerAddress: string | undefined;
  /** Last revision in effect at the node. */
  readonly revision: number;
  /** Connected agents, and open connections of visitors. */
  readonly agents: number;
  readonly connections: number;
}

export interface LeaseOptions {
  readonly shared: SharedDatabase;
  readonly node: string;
  readonly startedAt: string;
  readonly report: () => NodeReport;
  readonly clock: Clock;
  readonly log: Log;
}

interface RenewedLease {
  readonly epoch: number;
  /** By the database's clock, microseconds since 1970. */
  readonly at: number;
}

const renewEveryMs = 2000;
/** A renewal without an answer for this long means that the database is out of reach. */
const slowRenewalMs = 1000;
/** Number of renewals after which leftovers of dead nodes are deleted, even if no node seems to have died. */
const buryEvery = 30;

/** Microseconds since 1970. */
const present = "(extract(epoch from clock_timestamp()) * 1000000)::bigint";
const renewText = `update nodes set renewed_at = clock_timestamp(), version = $3, region = $4, api_url = $5,
  peer_address = $6, revision = $7, agents = $8, connections = $9
  where id = $1 and epoch = $2 and renewed_at > clock_timestamp() - interval '${leaseMs} ms'
  returning epoch, ${present} as at`;
const joinText = `insert into nodes (id, epoch, version, region, api_url, peer_address, revision, agents, connections,
  started_at, renewed_at)
  values ($1, nextval('node_epochs'), $3, $4, $5, $6, $7, $8, $9, $2, clock_timestamp())
  on conflict (id) do update set epoch = excluded.epoch, renewed_at = clock_timestamp(), revision = excluded.revision
  returning epoch, ${present} as at`;
/**
 * Deletes dead nodes. A commit under the epoch of a dead node ends before its row is deleted. Counts and
 * identifies the live nodes. So it detects nodes that replaced others, and nodes that joined and left since the last
 * renewal.
 */
const buryText = `with dead as (delete from nodes where renewed_at <= clock_timestamp() - interval '${leaseMs} ms')
  select count(*) as alive, coalesce(sum(epoch), 0) || ' ' || (select last_value from node_epochs) as those
  from nodes where renewed_at > clock_timestamp() - interval '${leaseMs} ms'`;

export class Lease {
  readonly #options: LeaseOptions;
  readonly #watchers: (() => void)[] = [];
  readonly #databaseClock = new DatabaseClock();
  #epoch = 0;
  #alive = 1;
  /** Identities of the live nodes. */
  #those = "";
  #renewals = 0;
  #renewedAt: number | undefined;
  /**
   * On the monotonic clock. It starts when the last good renewal was sent, so it never ends later than in the database.
   */
  #heldUntil = Number.NEGATIVE_INFINITY;
  #renewing: Promise<void> | undefined;
  /** Monotonic; infinite unless a renewal is under way. */
  #renewalSentAt = Number.POSITIVE_INFINITY;
  #hasFailed = false;
  #timer: Timer | undefined;
  #expiry: Timer | undefined;
  #isTold = true;
  #ended = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  fence(): Fence {
    return { node: this.#options.node, epoch: this.#epoch };
  }

  /** Whether other nodes still consider this node alive. */
  isHeld(): boolean {
    return this.#options.clock.monotonic() < this.#heldUntil;
  }

  /** Whether the lease is over and the database does not answer: the last renewal failed or waits too long. */
  isCutOff(): boolean {
    if (this.isHeld()) return false;
    return this.#hasFailed || this.#options.clock.monotonic() - this.#renewalSentAt > slowRenewalMs;
  }

  /** Number of nodes at the last renewal, including this one. */
  get alive(): number {
    return this.#alive;
  }

  /** Time of the last renewal, milliseconds since 1970; undefined before the first one. */
  get renewedAt(): number | undefined {
    return this.#renewedAt;
  }

  /**
   * Converts a time of `Clock.monotonic` to microseconds since 1970 by the database, with an error of at most one round
   * trip.
   */
  databaseTimeAt(monotonicMs: number): number {
    return this.#databaseClock.at(monotonicMs);
  }

  /** Calls `watch` after each renewal, and when the lease is lost. */
  onRenewal(watch: () => void): void {
    this.#watchers.push(watch);
  }

  /** Resolves after the first try. Without the database, the node gets the lease as soon as the database responds. */
  async start(): Promise<void> {
    await this.renew().catch((error: unknown) =>
      this.#options.log.warn("this node could not join the others", { error }),
    );
    this.#timer = this.#options.clock.every(renewEveryMs, () => {
      this.#noticeLoss();
      this.renew().catch(() => undefined);
    });
  }

  /** Renews the lease, or gets a new one if it was lost. Concurrent callers share one renewal. */
  async renew(): Promise<void> {
    if (this.#ended) throw new Error("renew lease: the node has left");
    this.#renewing ??= this.#tracked().finally(() => {
      this.#renewing = undefined;
    });
    await this.#renewing;
  }

  /** Ends the lease, so that other nodes need not wait until it expires. */
  async end(): Promise<void> {
    const { shared, node } = this.#options;
    this.#timer?.cancel();
    this.#expiry?.cancel();
    await this.#renewing?.catch(() => undefined);
    this.#ended = true;
    this.#heldUntil = Number.NEGATIVE_INFINITY;
    await shared.query("delete from nodes where id = $1", [node]).catch(() => undefined);
    await shared.query("select pg_notify($1, '')", [channel]).catch(() => undefined);
  }

  async #tracked(): Promise<void> {
    this.#renewalSentAt = this.#options.clock.monotonic();
    try {
      await this.#renew();
      this.#hasFailed = false;
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    } finally {
      this.#renewalSentAt = Number.POSITIVE_INFINITY;
    }
  }

  async #renew(): Promise<void> {
    const { shared, node, startedAt, clock, report } = this.#options;
    const { version, region, apiUrl = null, peerAddress = null, revision, agents, connections } = report();
    const status = [version, region, apiUrl, peerAddress, revision, agents, connections];
    const sentAt = clock.monotonic();
    this.#noticeLoss();
    const epoch = this.#epoch;
    const ask = async (text: string, first: unknown): Promise<RenewedLease | undefined> => {
      const askedAt = clock.monotonic();
      const [row] = await shared.query<RenewedLease>(text, [node, first, ...status]);
      if (row) this.#databaseClock.take(askedAt, clock.monotonic(), row.at);
      return row;
    };
    const renewed = epoch > 0 ? await ask(renewText, epoch) : undefined;
    if (!renewed) {
      this.#lose();
      const joined = await ask(joinText, startedAt);
      this.#epoch = joined?.epoch ?? 0;
      if (epoch > 0) this.#options.log.info("this node has joined the others again", { node });
    }
    this.#heldUntil = sentAt + leaseMs;
    this.#renewedAt = clock.now();
    this.#isTold = false;
    this.#expiry?.cancel();
    this.#expiry = clock.after(leaseMs, () => this.#noticeLoss());
    const [counted] = await shared.query<{ alive: number; those: string }>(buryText);
    const { alive, those } = counted ?? { alive: 1, those: "" };
    if (those !== this.#those || this.#renewals % buryEvery === 0) await shared.query("select presence_bury()");
    this.#alive = alive;
    this.#those = those;
    this.#renewals += 1;
    for (const watch of this.#watchers) watch();
  }

  #lose(): void {
    this.#heldUntil = Number.NEGATIVE_INFINITY;
    this.#noticeLoss();
  }

  #noticeLoss(): void {
    if (this.isHeld() || this.#isTold || this.#ended) return;
    this.#isTold = true;
    this.#options.log.warn("this node's lease has expired: other nodes have taken over until it joins again", {
      node: this.#options.node,
    });
    for (const watch of this.#watchers) watch();
  }
}
