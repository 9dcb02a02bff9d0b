/** A way to the agent listener that breaks where it is told to. */
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

/** What happens to the connection; a function: what happens elsewhere, and the connection goes on. */
export type Fault = "cut" | "stall" | (() => void);

export interface Relay {
  readonly port: number;
  /** Does this to the connection on which the `step`th piece of bytes comes, counted over all from now on, once. */
  breakAt(step: number, fault: Fault): void;
  /** Pieces that came since, until it broke. */
  readonly steps: number;
  readonly hasBroken: boolean;
  /** Nothing comes through on the connections that there are; later ones are well. */
  silence(): void;
  stop(): void;
}

export async function startRelay(port: number): Promise<Relay> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let plan: { readonly step: number; readonly fault: Fault } | undefined;
  let steps = 0;
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
        // Who has gone silent tells nothing of the other's end either.
        if (!silenced.has(from)) to.destroy();
      });
      from.on("data", (bytes: Buffer) => {
        if (silenced.has(from)) return;
        steps += 1;
        if (plan?.step !== steps) return void to.write(bytes);
        const { fault } = plan;
        plan = undefined;
        if (typeof fault === "function") {
          to.write(bytes);
          return fault();
        }
        // Half of the piece arrives.
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
    stop() {
      relay.close();
      for (const pair of pairs) for (const one of pair) one.destroy();
    },
  };
}
