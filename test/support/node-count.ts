/**
 * POSTERN_TEST_NODES: the number of nodes that replace one server. The nodes share a PostgreSQL database, and each call
 * goes to a random node. `npm run test:nodes` runs the suites whose expectations hold for several nodes.
 */
import { setTimeout as delay } from "node:timers/promises";
import { metricSum } from "./metrics.ts";
import { seededRandom } from "./random.ts";

export const nodeCount = Number(process.env["POSTERN_TEST_NODES"] ?? 1);

/** Chooses the node for the next call. The sequence is the same in every run. */
export const anyNode = seededRandom(nodeCount);

/**
 * Resolves when the revision is in effect at the API of each node. `metrics` contains functions that return each node's
 * response to `GET /metrics`.
 */
export async function untilAtAll(revision: number, metrics: readonly (() => Promise<string>)[]): Promise<void> {
  for (const ask of metrics) while (metricSum(await ask(), "postern_revision") < revision) await delay(2);
}
