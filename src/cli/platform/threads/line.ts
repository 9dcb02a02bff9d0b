import { MessageChannel } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";

export type PlaneName = "control plane" | "edge";

/**
 * The line between the two planes. Each start of a plane takes an end of it: the first starts the two ends of one
 * line, a later start an end of a new one, whose other end `relink` gives to the plane that runs on.
 */
export function makeLine(relink: (plane: PlaneName, end: MessagePort) => void): (plane: PlaneName) => MessagePort {
  const { port1, port2 } = new MessageChannel();
  const firstEnds = new Map<PlaneName, MessagePort>([
    ["control plane", port1],
    ["edge", port2],
  ]);
  return (plane) => {
    const first = firstEnds.get(plane);
    firstEnds.delete(plane);
    if (first) return first;
    const next = new MessageChannel();
    relink(plane === "edge" ? "control plane" : "edge", next.port2);
    return next.port1;
  };
}
