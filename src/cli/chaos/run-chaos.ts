/** Sends requests of every kind while nodes stop, die and pause, and reports what the visitors saw. */
import { setTimeout as pause } from "node:timers/promises";
import { Failure } from "../process/exit.ts";
import { visitHttp1, visitHttp2 } from "./http-visitors.ts";
import type { Method } from "./http-visitors.ts";
import { causeFault, isReady } from "./chaos-nodes.ts";
import type { ChaosNode, Fault } from "./chaos-nodes.ts";
import { reportOf, sumNumbers, VisitTally } from "./visit-tally.ts";
import type { DescribedFailure, KindReport } from "./visit-tally.ts";
import type { ChaosTarget } from "./chaos-target.ts";
import { visitWebSocket } from "./websocket-visitors.ts";
import { startWriter } from "./test-writes.ts";
import type { Writes, WritesReport } from "./test-writes.ts";

export interface ChaosOptions {
  readonly target: ChaosTarget;
  readonly nodes: readonly ChaosNode[];
  readonly faults: readonly Fault[];
  /** Undefined without writes to the API. */
  readonly writes: Writes | undefined;
  /** Number of times that every node gets every fault. */
  readonly rounds: number;
  /** Number of visitors of each kind. */
  readonly visitors: number;
  readonly downMs: number;
  /** Time between a node's readiness and the next fault. */
  readonly settleMs: number;
  /** Reports each step. */
  readonly told: (line: string) => void;
}

export interface ChaosReport {
  readonly seconds: number;
  /** Number of faults by name. */
  readonly faults: Readonly<Record<string, number>>;
  readonly requests: number;
  readonly failures: number;
  readonly longest_gap_ms: number;
  readonly kinds: readonly KindReport[];
  readonly writes?: WritesReport;
  readonly first_failures: readonly DescribedFailure[];
}

/** Rejects with `Failure` if a command fails or a node is not ready. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { nodes, rounds, downMs, settleMs, told } = options;
  for (const node of nodes) {
    if (!(await isReady(node)))
      throw new Failure("unreachable", `node ${node.name} is not ready: check ${node.ready.href}`);
  }
  const failures: DescribedFailure[] = [];
  const over = new AbortController();
  const { tallies, ended } = startVisitors(options, failures, over.signal);
  const writer = options.writes && startWriter(options.writes, over.signal);
  const began = performance.now();
  const faults: Record<string, number> = {};
  try {
    await pause(settleMs);
    for (let round = 0; round < rounds; round += 1) {
      for (const fault of options.faults) {
        for (const node of nodes) {
          told(`round ${round + 1}: ${fault.name} ${node.name}`);
          await causeFault(fault, node, downMs);
          faults[fault.name] = (faults[fault.name] ?? 0) + 1;
          await pause(settleMs);
        }
      }
    }
  } finally {
    over.abort();
    await ended;
  }
  const kinds = reportOf(tallies);
  const written = await writer?.report();
  return {
    seconds: Math.round((performance.now() - began) / 1000),
    faults,
    requests: sumNumbers(kinds.map(({ requests }) => requests)),
    failures: sumNumbers(kinds.map((kind) => kind.failures)),
    longest_gap_ms: Math.max(...kinds.map((kind) => kind.longest_gap_ms)),
    kinds,
    ...(written && { writes: written }),
    first_failures: failures,
  };
}

function startVisitors(
  { target, visitors }: ChaosOptions,
  failures: DescribedFailure[],
  until: AbortSignal,
): { readonly tallies: readonly VisitTally[]; readonly ended: Promise<unknown> } {
  const tallies: VisitTally[] = [];
  const running: Promise<void>[] = [];
  const start = (kind: string, visit: (tally: VisitTally) => Promise<void>, hasGaps = true): void => {
    for (let count = 0; count < visitors; count += 1) {
      const tally = new VisitTally(kind, failures, hasGaps);
      tallies.push(tally);
      running.push(visit(tally));
    }
  };
  for (const method of ["GET", "POST"] satisfies readonly Method[]) {
    start(`HTTP/1.1 ${method}`, (tally) => visitHttp1(target, method, false, tally, until));
    start(`HTTP/2 ${method}`, (tally) => visitHttp2(target, method, tally, until));
    start(`new connection, ${method}`, (tally) => visitHttp1(target, method, true, tally, until));
  }
  if (target.websocketPath !== undefined) {
    start("WebSocket", (tally) => visitWebSocket(target, false, tally, until));
    start("WebSocket, held open", (tally) => visitWebSocket(target, true, tally, until), false);
  }
  return { tallies, ended: Promise.all(running) };
}
