import { MessageChannel } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";

export type LineEnd = "control plane" | "edge";

/**
 * The line between the control plane and one edge. Each start of either takes an end of it: the first starts the two
 * ends of one line, a later start an end of a new one, whose other end waits for the other's first start, or is given
 * by `relink` to the one that runs on.
 */
export function makeLine(relink: (to: LineEnd, end: MessagePort) => void): (of: LineEnd) => MessagePort {
  const { port1, port2 } = new MessageChannel();
  const firstEnds = new Map<LineEnd, MessagePort>([
    ["control plane", port1],
    ["edge", port2],
  ]);
  return (of) => {
    const first = firstEnds.get(of);
    firstEnds.delete(of);
    if (first) return first;
    const other = of === "edge" ? "control plane" : "edge";
    const next = new MessageChannel();
    if (firstEnds.has(other)) firstEnds.set(other, next.port2);
    else relink(other, next.port2);
    return next.port1;
  };
}
