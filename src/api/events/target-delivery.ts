/** Delivers events to one destination, and retries failed events for a day. */
import { formatTimestamp } from "../../lib/clock.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { SpanRecorder } from "../../lib/span-recorder.ts";
import type { Store } from "../../storage/store.ts";
import type { Event } from "./event/event.ts";
import type { EventCounters } from "./event-counters.ts";
import type { DeliveryStatus } from "./shared-deliveries.ts";
import type { EventQueue } from "./event-queue.ts";
import { NotDelivered } from "./targets/opened-target.ts";
import type { EventTarget, TargetLimits } from "./targets/opened-target.ts";

export interface DeliverySurroundings {
  readonly clock: Clock;
  readonly store: Pick<Store, "settledNow">;
  readonly log: Log;
  readonly counters: EventCounters;
  readonly recorder?: SpanRecorder | undefined;
  /** Called when the status changes. */
  readonly changed: () => void;
}

const firstPauseMs = 1_000;
const longestPauseMs = 10 * 60_000;
/** Maximum age of an event. Older events are dropped. */
const lifeMs = 24 * 60 * 60_000;
const maxErrorLength = 500;

export class Delivery {
  readonly #with: DeliverySurroundings;
  readonly #id: string;
  readonly #queues: readonly EventQueue[];
  readonly #done: Promise<void>;
  #target: EventTarget;
  #isBusy = false;
  #stopped = false;
  #changed = true;
  #resume: (() => void) | undefined;
  #pause: Timer | undefined;
  #status = { state: "idle", error: "", last_delivered_at: null as string | null, delivered: 0, dropped: 0 };

  /** @param queues served in turns */
  constructor(environment: DeliverySurroundings, id: string, target: EventTarget, queues: readonly EventQueue[]) {
    this.#with = environment;
    this.#id = id;
    this.#target = target;
    this.#queues = queues;
    this.#done = this.#run();
  }

  get status(): DeliveryStatus {
    return { ...this.#status };
  }

  /** Called when there may be events to deliver. */
  wake(): void {
    this.#changed = true;
    if (!this.#pause) this.#resume?.();
  }

  /** Changes the target and retries failed events immediately. */
  retarget(target: EventTarget): void {
    if (!this.#isBusy) this.#target.close();
    this.#target = target;
    this.#changed = true;
    this.#resume?.();
  }

  /** Counts events that were dropped before they reached this delivery. */
  lost(count: number): void {
    this.#status.dropped += count;
    this.#with.counters.dropped += count;
    this.#with.changed();
  }

  /** Resolves when the current delivery has finished. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#resume?.();
    await this.#done;
    this.#target.close();
  }

  async #run(): Promise<void> {
    for (let failures = 0; !this.#stopped;) {
      this.#changed = false;
      try {
        let isEmpty = true;
        for (const queue of this.#queues) {
          const events = await queue.read();
          if (events.length > 0) isEmpty = false;
          await this.#deliverAll(queue, events);
        }
        failures = 0;
        if (!isEmpty) continue;
        this.#status.state = "idle";
        this.#with.changed();
        await this.#wait(undefined);
      } catch (error) {
        failures += 1;
        this.#with.log.warn("events not read", { destination: this.#id, error });
        await this.#wait(pauseAfter(failures));
      }
    }
  }

  async #deliverAll(queue: EventQueue, events: readonly Event[]): Promise<void> {
    let left = events;
    for (let failures = 0; left.length > 0 && !this.#stopped;) {
      this.#status.state = this.#status.error === "" ? "delivering" : "retrying";
      const target = this.#target;
      const { now, later } = takePortion(left, target.limits);
      const { refused, failure } = await this.#deliver(target, now, queue.ordered);
      const isLeft = new Set(refused);
      queue.settled(now.filter((event) => !isLeft.has(event)));
      left = [...refused, ...later];
      if (failure === undefined) {
        failures = 0;
        continue;
      }
      failures = refused.length < now.length ? 1 : failures + 1;
      this.#failed(failure, now[0] as Event, failures);
      const kept = left.filter(({ time }) => this.#with.store.settledNow() - Date.parse(time) <= lifeMs);
      if (kept.length < left.length) {
        const isKept = new Set(kept);
        this.#giveUp(
          queue,
          left.filter((event) => !isKept.has(event)),
        );
        left = kept;
        continue;
      }
      if (target === this.#target) await this.#wait(Math.max(pauseAfter(failures), failure.retryAfterMs ?? 0));
    }
  }

  /** Returns the events that the target did not accept, with the reason. */
  async #deliver(
    target: EventTarget,
    events: readonly Event[],
    ordered: boolean,
  ): Promise<{ readonly refused: readonly Event[]; readonly failure: NotDelivered | undefined }> {
    const status = this.#status;
    let refused: readonly Event[] = [];
    let failure: NotDelivered | undefined;
    this.#isBusy = true;
    const startedAt = this.#with.clock.now();
    try {
      const leftover = await target.deliver(events, ordered);
      refused = leftover?.events ?? [];
      if (leftover?.why !== undefined) failure = new NotDelivered(leftover.why);
    } catch (error) {
      refused = events;
      failure = error instanceof NotDelivered ? error : new NotDelivered((error as Error).message);
    }
    this.#isBusy = false;
    this.#with.recorder?.record({
      name: "deliver events",
      kind: "client",
      startedAt,
      endedAt: this.#with.clock.now(),
      error: failure?.message,
      attributes: { "postern.destination.id": this.#id, "messaging.batch.message_count": events.length },
    });
    if (target !== this.#target) target.close();
    const taken = events.length - refused.length;
    if (taken > 0) {
      status.delivered += taken;
      this.#with.counters.delivered += taken;
      status.last_delivered_at = formatTimestamp(this.#with.clock.now());
      if (failure === undefined) status.error = "";
      this.#with.changed();
    }
    return { refused, failure };
  }

  #failed(failure: NotDelivered, event: Event, failures: number): void {
    const { log, counters } = this.#with;
    counters.failures += 1;
    this.#status.state = "retrying";
    this.#status.error = failure.message.slice(0, maxErrorLength);
    this.#with.changed();
    if (failures > 1) return;
    log.warn("event not delivered", { destination: this.#id, eventId: event.id, error: failure });
  }

  #giveUp(queue: EventQueue, events: readonly Event[]): void {
    this.lost(events.length);
    queue.settled(events);
    const [first] = events;
    this.#with.log.warn("events discarded", { destination: this.#id, eventId: first?.id, count: events.length });
  }

  /** Waits for a change. With a pause, waits until the pause is over or the target changes. */
  async #wait(pauseMs: number | undefined): Promise<void> {
    if (this.#stopped || (pauseMs === undefined && this.#changed)) return;
    await new Promise<void>((resume) => {
      this.#resume = resume;
      if (pauseMs !== undefined) this.#pause = this.#with.clock.after(pauseMs, resume);
    });
    this.#pause?.cancel();
    this.#pause = undefined;
    this.#resume = undefined;
  }
}

/** Returns as many of the first events as fit, at least one. Oversized events are shortened. */
function takePortion(
  events: readonly Event[],
  limits: TargetLimits,
): { readonly now: readonly Event[]; readonly later: readonly Event[] } {
  const now: Event[] = [];
  let bytes = 0;
  for (const event of events.slice(0, limits.events)) {
    const fitting = Buffer.byteLength(event.body) > limits.eventBytes ? { ...event, body: event.short() } : event;
    bytes += Buffer.byteLength(fitting.body) + limits.perEvent;
    if (now.length > 0 && bytes > limits.bytes) break;
    now.push(fitting);
  }
  return { now, later: events.slice(now.length) };
}

/** Doubles the pause, with jitter so that retries of many deliveries do not coincide. */
function pauseAfter(failures: number): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1)) * (0.75 + Math.random() / 2);
}
