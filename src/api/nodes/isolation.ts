/**
 * Watches whether this node reaches the other nodes over peer lines. A node that reaches none of them is isolated if the
 * database shows that another one lives and is not isolated, or if the lease of this node is over. Then visitors here do
 * not reach the agents of other nodes, and visitors there do not reach the agents of this node.
 */
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Membership } from "../../storage/cluster/membership.ts";
import type { EdgeLine } from "../edges/edges.ts";
import type { EdgeQueries } from "../edges/queries.ts";

/** Presence entry of a node that reaches no other node. */
export interface UnreachedEntry {
  readonly what: "unreached";
  readonly node: string;
}

export interface IsolationOptions {
  /** Undefined for a server without a cluster. */
  readonly node:
    | (Pick<Membership, "id" | "isAlive" | "list"> & {
        readonly presence: Pick<Membership["presence"], "put" | "remove">;
      })
    | undefined;
  /** Returns the edges of other nodes by their nodes. */
  readonly others: () => ReadonlyMap<string, readonly EdgeLine[]>;
  readonly queries: Pick<EdgeQueries, "standing">;
  /** Called when the node becomes isolated, and when it reaches another node again. */
  readonly changed: (isIsolated: boolean) => void;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Isolation {
  /** Receives the entry of another node. `entry` undefined removes the entry with that id. */
  heard(id: string, entry: UnreachedEntry | undefined): void;
  stop(): void;
}

/** Interval between two questions to other nodes, milliseconds. */
const lookMs = 500;
/** Consecutive looks without an answer after which the other nodes learn about it. */
const toldAfter = 3;
/** The same after which this node is isolated. The lines to other nodes are silent for 2.5 seconds at most before. */
const isolatedAfter = 6;

export function watchIsolation({ node, others, queries, changed, clock, log }: IsolationOptions): Isolation {
  if (!node) return { heard() {}, stop() {} };
  const unreached = new Map<string, UnreachedEntry>();
  const entryId = `unreached ${node.id}`;
  const asked = new Set<string>();
  let turn = 0;
  let silentLooks = 0;
  let heardAt = clock.monotonic();
  let isTold = false;
  let isIsolated = false;
  let isChecking = false;

  const change = (next: boolean): void => {
    if (isIsolated === next) return;
    isIsolated = next;
    if (next) log.warn("this node reaches no other node: its agents are asked to connect to other nodes");
    else log.info("this node reaches another node again");
    changed(next);
  };
  const reached = (): void => {
    silentLooks = 0;
    heardAt = clock.monotonic();
    if (isTold) node.presence.remove(entryId);
    isTold = false;
    change(false);
  };
  const ask = async (nodeId: string, lines: readonly EdgeLine[]): Promise<void> => {
    if (asked.has(nodeId)) return;
    asked.add(nodeId);
    const answers = await Promise.all(lines.map((line) => queries.standing(line)));
    asked.delete(nodeId);
    if (answers.some((answer) => answer !== undefined)) reached();
  };
  /** A node that died does not renew its lease, and nodes that all lost each other are all unreached. */
  const check = async (): Promise<void> => {
    const silentMs = clock.monotonic() - heardAt;
    const rows = await node.list();
    const isAnotherWell = rows.some(
      ({ id, age_ms, is_held }) =>
        id !== node.id &&
        is_held &&
        age_ms < silentMs - 2 * lookMs &&
        ![...unreached.values()].some((one) => one.node === id),
    );
    if (isAnotherWell && silentLooks >= isolatedAfter) change(true);
  };
  const look = (): void => {
    const nodes = [...others()];
    if (nodes.length === 0) return reached();
    // One answer is enough, so that the nodes ask all others only after a silence.
    turn += 1;
    const next = silentLooks === 0 ? [nodes[turn % nodes.length] as (typeof nodes)[number]] : nodes;
    for (const [nodeId, lines] of next) runUnattended("task", ask(nodeId, lines));
    silentLooks += 1;
    if (!node.isAlive()) {
      if (silentLooks >= isolatedAfter) change(true);
      return;
    }
    if (silentLooks >= toldAfter && !isTold) {
      isTold = true;
      node.presence.put(entryId, JSON.stringify({ what: "unreached", node: node.id } satisfies UnreachedEntry));
    }
    if (silentLooks < isolatedAfter || isIsolated || isChecking) return;
    isChecking = true;
    runUnattended(
      "task",
      check()
        .catch(() => undefined)
        .finally(() => (isChecking = false)),
    );
  };
  const timer = clock.every(lookMs, look);
  return {
    heard(id, entry) {
      if (entry) unreached.set(id, entry);
      else unreached.delete(id);
    },
    stop: () => timer.cancel(),
  };
}
