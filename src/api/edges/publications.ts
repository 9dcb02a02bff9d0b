/** Sends news to edges, and tracks which edge has applied which news. */
import type { DirectoryNews } from "../../directory/news.ts";
import type { EdgeLine } from "./edges.ts";

export interface Publications {
  send(line: EdgeLine, news: readonly DirectoryNews[]): void;
  /** Called when the edge has applied all news up to this number. */
  taken(line: EdgeLine, number: number): void;
  /** Stops waiting for an edge that has disconnected. */
  leave(line: EdgeLine): void;
  /** Calls `done` when the edges at `lines` have applied everything sent so far. */
  afterwards(lines: readonly EdgeLine[], done: () => void): void;
}

/** A caller that waits for edges, each with the number of the news that it must apply. */
interface PublicationWaiter {
  readonly missing: Map<EdgeLine, number>;
  readonly done: () => void;
}

/** @param change the last change of the other nodes that is in the news */
export function trackPublications(change: () => number): Publications {
  const sent = new Map<EdgeLine, number>();
  const inEffect = new Map<EdgeLine, number>();
  const waiting = new Set<PublicationWaiter>();

  const settle = (line: EdgeLine, number: number): void => {
    for (const one of waiting) {
      if ((one.missing.get(line) ?? Infinity) > number) continue;
      one.missing.delete(line);
      if (one.missing.size > 0) continue;
      waiting.delete(one);
      one.done();
    }
  };
  return {
    send(line, news) {
      const number = (sent.get(line) ?? 0) + 1;
      sent.set(line, number);
      line.send({ type: "directory", number, news, change: change() });
    },
    taken(line, number) {
      inEffect.set(line, number);
      settle(line, number);
    },
    leave(line) {
      sent.delete(line);
      inEffect.delete(line);
      settle(line, Infinity);
    },
    afterwards(lines, done) {
      const missing = new Map<EdgeLine, number>();
      for (const line of lines) {
        const number = sent.get(line) ?? 0;
        if ((inEffect.get(line) ?? 0) < number) missing.set(line, number);
      }
      if (missing.size === 0) done();
      else waiting.add({ missing, done });
    },
  };
}
