/** A relay to the agent listener that breaks where the test chooses. */
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

/** What happens to the connection. A function causes a fault elsewhere, and the connection continues. */
export type Fault = "cut" | "stall" | (() => void);

export interface Relay {
  readonly port: number;
  /**
   * Applies the fault once, to the connection that carries the `step`th chunk. Chunks of all connections count from now
   * on.
   */
  breakAt(step: number, fault: Fault): void;
  /** Number of chunks since then, until the fault. */
  readonly steps: number;
  readonly hasBroken: boolean;
  /** Silences the current connections. Later ones work. */
  silence(): void;
  /** Nothing comes through, on later connections either. */
  blackhole(): void;
  /** Ends the blackhole. What was sent meanwhile is lost. */
  mend(): void;
  stop(): void;
}

export async function startRelay(port: number): Promise<Relay> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let plan: { readonly step: number; readonly fault: Fault } | undefined;
  let steps = 0;
  let isBlackhole = false;
  const silenced = new Set<Socket>();
  const relay = createServer((inner) => {
    const outer = connect(port, "127.0.0.1");
    const pair = [inner, outer] as const;
    pairs.add(pair);
    const both = [pair, [outer, inner]] as const;
    for (const [from, to] of both) {
      from.on("error", () => {});
      from.on("close", () => {
        pairs.delete(pair);
        // A silenced peer does not reveal that the other end closed, either.
        if (!silenced.has(from)) to.destroy();
      });
      from.on("data", (bytes: Buffer) => {
        if (isBlackhole || silenced.has(from)) return;
        steps += 1;
        if (plan?.step !== steps) return void to.write(bytes);
        const { fault } = plan;
        plan = undefined;
        if (typeof fault === "function") {
          to.write(bytes);
          return fault();
        }
        // Half of the chunk arrives.
        to.write(bytes.subarray(0, bytes.length / 2));
        for (const one of pair) {
          if (fault === "cut") one.destroy();
          else silenced.add(one);
        }
      });
    }
  }).listen(0, "127.0.0.1");
  await once(relay, "listening");
  return {
    port: (relay.address() as AddressInfo).port,
    breakAt(step, fault) {
      plan = { step, fault };
      steps = 0;
    },
    get steps() {
      return steps;
    },
    get hasBroken() {
      return plan === undefined;
    },
    silence() {
      for (const pair of pairs) for (const one of pair) silenced.add(one);
    },
    blackhole: () => void (isBlackhole = true),
    mend: () => void (isBlackhole = false),
    stop() {
      relay.close();
      for (const pair of pairs) for (const one of pair) one.destroy();
    },
  };
}
