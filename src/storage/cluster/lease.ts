/**
 * That this node lives, as the others see it: a row that it renews, and that is dead by the database's clock when it
 * does not. Each time that a node has come (back) to life it has another epoch, which is compared in every commit: what
 * was begun under an earlier one cannot be stored any more, whoever has taken it over.
 */
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { channel } from "../database/database.ts";
import type { Shared } from "../database/database.ts";
import { DatabaseClock } from "./database-clock.ts";
import { leaseMs } from "./tables.ts";

/** What a commit compares: that the node's lease is the one under which it was begun. */
export interface Fence {
  readonly node: string;
  readonly epoch: number;
}

/** What others are shown of a node. */
export interface NodeReport {
  readonly version: string;
  readonly region: string;
  readonly apiUrl: string | undefined;
  readonly peerAddress: string | undefined;
  /** The last one that is in effect here. */
  readonly revision: number;
  /** Connected agents, and open connections of visitors. */
  readonly agents: number;
  readonly connections: number;
}

export interface LeaseOptions {
  readonly shared: Shared;
  readonly node: string;
  readonly startedAt: string;
  readonly report: () => NodeReport;
  readonly clock: Clock;
  readonly log: Log;
}

interface Renewed {
  readonly epoch: number;
  /** By the database's clock, microseconds since 1970. */
  readonly at: number;
}

const renewEveryMs = 2000;
/** Renewals after which it is looked for what dead nodes had, though none seems to have died. */
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
 * A commit under the epoch of a dead node ends before its row does. Counts those that live, and tells them apart from
 * those of the last time: also where one has come for one that has left, or has come and left since.
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
  /** Which they are. */
  #those = "";
  #renewals = 0;
  #renewedAt: number | undefined;
  /** On the monotonic clock: from when the last good renewal was sent, so never later than the database thinks. */
  #heldUntil = Number.NEGATIVE_INFINITY;
  #renewing: Promise<void> | undefined;
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

  /** Whether the others still count on this node. */
  isHeld(): boolean {
    return this.#options.clock.monotonic() < this.#heldUntil;
  }

  /** How many nodes there were at the last renewal, this one with them. */
  get alive(): number {
    return this.#alive;
  }

  /** When it was last renewed, milliseconds since 1970; undefined before it was had. */
  get renewedAt(): number | undefined {
    return this.#renewedAt;
  }

  /** A moment, as `Clock.monotonic` has it, in microseconds since 1970 by the database; good to a round trip. */
  databaseTimeAt(monotonicMs: number): number {
    return this.#databaseClock.at(monotonicMs);
  }

  /** `watch` is called after each renewal, and when the lease is lost. */
  onRenewal(watch: () => void): void {
    this.#watchers.push(watch);
  }

  /** Resolves after the first try. Without the database the lease is had as soon as that answers. */
  async start(): Promise<void> {
    await this.renew().catch((error: unknown) =>
      this.#options.log.warn("this node could not join the others", { error }),
    );
    this.#timer = this.#options.clock.every(renewEveryMs, () => {
      this.#noticeLoss();
      this.renew().catch(() => undefined);
    });
  }

  /** Renews the lease, or gets another one where it was lost. One at a time: who comes meanwhile gets the same. */
  async renew(): Promise<void> {
    if (this.#ended) throw new Error("renew lease: the node has left");
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    await this.#renewing;
  }

  /** The others need not wait for its end. */
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

  async #renew(): Promise<void> {
    const { shared, node, startedAt, clock, report } = this.#options;
    const { version, region, apiUrl = null, peerAddress = null, revision, agents, connections } = report();
    const told = [version, region, apiUrl, peerAddress, revision, agents, connections];
    const sentAt = clock.monotonic();
    this.#noticeLoss();
    const epoch = this.#epoch;
    const ask = async (text: string, first: unknown): Promise<Renewed | undefined> => {
      const askedAt = clock.monotonic();
      const [row] = await shared.query<Renewed>(text, [node, first, ...told]);
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
