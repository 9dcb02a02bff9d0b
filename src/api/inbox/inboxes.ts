/** Inboxes on this node: stores what edges receive, and delivers what is due. */
import { letGo } from "../../lib/boundary.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { httpsEdgeRoute } from "../../resources/https-edge-route.ts";
import type { InboxSettings } from "../../settings/inbox.ts";
import type { InboxStore } from "../../storage/inbox/inbox-store.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import type { InboxOutcome, ReceivedWebhook } from "../../traffic/inbox.ts";
import { inboxName } from "../../traffic/parts/inbox-fields.ts";
import type { InboxConfig } from "../../traffic/parts/inbox-fields.ts";
import type { EdgeObserver, Edges } from "../edges/edges.ts";
import { makeInboxCounters } from "./counters.ts";
import { InboxDeliveries } from "./deliveries.ts";
import { Lane } from "./lane.ts";
import type { LaneContext } from "./lane.ts";
import { InboxLimits } from "./limits.ts";

/** Between two looks for messages that another node has left. */
const lookMs = 2_000;

export interface InboxesOptions {
  readonly store: Store;
  readonly settings: InboxSettings;
  readonly edges: Pick<Edges, "joined">;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface Inboxes extends EdgeObserver {
  stop(): Promise<void>;
}

const noInboxes: Inboxes = { receive: () => undefined, stop: async () => undefined };

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
  #begun: Promise<void> | undefined;
  #looking: Timer | undefined;
  #isLooking = false;
  #isStopped = false;

  constructor(options: InboxesOptions, inbox: InboxStore) {
    const { store, edges, clock, metrics } = options;
    this.#options = options;
    this.#inbox = inbox;
    this.#limits = new InboxLimits(options.settings);
    this.#counters = makeInboxCounters(metrics);
    this.#deliveries = new InboxDeliveries(edges, clock);
    this.#context = {
      store: inbox,
      deliveries: this.#deliveries,
      counters: this.#counters,
      clock,
      random: Math.random,
      configOf: (routeId) => this.#routes.get(routeId),
      dead: () => undefined,
    };
    for (const object of store.objects(new Set([httpsEdgeRoute.name]))) this.#configured(object.id, object);
    store.subscribe(({ changes }) => {
      for (const { kind, id, after } of changes) if (kind === httpsEdgeRoute.name) this.#configured(id, after);
    });
  }

  receive(...[message, line]: Parameters<EdgeObserver["receive"]>): void {
    switch (message.type) {
      case "inbox_message": {
        const stored = this.#put(message.message, message.body).then((outcome) => {
          this.#counters.put(outcome);
          line.send({ type: "inbox_stored", call: message.call, outcome });
        });
        letGo("message", stored);
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

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#looking?.cancel();
    for (const lane of this.#lanes.values()) lane.stop();
    await this.#begun?.catch(() => undefined);
  }

  async #put(message: ReceivedWebhook, body: Uint8Array): Promise<InboxOutcome> {
    try {
      await this.#begin();
      const { request, line, ...rest } = message;
      if (!this.#limits.take(message.accountId, body.length)) return "full";
      const { method, source } = request;
      const head = JSON.stringify(request);
      const outcome = await this.#inbox.put({ ...rest, method, source, line, head, body });
      if (outcome === "stored") this.#lane(message.routeId).wake();
      return outcome;
    } catch (error) {
      this.#options.log.error("webhook not stored", { route: message.routeId, error });
      return "unavailable";
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
    if (this.#isStopped) return;
    this.#looking ??= this.#options.clock.every(lookMs, () => this.#look());
    this.#look();
  }

  #look(): void {
    if (this.#isLooking || this.#isStopped) return;
    this.#isLooking = true;
    const looked = this.#lookNow().catch((error: unknown) => {
      this.#options.log.warn("inboxes not read", { error });
    });
    letGo(
      "task",
      looked.then(() => {
        this.#isLooking = false;
      }),
    );
  }

  async #lookNow(): Promise<void> {
    await this.#inbox.keepLeases();
    if (this.#options.store.node) this.#limits.loaded(await this.#inbox.usage());
    for (const routeId of await this.#inbox.routes()) {
      const lane = this.#lane(routeId);
      if (lane.isIdle) lane.wake();
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
      this.#lanes.get(routeId)?.stop();
      this.#lanes.delete(routeId);
      return;
    }
    this.#routes.set(routeId, config);
    letGo(
      "task",
      this.#begin().catch((error: unknown) => this.#options.log.warn("inboxes not opened", { error })),
    );
    this.#lanes.get(routeId)?.wake();
  }
}
