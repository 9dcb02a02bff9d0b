/** Sends requests of every kind while nodes stop, die and pause, and reports what the visitors saw. */
import { setTimeout as pause } from "node:timers/promises";
import { Failure } from "../process/exit.ts";
import { visitHttp1, visitHttp2 } from "./http-visitors.ts";
import type { Method } from "./http-visitors.ts";
import { cause, faultsOf, isReady } from "./nodes.ts";
import type { ChaosNode, Fault, NodeCommands } from "./nodes.ts";
import { Tally } from "./tally.ts";
import type { DescribedFailure, KindReport } from "./tally.ts";
import type { Target } from "./target.ts";
import { visitWebSocket } from "./websocket-visitors.ts";

export interface ChaosOptions {
  readonly target: Target;
  readonly nodes: readonly ChaosNode[];
  readonly commands: NodeCommands;
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
  readonly faults: Readonly<Record<Fault, number>>;
  readonly requests: number;
  readonly failures: number;
  readonly longest_gap_ms: number;
  readonly kinds: readonly KindReport[];
  readonly first_failures: readonly DescribedFailure[];
}

/** Rejects with `Failure` if a command fails or a node is not ready. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { nodes, commands, rounds, downMs, settleMs, told } = options;
  for (const node of nodes) {
    if (!(await isReady(node)))
      throw new Failure("unreachable", `node ${node.name} is not ready: check ${node.ready.href}`);
  }
  const failures: DescribedFailure[] = [];
  const over = new AbortController();
  const { tallies, ended } = startVisitors(options, failures, over.signal);
  const began = performance.now();
  const faults: Record<Fault, number> = { stop: 0, kill: 0, pause: 0 };
  try {
    await pause(settleMs);
    for (let round = 0; round < rounds; round += 1) {
      for (const fault of faultsOf(commands)) {
        for (const node of nodes) {
          told(`round ${round + 1}: ${fault} ${node.name}`);
          await cause(fault, node, commands, downMs);
          faults[fault] += 1;
          await pause(settleMs);
        }
      }
    }
  } finally {
    over.abort();
    await ended;
  }
  const kinds = tallies.map((tally) => tally.report());
  return {
    seconds: Math.round((performance.now() - began) / 1000),
    faults,
    requests: kinds.reduce((sum, { requests }) => sum + requests, 0),
    failures: kinds.reduce((sum, kind) => sum + kind.failures, 0),
    longest_gap_ms: Math.max(...kinds.map((kind) => kind.longest_gap_ms)),
    kinds,
    first_failures: failures,
  };
}

function startVisitors(
  { target, visitors }: ChaosOptions,
  failures: DescribedFailure[],
  until: AbortSignal,
): { readonly tallies: readonly Tally[]; readonly ended: Promise<unknown> } {
  const tallies: Tally[] = [];
  const running: Promise<void>[] = [];
  const start = (kind: string, visit: (tally: Tally) => Promise<void>): void => {
    const tally = new Tally(kind, failures);
    tallies.push(tally);
    for (let count = 0; count < visitors; count += 1) running.push(visit(tally));
  };
  for (const method of ["GET", "POST"] satisfies readonly Method[]) {
    start(`HTTP/1.1 ${method}`, (tally) => visitHttp1(target, method, false, tally, until));
    start(`HTTP/2 ${method}`, (tally) => visitHttp2(target, method, tally, until));
    start(`new connection, ${method}`, (tally) => visitHttp1(target, method, true, tally, until));
  }
  if (target.websocketPath !== undefined) {
    start("WebSocket", (tally) => visitWebSocket(target, false, tally, until));
    start("WebSocket, held open", (tally) => visitWebSocket(target, true, tally, until));
  }
  return { tallies, ended: Promise.all(running) };
}
