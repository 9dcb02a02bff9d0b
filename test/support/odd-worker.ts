/** A worker thread whose calls misbehave. */
import { parentPort } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { serveCalls } from "../../src/identity/worker/serve-calls.ts";

export const oddCalls = {
  echo: (input: unknown) => input,
  fail: (input: string): never => {
    throw new Error(input);
  },
  hang: (): never => {
    for (;;);
  },
  fill: (): never => {
    const kept: unknown[] = [];
    for (;;) kept.push(Array.from({ length: 10_000 }, () => ({})));
  },
  die: (): Promise<never> => {
    setImmediate(() => {
      throw new Error("died of this");
    });
    return new Promise(() => {});
  },
  never: (): Promise<never> => new Promise(() => {}),
  ask: async (input: string, host: { readonly know: (value: string) => Promise<string> }): Promise<string> =>
    `answered ${await host.know(input)}`,
  pry: (_: unknown, host: Readonly<Record<string, (value: string) => Promise<unknown>>>) => host["constructor"]?.("a"),
};

if (parentPort) serveCalls(parentPort as MessagePort, oddCalls);
