import { MessageChannel } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";

export type LineEnd = "control plane" | "edge";

/**
 * Connects the control plane and one edge. The first start of each takes one end of the same line. A later start takes
 * one end of a new line. The other end waits for the first start of the other plane, or `relink` passes it to the plane
 * that still runs.
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
