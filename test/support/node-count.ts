/**
 * POSTERN_TEST_NODES: in place of one server a test has so many, which share a database of PostgreSQL, and each call is one
 * at random. `npm run test:nodes` runs the suites so that ask for nothing but what holds over nodes.
 */
import { setTimeout as delay } from "node:timers/promises";
import { metricSum } from "./metrics.ts";
import { seededRandom } from "./random.ts";

export const nodeCount = Number(process.env["POSTERN_TEST_NODES"] ?? 1);

/** Whose turn it is: the same on every run. */
export const anyNode = seededRandom(nodeCount);

/** Resolves once the revision is in effect at the API of each; what `GET /metrics` answers is asked for by `metrics`. */
export async function untilAtAll(revision: number, metrics: readonly (() => Promise<string>)[]): Promise<void> {
  for (const ask of metrics) while (metricSum(await ask(), "postern_revision") < revision) await delay(2);
}
