/** Receives the counts of this node's edges, and answers other nodes that request this node's history. */
import { join } from "node:path";
import { Refusal } from "../../lib/errors.ts";
import { runUnattended } from "../../lib/boundary.ts";
import type { SeriesAnswer, SeriesQuestion } from "../../routing/planes/edge-questions.ts";
import type { EdgeLine, EdgeObserver } from "../edges/edges.ts";
import { Rollups } from "./rollups.ts";
import type { RollupsOptions } from "./rollups.ts";

export interface SeriesCollector extends EdgeObserver {
  /** Returns the history of this node. */
  read(question: SeriesQuestion): Promise<SeriesAnswer>;
  stop(): Promise<void>;
}

export interface CollectorOptions extends Omit<RollupsOptions, "directory"> {
  readonly dataDirectory: string;
  readonly nodeId: string;
}

/** Maximum number of different questions that wait. They are answered one after another. */
const maxReading = 128;

export function collectSeries({ dataDirectory, nodeId, ...options }: CollectorOptions): SeriesCollector {
  const rollups = new Rollups({ ...options, directory: join(dataDirectory, "series") });
  /** The last report of each edge. An edge repeats a report if it does not know whether it arrived. */
  const last = new WeakMap<EdgeLine, { readonly edgeId: string | undefined; readonly number: number }>();
  /** Questions that are being answered. Each edge of this node gets the same question of another node. */
  const reading = new Map<string, Promise<SeriesAnswer>>();

  const read = (question: SeriesQuestion): Promise<SeriesAnswer> => {
    const key = JSON.stringify(question);
    const found = reading.get(key);
    if (found) return found;
    if (reading.size >= maxReading) {
      const message = `${maxReading} questions about the history of traffic already wait; wait 1 s`;
      return Promise.reject(new Refusal("too_many_requests", message, { retry_after: "1" }));
    }
    const answer = rollups
      .read(question)
      .then((steps): SeriesAnswer => ({
        name: "series",
        nodeId,
        steps: steps.map(({ at, tallies }) => [at, tallies] as const),
      }))
      .finally(() => reading.delete(key));
    reading.set(key, answer);
    return answer;
  };
  return {
    read,
    receive(message, line) {
      if (message.type === "tallies") {
        const { number, at, rows } = message;
        const before = last.get(line);
        if (before?.edgeId !== line.edgeId || before === undefined || number > before.number) {
          last.set(line, { edgeId: line.edgeId, number });
          for (const [accountId, tallies] of rows) rollups.add(at, accountId, tallies);
        }
        line.send({ type: "tallies_taken", number });
      }
      if (message.type === "series_wanted") {
        const { call, question } = message;
        if (reading.size >= maxReading) return line.send({ type: "series_found", call });
        const answered = read(question).then((answer) => line.send({ type: "series_found", call, answer }));
        runUnattended("message", answered, () => line.send({ type: "series_found", call }));
      }
    },
    stop: () => rollups.stop(),
  };
}
