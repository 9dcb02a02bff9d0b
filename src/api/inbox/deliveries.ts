/** Sends stored messages to edges of this node and waits for the results. */
import type { Clock } from "../../lib/clock.ts";
import type { InboxDelivery, InboxResult } from "../../traffic/stored-request.ts";
import type { EdgeLine, Edges } from "../edges/edges.ts";

/** Margin over the time that the edge allows the service, milliseconds. */
const marginMs = 5_000;

interface PendingDelivery {
  readonly line: EdgeLine;
  readonly resolve: (result: InboxResult) => void;
}

const noEdge: InboxResult = { error: "no edge is connected", isAway: true, durationMs: 0 };
const lost: InboxResult = { error: "the edge stopped during the attempt", durationMs: 0 };

export class InboxDeliveries {
  readonly #edges: Pick<Edges, "joined">;
  readonly #clock: Clock;
  readonly #waiting = new Map<number, PendingDelivery>();
  #lastCall = 0;

  constructor(edges: Pick<Edges, "joined">, clock: Clock) {
    this.#edges = edges;
    this.#clock = clock;
  }

  deliver(delivery: InboxDelivery, body: Buffer): Promise<InboxResult> {
    const lines = this.#edges.joined();
    const call = (this.#lastCall += 1);
    const line = lines[call % Math.max(lines.length, 1)];
    if (line === undefined) return Promise.resolve(noEdge);
    return new Promise((resolve) => {
      const timer = this.#clock.after(delivery.timeoutMs + marginMs, () => this.answered(call, lost));
      this.#waiting.set(call, {
        line,
        resolve(result) {
          timer.cancel();
          resolve(result);
        },
      });
      line.send({ type: "inbox_delivery", call, delivery, body: new Uint8Array(body) });
    });
  }

  answered(call: number, result: InboxResult): void {
    const one = this.#waiting.get(call);
    this.#waiting.delete(call);
    one?.resolve(result);
  }

  /** The edge at the line has stopped, or begins anew. */
  gone(line: EdgeLine): void {
    for (const [call, one] of this.#waiting) if (one.line === line) this.answered(call, lost);
  }
}
