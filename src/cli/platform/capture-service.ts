/** Runs the capture thread while there are captured requests, and connects the edges to it. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { MessageChannel } from "node:worker_threads";
import type { CaptureKey } from "../../capture/store/capture-keys.ts";
import { runUnattended } from "../../lib/boundary.ts";
import type { CaptureThreadOptions } from "./threads/capture-thread.ts";
import { superviseThread } from "./threads/supervise.ts";
import type { Supervised, ThreadPlan } from "./threads/supervise.ts";

export interface CaptureServiceOptions extends Pick<
  ThreadPlan<unknown, unknown>,
  "log" | "logForm" | "clock" | "watchSeconds" | "telemetry"
> {
  /** The server's data directory. */
  readonly data: string;
  readonly maxBytes: number;
  /** Known when the control plane has opened the database. */
  readonly keys: () => Promise<readonly CaptureKey[]>;
  readonly edges: () => readonly Pick<Supervised<unknown>, "tell">[];
}

/** @param data the server's data directory */
export function captureDirectory(data: string): string {
  return join(data, "capture");
}

export class CaptureService {
  readonly #options: CaptureServiceOptions;
  readonly #directory: string;
  #thread: Supervised<undefined> | undefined;
  #isStarting = false;
  #isStopped = false;

  /** Starts the thread if an earlier run of the server has captured requests. */
  constructor(options: CaptureServiceOptions) {
    this.#options = options;
    this.#directory = captureDirectory(options.data);
    if (hasEntries(this.#directory)) this.wanted();
  }

  /** An edge has something to write. */
  wanted(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    runUnattended("task", this.#start());
  }

  /** Connects an edge that has started, or started again. */
  edgeReady(edge: Pick<Supervised<unknown>, "tell">): void {
    if (this.#thread !== undefined) this.#connect(this.#thread, edge);
  }

  async stop(boundMs: number): Promise<void> {
    this.#isStopped = true;
    await this.#thread?.stop(boundMs);
  }

  async #start(): Promise<void> {
    const { maxBytes, edges, ...shared } = this.#options;
    // Without keys the server has not started.
    const keys = await shared.keys().catch(() => undefined);
    if (keys === undefined || this.#isStopped) return;
    const thread = superviseThread<CaptureThreadOptions, undefined>({
      ...shared,
      name: "capture",
      file: new URL("./threads/capture-thread.ts", import.meta.url),
      lines: () => [],
      options: () => ({ directory: this.#directory, keys, maxBytes }),
      ready: (tell) => {
        for (const edge of edges()) this.#connect({ tell }, edge);
      },
    });
    this.#thread = thread;
    await thread.started;
  }

  #connect(thread: Pick<Supervised<unknown>, "tell">, edge: Pick<Supervised<unknown>, "tell">): void {
    const { port1, port2 } = new MessageChannel();
    thread.tell({ type: "capture", port: port1 });
    edge.tell({ type: "capture", port: port2 });
  }
}

function hasEntries(directory: string): boolean {
  try {
    return readdirSync(directory).length > 0;
  } catch {
    return false;
  }
}
