/** What waits in all inboxes, counted periodically, for metrics and events. */
import type { Metrics } from "../../lib/metrics.ts";
import type { AccountBacklog } from "../../storage/inbox/inbox-queries.ts";

/** An event is sent when as many messages of a route wait, and again only after the backlog has shrunk below. */
const thresholds = [100, 1_000, 10_000, 100_000, 1_000_000] as const;

export interface BacklogNews {
  readonly accountId: string;
  readonly route_id: string;
  readonly waiting: number;
  readonly threshold: number;
  readonly oldest_waiting_at: string | null;
}

export class Backlogs {
  waiting = 0;
  dead = 0;
  /** When the oldest waiting message arrived, milliseconds since 1970; Infinity if none waits. */
  oldestMs = Infinity;
  /** The highest threshold that each route has passed. */
  #passed = new Map<string, number>();

  /** Takes a new count. Returns the routes that have passed another threshold. */
  counted(backlogs: readonly AccountBacklog[]): readonly BacklogNews[] {
    this.waiting = 0;
    this.dead = 0;
    this.oldestMs = Infinity;
    const before = this.#passed;
    this.#passed = new Map();
    const news: BacklogNews[] = [];
    for (const { accountId, routeId, waiting, dead, oldestMs = Infinity } of backlogs) {
      this.waiting += waiting;
      this.dead += dead;
      this.oldestMs = Math.min(this.oldestMs, oldestMs);
      const threshold = thresholds.findLast((one) => waiting >= one) ?? 0;
      this.#passed.set(routeId, threshold);
      if (threshold <= (before.get(routeId) ?? 0)) continue;
      const oldest_waiting_at = Number.isFinite(oldestMs) ? new Date(oldestMs).toISOString() : null;
      news.push({ accountId, route_id: routeId, waiting, threshold, oldest_waiting_at });
    }
    return news;
  }
}

export function showBacklogs(metrics: Metrics, backlogs: Backlogs, now: () => number): void {
  metrics.gauge("postern_inbox_waiting", "Webhooks that wait in inboxes.", () => backlogs.waiting);
  metrics.gauge("postern_inbox_dead", "Webhooks in inboxes whose last attempt failed.", () => backlogs.dead);
  metrics.gauge("postern_inbox_oldest_seconds", "Age of the oldest webhook that waits in an inbox.", () =>
    Number.isFinite(backlogs.oldestMs) ? Math.max(0, (now() - backlogs.oldestMs) / 1000) : 0,
  );
}
