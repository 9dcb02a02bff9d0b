/** Inboxes on this node: stores what edges receive, and delivers what is due. */
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { Refusal } from "../../lib/errors.ts";
import type { InboxUpward, PackedWebhook } from "../../routing/planes/inbox-questions.ts";
import type { InboxEvent } from "../../routing/planes/traffic.ts";
import { httpsEdgeRoute } from "../../resources/https-edge-route.ts";
import type { Job } from "../../storage/cluster/jobs.ts";
import type { InboxQueries } from "../../storage/inbox/inbox-queries.ts";
import type { ClaimedMessage, NewMessage } from "../../storage/inbox/inbox-messages.ts";
import type { InboxStore } from "../../storage/inbox/inbox-store.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import type { InboxOutcome, InboxResult } from "../../traffic/stored-request.ts";
import { inboxName } from "../../traffic/parts/inbox-fields.ts";
import type { InboxConfig } from "../../traffic/parts/inbox-fields.ts";
import type { EdgeObserver, Edges } from "../edges/edges.ts";
import { Backlogs, showBacklogs } from "./backlogs.ts";
import { makeInboxCounters } from "./inbox-counters.ts";
import { InboxDeliveries } from "./deliveries.ts";
import { Lane } from "./lane.ts";
import type { LaneContext } from "./lane.ts";
import { InboxLimits } from "./inbox-limits.ts";
import type { InboxSettings } from "./inbox-limits.ts";

/** Between two looks for messages that another node has left. */
const lookMs = 2_000;
/** Shortest time between two counts of what waits, and how much longer than a count it is: a count reads all that waits. */
const countMs = 10_000;
const countPause = 50;
/** Between two deletions of old messages. */
const purgeMs = 20_000;

export interface InboxesOptions {
  readonly store: Store;
  readonly settings: InboxSettings;
  readonly edges: Pick<Edges, "joined">;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  tell(event: InboxEvent): void;
}

export interface Inboxes extends EdgeObserver {
  /** Reads or changes messages. Rejects with `Refusal` if the database does not answer. */
  read<T>(work: (queries: InboxQueries) => Promise<T>): Promise<T>;
  /** Returns the request of a message. Rejects with `Refusal` as `read`. */
  payload(message: Parameters<InboxStore["payload"]>[0]): ReturnType<InboxStore["payload"]>;
  setPause(routeId: string, accountId: string, isPaused: boolean): Promise<void>;
  /** Messages of these routes have become due. */
  wake(routeIds: Iterable<string>): void;
  stop(): Promise<void>;
}

const rejectUnreadable = (): Promise<never> => Promise.reject(new Refusal("inbox_unreadable"));
/** Edges end their deliveries when they stop. Maximum time to wait for one that does not. */
const stopMs = 3_000;

async function limitWait(clock: Clock, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.after(stopMs, resolve);
  await Promise.race([work, promise]);
  timer.cancel();
}

const noInboxes: Inboxes = {
  receive: () => undefined,
  read: rejectUnreadable,
  payload: rejectUnreadable,
  setPause: rejectUnreadable,
  wake: () => undefined,
  stop: async () => undefined,
};

export function openInboxes(options: InboxesOptions): Inboxes {
  const { inbox } = options.store;
  return inbox ? new OpenInboxes(options, inbox) : noInboxes;
}

class OpenInboxes implements Inboxes {
  readonly #options: InboxesOptions;
  readonly #inbox: InboxStore;
  readonly #limits: InboxLimits;
  readonly #counters: ReturnType<typeof makeInboxCounters>;
  readonly #deliveries: InboxDeliveries;
  readonly #lanes = new Map<string, Lane>();
  readonly #context: LaneContext;
  /** Routes with an enabled inbox. */
  readonly #routes = new Map<string, InboxConfig>();
  #paused: ReadonlySet<string> = new Set();
  #begun: Promise<void> | undefined;
  #looking: Timer | undefined;
  #sweeping: Timer | undefined;
  #purging: Job | undefined;
  #isPurging = false;
  #isLooking = false;
  #looked: Promise<void> = Promise.resolve();
  /** Monotonic time of the next count. */
  #countsAt = 0;
  readonly #backlogs = new Backlogs();
  #isStopped = false;

  constructor(options: InboxesOptions, inbox: InboxStore) {
    const { store, edges, clock, metrics } = options;
    this.#options = options;
    this.#inbox = inbox;
    this.#limits = new InboxLimits(options.settings);
    this.#counters = makeInboxCounters(metrics);
    showBacklogs(metrics, this.#backlogs, () => clock.now());
    this.#deliveries = new InboxDeliveries(edges, clock);
    this.#context = {
      store: inbox,
      deliveries: this.#deliveries,
      counters: this.#counters,
      clock,
      log: options.log,
      random: Math.random,
      configOf: (routeId) => (this.#paused.has(routeId) ? undefined : this.#routes.get(routeId)),
      dead: (message, result) => this.#tellDead(message, result),
    };
    for (const object of store.objects(new Set([httpsEdgeRoute.name]))) this.#configured(object.id, object);
    store.subscribe(({ changes }) => {
      for (const { kind, id, after } of changes) if (kind === httpsEdgeRoute.name) this.#configured(id, after);
    });
  }

  receive(...[message, line]: Parameters<EdgeObserver["receive"]>): void {
    switch (message.type) {
      case "inbox_messages": {
        const stored = this.#put(message).then((outcomes) => {
          for (const outcome of outcomes) this.#counters.put(outcome);
          line.send({ type: "inbox_stored", call: message.call, outcomes });
        });
        runUnattended("message", stored);
        return;
      }
      case "inbox_result":
        this.#deliveries.answered(message.call, message.result);
        return;
      case "hello":
      case "gone":
        this.#deliveries.gone(line);
        return;
      case "tunnel_opened":
        for (const lane of this.#lanes.values()) lane.reachable();
    }
  }

  async read<T>(work: (queries: InboxQueries) => Promise<T>): Promise<T> {
    return await this.#answered(() => work(this.#inbox.queries));
  }

  async payload(message: Parameters<InboxStore["payload"]>[0]): ReturnType<InboxStore["payload"]> {
    return await this.#answered(() => this.#inbox.payload(message));
  }

  async setPause(routeId: string, accountId: string, isPaused: boolean): Promise<void> {
    await this.read((queries) => (isPaused ? queries.pause(routeId, accountId) : queries.resume(routeId)));
    await this.#readPauses();
    if (!isPaused) this.wake([routeId]);
  }

  wake(routeIds: Iterable<string>): void {
    for (const routeId of new Set(routeIds)) this.#lane(routeId).wake();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#looking?.cancel();
    this.#sweeping?.cancel();
    this.#purging?.end();
    const lanes = Promise.all(Array.from(this.#lanes.values(), (lane) => lane.stop()));
    await this.#begun?.catch(() => undefined);
    await Promise.all([this.#looked, limitWait(this.#options.clock, lanes)]);
  }

  async #put({ messages, payloads }: Extract<InboxUpward, { readonly type: "inbox_messages" }>) {
    const received = JSON.parse(messages) as readonly PackedWebhook[];
    try {
      await this.#begin();
      const bytes = Buffer.from(payloads.buffer, payloads.byteOffset, payloads.length);
      let at = 0;
      const taken = received.flatMap(({ bytes: length, line, ...rest }): readonly NewMessage[] => {
        const payload = bytes.subarray(at, (at += length));
        return this.#limits.take(rest.accountId, length) ? [{ ...rest, line, payload }] : [];
      });
      const stored = taken.length > 0 ? await this.#inbox.put(taken) : [];
      const outcomes = new Map(taken.map(({ id }, index) => [id, stored[index]]));
      const routes = new Set(taken.flatMap(({ routeId }, index) => (stored[index] === "stored" ? routeId : [])));
      for (const routeId of routes) this.#lane(routeId).arrived();
      return received.map(({ id }): InboxOutcome => outcomes.get(id) ?? "full");
    } catch (error) {
      const routes = [...new Set(received.map(({ routeId }) => routeId))];
      this.#options.log.error("webhooks not stored", { routes, messages: received.length, error });
      return received.map((): InboxOutcome => "unavailable");
    }
  }

  /** Opens the database with the first inbox. */
  #begin(): Promise<void> {
    this.#begun ??= this.#start().catch((error: unknown) => {
      this.#begun = undefined;
      throw error;
    });
    return this.#begun;
  }

  async #start(): Promise<void> {
    // Without other nodes, whatever was under way belonged to a process that has ended.
    if (!this.#options.store.node) await this.#inbox.takeOver();
    this.#limits.loaded(await this.#inbox.usage());
    await this.#readPauses();
    if (this.#isStopped) return;
    this.#purging = this.#options.store.jobs.want("purge inboxes");
    this.#sweeping ??= this.#options.clock.every(purgeMs, () => runUnattended("task", this.#purge()));
    this.#looking ??= this.#options.clock.every(lookMs, () => this.#look());
    this.#look();
  }

  #look(): void {
    if (this.#isLooking || this.#isStopped) return;
    this.#isLooking = true;
    const looked = this.#lookNow().catch((error: unknown) => {
      if (!this.#isStopped) this.#options.log.warn("inboxes not read", { error });
    });
    this.#looked = looked.then(() => {
      this.#isLooking = false;
    });
  }

  async #lookNow(): Promise<void> {
    await this.#inbox.keepLeases();
    if (this.#options.clock.monotonic() >= this.#countsAt) await this.#count();
    if (this.#options.store.node) {
      this.#limits.loaded(await this.#inbox.usage());
      await this.#readPauses();
    }
    for (const routeId of await this.#inbox.routes()) {
      const lane = this.#lane(routeId);
      if (lane.isIdle) lane.wake();
    }
  }

  async #count(): Promise<void> {
    const { clock } = this.#options;
    const began = clock.monotonic();
    const counted = await this.#inbox.queries.allBacklogs();
    const ended = clock.monotonic();
    this.#countsAt = began + Math.max(countMs, (ended - began) * countPause);
    const isTeller = this.#purging?.isHeld() === true;
    for (const object of this.#backlogs.counted(counted)) {
      const { accountId, ...rest } = object;
      if (isTeller) this.#options.tell({ type: "inbox_backlog.v0", accountId, at: clock.now(), object: rest });
    }
  }

  #tellDead({ id, accountId, routeId, attempt }: ClaimedMessage, { status, error }: InboxResult): void {
    const object = { id, route_id: routeId, attempts: attempt, status_code: status ?? null, error: error ?? null };
    this.#options.tell({ type: "inbox_message_dead.v0", accountId, at: this.#options.clock.now(), object });
  }

  /** Deletes what was kept long enough. */
  async #purge(): Promise<void> {
    if (this.#isPurging || this.#purging?.isHeld() !== true) return;
    this.#isPurging = true;
    try {
      while (!this.#isStopped && (await this.#inbox.queries.purge()));
      this.#limits.loaded(await this.#inbox.usage());
    } catch (error) {
      this.#options.log.warn("old messages of inboxes not deleted", { error });
    } finally {
      this.#isPurging = false;
    }
  }

  async #readPauses(): Promise<void> {
    this.#paused = await this.#inbox.queries.pauses();
  }

  async #answered<T>(work: () => Promise<T>): Promise<T> {
    try {
      await this.#begin();
      return await work();
    } catch (error) {
      this.#options.log.error("inboxes not read or changed", { error });
      throw new Refusal("inbox_unreadable");
    }
  }

  #lane(routeId: string): Lane {
    const known = this.#lanes.get(routeId);
    if (known) return known;
    const lane = new Lane(routeId, this.#context);
    this.#lanes.set(routeId, lane);
    return lane;
  }

  #configured(routeId: string, route: StoredObject | undefined): void {
    const config = route?.doc[inboxName] as InboxConfig | null | undefined;
    if (!config || config.enabled === false) {
      this.#routes.delete(routeId);
      runUnattended("task", this.#lanes.get(routeId)?.stop() ?? Promise.resolve());
      this.#lanes.delete(routeId);
      return;
    }
    this.#routes.set(routeId, config);
    runUnattended(
      "task",
      this.#begin().catch((error: unknown) => this.#options.log.warn("inboxes not opened", { error })),
    );
    this.#lanes.get(routeId)?.wake();
  }
}
