/** The news that edges are told of one another, and which of them are in effect where. */
import type { DirectoryNews } from "../../directory/news.ts";
import type { EdgeLine } from "./edges.ts";

export interface Publications {
  send(line: EdgeLine, news: readonly DirectoryNews[]): void;
  /** Everything up to this number is in effect at the edge. */
  taken(line: EdgeLine, number: number): void;
  /** Nothing more is expected of the edge. */
  leave(line: EdgeLine): void;
  /** Calls `done` when everything that was sent to `lines` so far is in effect there. */
  afterwards(lines: readonly EdgeLine[], done: () => void): void;
}

/** Who waits for edges, each for news up to a number. */
interface Waiting {
  readonly missing: Map<EdgeLine, number>;
  readonly done: () => void;
}

/** @param change up to which news of other nodes are told with what is sent */
export function trackPublications(change: () => number): Publications {
  const sent = new Map<EdgeLine, number>();
  const inEffect = new Map<EdgeLine, number>();
  const waiting = new Set<Waiting>();

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
