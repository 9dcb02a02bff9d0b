/**
 * Standing of this node among the others. A node whose lease is over asks the other nodes for theirs. If one of them is
 * a member of the cluster, only this node is cut off from the database, and its agents connect to other nodes. If none
 * of them answers, they may be well, and the agents may reach them.
 */
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { NodeMembership } from "../../routing/planes/edge-questions.ts";
import type { Membership } from "../../storage/cluster/membership.ts";
import type { EdgeLine, EdgeObserver, Edges } from "../edges/edges.ts";
import type { EdgeQueries } from "../edges/queries.ts";

export interface StandingOptions {
  /** Undefined for a server without a cluster. */
  readonly node: Pick<Membership, "isAlive" | "onRenewal"> | undefined;
  readonly edges: Pick<Edges, "joined">;
  /** Returns the edges of other nodes. */
  readonly others: () => readonly EdgeLine[];
  readonly queries: Pick<EdgeQueries, "standing">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Interval between two rounds of questions. The first one follows the end of the lease after this time. */
const askEveryMs = 1_000;
/**
 * Consecutive rounds in which another node is a member, before this one counts as excluded. After an outage of the database
 * the nodes join again within two seconds of each other.
 */
const roundsToExclude = 3;

export interface NodeStanding extends EdgeObserver {
  /** Called when this node reaches no other node, and when it reaches one again. */
  isolate(isIsolated: boolean): void;
}

export function watchStanding({ node, edges, others, queries, clock, log }: StandingOptions): NodeStanding {
  let standing: NodeMembership = "member";
  let isIsolated = false;
  let timer: Timer | undefined;
  let isAsking = false;
  let rounds = 0;

  const change = (next: NodeMembership): void => {
    if (standing === next) return;
    standing = next;
    for (const line of edges.joined()) line.send({ type: "standing", standing });
  };
  const ask = async (): Promise<void> => {
    const standings = await Promise.all(others().map((line) => queries.standing(line)));
    rounds = standings.includes("member") ? rounds + 1 : 0;
    if (standing !== "cut_off" || rounds < roundsToExclude) return;
    log.warn("only this node is cut off from the database: its agents are asked to connect to other nodes");
    change("excluded");
  };
  const look = (): void => {
    if (isAsking || standing !== "cut_off") return;
    isAsking = true;
    runUnattended(
      "task",
      ask().finally(() => (isAsking = false)),
    );
  };
  node?.onRenewal(() => {
    if (node.isAlive()) {
      timer?.cancel();
      timer = undefined;
      return change(isIsolated ? "excluded" : "member");
    }
    if (timer === undefined) rounds = 0;
    if (standing === "member") change(isIsolated ? "alone" : "cut_off");
    timer ??= clock.every(askEveryMs, look);
  });
  return {
    isolate(next) {
      isIsolated = next;
      if (node?.isAlive()) change(isIsolated ? "excluded" : "member");
      else if (standing !== "excluded") change(isIsolated ? "alone" : "cut_off");
    },
    receive(message, line) {
      if (message.type === "hello" && standing !== "member") line.send({ type: "standing", standing });
    },
  };
}
