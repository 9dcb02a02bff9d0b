/** Delivers the messages of one route: claims those that are due, within the route's bounds. */
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { InboxStore } from "../../storage/inbox/inbox-store.ts";
import type { ClaimedMessage } from "../../storage/inbox/inbox-messages.ts";
import type { InboxResult, StoredRequest } from "../../traffic/stored-request.ts";
import type { InboxConfig } from "../../traffic/parts/inbox-fields.ts";
import type { InboxCounters } from "./inbox-counters.ts";
import type { InboxDeliveries } from "./deliveries.ts";
import { verdictOn } from "./delivery-verdict.ts";

/** Maximum number of bytes that one node delivers at the same time for a route. */
const maxBytesUnderWay = 32 * 1024 * 1024;
const firstProbeMs = 250;
const lastProbeMs = 8_000;
/** Longest time until the next look at the table. */
const maxSleepMs = 60_000;

export interface LaneContext {
  readonly store: InboxStore;
  readonly deliveries: InboxDeliveries;
  readonly counters: InboxCounters;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  /** Returns the present configuration of the route's inbox; undefined if nothing is to be delivered now. */
  configOf(routeId: string): InboxConfig | undefined;
  /** Called after each dead message. */
  dead(message: ClaimedMessage, result: InboxResult): void;
}

export class Lane {
  readonly routeId: string;
  readonly #context: LaneContext;
  #underWay = 0;
  #bytesUnderWay = 0;
  #isClaiming = false;
  /** Whether something may have become due during the present claim. */
  #isWoken = false;
  #isStopped = false;
  readonly #work = new Set<Promise<void>>();
  #timer: Timer | undefined;
  /** Pause between probes while no service can be reached; 0 while it can. */
  #probeMs = 0;
  /** The message that is under way as a probe. */
  #probe: ClaimedMessage | undefined;
  /** How often a service may have come back. An attempt that began earlier says nothing about the present. */
  #returns = 0;
  /** Monotonic time from which the next delivery may start, for the rate. */
  #freeAt = 0;

  constructor(routeId: string, context: LaneContext) {
    this.routeId = routeId;
    this.#context = context;
  }

  get isIdle(): boolean {
    return this.#underWay === 0 && !this.#isClaiming && this.#timer === undefined;
  }

  /** Something may be due. */
  wake(): void {
    if (this.#isStopped || this.#probe) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#isClaiming) {
      this.#isWoken = true;
      return;
    }
    this.#isClaiming = true;
    this.#run(this.#claim(), () => this.#sleep(lastProbeMs));
  }

  /** A message has arrived. While no service can be reached, the next probe is soon enough. */
  arrived(): void {
    if (this.#probeMs === 0 || this.isIdle) this.wake();
  }

  /** A service may be back. */
  reachable(): void {
    this.#returns += 1;
    if (this.#probeMs === 0) return;
    this.#probeMs = firstProbeMs;
    // A probe to the former connection may last until its timeout.
    this.#probe = undefined;
    this.wake();
  }

  /** Resolves when nothing of the lane runs any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await Promise.all(this.#work);
  }

  async #claim(): Promise<void> {
    const { store, clock } = this.#context;
    try {
      for (;;) {
        this.#isWoken = false;
        const config = this.#context.configOf(this.routeId);
        if (config === undefined || this.#isStopped) return;
        const limit = this.#room(config, clock.monotonic());
        if (limit <= 0) return;
        const claimed = await store.claim(this.routeId, limit, config.concurrency);
        for (const message of claimed) this.#start(message, config);
        if (claimed.length > 0) continue;
        if (this.#isWoken) continue;
        if (this.#underWay === 0) {
          const wait = await store.nextDue(this.routeId);
          // Messages that arrive during probes wait for the next look.
          if (wait !== undefined) this.#sleep(Math.min(Math.max(wait, 20), this.#probeMs || maxSleepMs));
        }
        return;
      }
    } finally {
      this.#isClaiming = false;
      if (this.#isWoken) this.wake();
    }
  }

  /** Returns the number of messages that may start now. */
  #room(config: InboxConfig, now: number): number {
    if (this.#probeMs > 0) return this.#probe ? 0 : 1;
    if (this.#bytesUnderWay >= maxBytesUnderWay) return 0;
    const room = config.concurrency - this.#underWay;
    const { rate_per_second: rate } = config;
    if (rate === 0 || room <= 0) return room;
    if (this.#freeAt > now) {
      this.#sleep(this.#freeAt - now);
      return 0;
    }
    // A tenth of a second's deliveries may start together.
    const start = Math.max(1, Math.min(room, Math.floor(rate / 10)));
    this.#freeAt = now + (start * 1000) / rate;
    return start;
  }

  #start(message: ClaimedMessage, config: InboxConfig): void {
    this.#underWay += 1;
    this.#bytesUnderWay += message.bytes;
    const [returns, probeMs] = [this.#returns, this.#probeMs];
    if (probeMs > 0) this.#probe = message;
    const ended = (): void => {
      this.#underWay -= 1;
      this.#bytesUnderWay -= message.bytes;
      if (this.#probe === message) this.#probe = undefined;
    };
    const done = this.#deliver(message, config).then((isAway) => {
      ended();
      if (isAway) this.#away(probeMs, returns === this.#returns);
      else {
        this.#probeMs = 0;
        this.wake();
      }
    });
    this.#run(done, () => {
      ended();
      this.#sleep(lastProbeMs);
    });
  }

  /** Runs work until it ends. It fails if the database does not answer; leases then return its messages. */
  #run(work: Promise<void>, failed: () => void): void {
    const done = work
      .catch((error: unknown) => {
        if (this.#isStopped) return;
        this.#context.log.warn("inbox not delivered", { route: this.routeId, error });
        failed();
      })
      .finally(() => this.#work.delete(done));
    this.#work.add(done);
  }

  async #deliver(message: ClaimedMessage, config: InboxConfig): Promise<boolean> {
    const { store, deliveries, counters, random } = this.#context;
    const { head, body } = await store.payload(message);
    const request = JSON.parse(head) as StoredRequest;
    const { id, accountId, routeId, attempt } = message;
    const timeoutMs = config.timeout_seconds * 1000;
    const result = await deliveries.deliver({ id, accountId, routeId, attempt, timeoutMs, request }, body);
    const verdict = verdictOn(result, config, message.counted, random());
    counters.attempted(verdict.is);
    const { status, error, durationMs, isAway = false } = result;
    await store.settle(message, { status, error, durationMs }, verdict);
    if (verdict.is === "dead") this.#context.dead(message, result);
    return isAway;
  }

  /** @param probeMs pause before the attempt; attempts that began together lengthen it once */
  #away(probeMs: number, isPresent: boolean): void {
    if (!isPresent) {
      this.#probeMs ||= firstProbeMs;
      this.wake();
      return;
    }
    this.#probeMs = Math.max(this.#probeMs, Math.min(Math.max(probeMs * 2, firstProbeMs), lastProbeMs));
    this.#sleep(this.#probeMs);
  }

  #sleep(ms: number): void {
    if (this.#isStopped) return;
    this.#timer?.cancel();
    this.#timer = this.#context.clock.after(Math.min(ms, maxSleepMs), () => {
      this.#timer = undefined;
      this.wake();
    });
  }
}
