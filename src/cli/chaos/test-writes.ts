/** Writes to the API while nodes fail, and checks at the end that no acknowledged write was lost. */
import { setTimeout as pause } from "node:timers/promises";
import type { Postern } from "../../../sdk/src/index.ts";

/** Creates and removes an object, as an operator's program would. Both reject if the API does not confirm. */
export interface Writes {
  create(): Promise<string>;
  /** Returns whether the object exists. */
  has(id: string): Promise<boolean>;
  remove(id: string): Promise<void>;
}

export interface WritesReport {
  readonly acknowledged: number;
  /** Acknowledged writes whose object no longer exists. */
  readonly lost: number;
  readonly refused: number;
  /** Longest time without an acknowledged write, milliseconds. */
  readonly longest_gap_ms: number;
}

/** Interval between two writes, milliseconds. */
const writeMs = 50;
/** Maximum number of attempts to read an object at the end, because a node may still be starting. */
const maxReads = 20;
const readMs = 500;

/** @param until ends the writes. `report` resolves when all of them were checked and removed */
export function startWriter(writes: Writes, until: AbortSignal): { report(): Promise<WritesReport> } {
  const acknowledged: string[] = [];
  let refused = 0;
  let longestGap = 0;
  const write = async (): Promise<void> => {
    let lastAt = performance.now();
    while (!until.aborted) {
      try {
        acknowledged.push(await writes.create());
        longestGap = Math.max(longestGap, performance.now() - lastAt);
        lastAt = performance.now();
      } catch {
        refused += 1;
      }
      await pause(writeMs);
    }
    longestGap = Math.max(longestGap, performance.now() - lastAt);
  };
  const writing = write();
  return {
    async report() {
      await writing;
      let lost = 0;
      for (const id of acknowledged) {
        if (await retryWrite(() => writes.has(id))) await retryWrite(() => writes.remove(id));
        else lost += 1;
      }
      return {
        acknowledged: acknowledged.length,
        lost,
        refused,
        longest_gap_ms: Math.round(longestGap),
      };
    },
  };
}

/** Writes IP policies, which affect no traffic unless a module uses them. */
export function policyWrites({ ipPolicies }: Postern): Writes {
  return {
    create: async () => (await ipPolicies.create({ description: "postern chaos" })).id,
    has: (id) =>
      ipPolicies.get(id).then(
        () => true,
        (error: unknown) => {
          if ((error as { status?: number }).status === 404) return false;
          throw error;
        },
      ),
    remove: (id) => ipPolicies.delete(id),
  };
}

async function retryWrite<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (attempt >= maxReads) throw error;
      await pause(readMs);
    }
  }
}
