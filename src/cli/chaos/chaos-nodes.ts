/** Runs the operator's commands that stop, start and pause nodes, and waits until a node is ready again. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { setTimeout as pause } from "node:timers/promises";

import { request as requestHttp } from "../../lib/http.ts";
import { Failure } from "../process/exit.ts";

export interface ChaosNode {
  readonly name: string;
  /** URL that returns 200 when the node is ready for traffic. */
  readonly ready: URL;
}

/** Shell commands with the node's name in `$NODE` that begin and end a fault. */
export interface Fault {
  readonly name: string;
  readonly begin: string;
  readonly end: string;
}

const readyCheckMs = 200;
const answerMs = 4_000;
/** Maximum time for a node to become ready, milliseconds. */
const readyMs = 180_000;

/** Causes one fault at a node, and ends it. Resolves when the node is ready. Rejects with `Failure`. */
export async function causeFault(fault: Fault, node: ChaosNode, downMs: number): Promise<void> {
  await runCommand(fault.name, fault.begin, node);
  await pause(downMs);
  await runCommand(`the end of ${fault.name}`, fault.end, node);
  const endsAt = performance.now() + readyMs;
  while (!(await isReady(node))) {
    if (performance.now() > endsAt)
      throw new Failure(
        "unreachable",
        `node ${node.name} is not ready within ${readyMs / 1000} s after ${fault.name}: check ${node.ready.href}`,
      );
    await pause(readyCheckMs);
  }
}

export async function isReady({ ready }: ChaosNode): Promise<boolean> {
  try {
    const options = { agent: false, signal: AbortSignal.timeout(answerMs) };
    const request = ready.protocol === "https:" ? requestHttps(ready, options) : requestHttp(ready, options);
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.destroy();
    return response.statusCode === 200;
  } catch {
    return false;
  }
}

async function runCommand(name: string, command: string, node: ChaosNode): Promise<void> {
  const child = spawn(command, {
    shell: true,
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, NODE: node.name },
  });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code === 0) return;
  throw new Failure("unexpected", `${name} failed at node ${node.name} with exit code ${String(code)}: ${command}`);
}
