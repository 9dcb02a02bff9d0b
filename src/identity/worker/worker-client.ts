/** Calls to a worker thread, limited in number and time. A worker that dies or hangs is restarted. */
import type { Worker } from "node:worker_threads";
import { startThreadProgram } from "../../lib/thread-programs.ts";
import { makeContained, runUnattended } from "../../lib/boundary.ts";
import { endHungThread } from "../../lib/watch-thread.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { IdentityCalls } from "./identity-calls.ts";
import type { Calls, FromWorker, Host, ToWorker } from "./worker-messages.ts";

/** Why a call has no result. `failed` is an internal error of the call; the other reasons are temporary. */
export class WorkerFailure extends Error {
  readonly why: "full" | "late" | "died" | "stopped" | "failed";

  constructor(why: WorkerFailure["why"], message: string) {
    super(`ask the identity worker: ${message}`);
    this.why = why;
  }
}

export interface WorkerPlan {
  /** The program, which serves its calls with `serveCalls`. */
  readonly file: URL;
  readonly clock: Clock;
  readonly log: Log;
  /** Maximum number of waiting calls. Default: 1000. Further calls fail immediately. */
  readonly maxWaiting?: number;
  /** Heap limit of the worker, MiB. Default: 256. Beyond it the worker dies, and the traffic thread does not. */
  readonly maxHeapMb?: number;
}

export interface WorkerClient<Made extends Calls> {
  /**
   * Makes one call, with functions that the call may call back. Rejects with `WorkerFailure`, at the latest after
   * `timeoutMs` including waiting.
   */
  call<Name extends keyof Made & string>(
    name: Name,
    input: Parameters<Made[Name]>[0],
    options?: { readonly host?: Parameters<Made[Name]>[1]; readonly timeoutMs?: number },
  ): Promise<Awaited<ReturnType<Made[Name]>>>;
  /** Stops the worker. Pending and later calls fail. */
  stop(): Promise<void>;
}

interface PendingWorkerCall {
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
  readonly host: Host;
  readonly outcome: PromiseWithResolvers<unknown>;
  readonly timer: Timer;
}

const usualTimeoutMs = 10_000;
const usualMaxWaiting = 1000;
/** Calls sent to the worker at once: enough to keep it busy while some of them wait for an answer. */
const maxUnderWay = 64;
/** A worker that does not answer a ping within this time hangs. */
const silenceMs = 1000;
/** Pauses before a dead worker restarts: the first one, doubling up to the longest, milliseconds. */
const firstPauseMs = 100;
const longestPauseMs = 5000;
const usualHeapMb = 256;

/** The worker for identity calls. It starts with the first call. */
export function startIdentityWorker(plan: Omit<WorkerPlan, "file">): WorkerClient<IdentityCalls> {
  return startWorker<IdentityCalls>({ ...plan, file: new URL("./worker.ts", import.meta.url) });
}

/** A worker for any set of calls. */
export function startWorker<Made extends Calls>(plan: WorkerPlan): WorkerClient<Made> {
  return new Client(plan);
}

class Client<Made extends Calls> implements WorkerClient<Made> {
  readonly #plan: WorkerPlan;
  readonly #waiting = new Map<number, PendingWorkerCall>();
  readonly #underWay = new Map<number, PendingWorkerCall>();
  #worker: Worker | undefined;
  #exited: Promise<void> = Promise.resolve();
  #restart: Timer | undefined;
  #silence: Timer | undefined;
  #deaths = 0;
  #calls = 0;
  #stopped = false;

  constructor(plan: WorkerPlan) {
    this.#plan = plan;
  }

  call<Name extends keyof Made & string>(
    name: Name,
    input: Parameters<Made[Name]>[0],
    options: { readonly host?: Parameters<Made[Name]>[1]; readonly timeoutMs?: number } = {},
  ): Promise<Awaited<ReturnType<Made[Name]>>> {
    if (this.#stopped) return Promise.reject(new WorkerFailure("stopped", "it has been ended"));
    const { maxWaiting = usualMaxWaiting, clock } = this.#plan;
    if (this.#waiting.size >= maxWaiting) {
      return Promise.reject(new WorkerFailure("full", `${maxWaiting} calls wait already`));
    }
    const id = (this.#calls += 1);
    const outcome = Promise.withResolvers<unknown>();
    const timer = clock.after(options.timeoutMs ?? usualTimeoutMs, () => this.#late(id));
    this.#waiting.set(id, { id, name, input, host: (options.host ?? {}) as Host, outcome, timer });
    this.#send();
    return outcome.promise as Promise<Awaited<ReturnType<Made[Name]>>>;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#restart?.cancel();
    this.#silence?.cancel();
    this.#fail([...this.#waiting.values(), ...this.#underWay.values()], "stopped", "it has been ended");
    await this.#worker?.terminate();
    await this.#exited;
  }

  #send(): void {
    if (this.#restart) return;
    for (const call of this.#waiting.values()) {
      if (this.#underWay.size >= maxUnderWay) break;
      this.#worker ??= this.#start();
      this.#worker.ref();
      this.#waiting.delete(call.id);
      this.#underWay.set(call.id, call);
      this.#say({ type: "call", id: call.id, name: call.name, input: call.input });
    }
    if (this.#underWay.size === 0) this.#worker?.unref();
  }

  #say(message: ToWorker): void {
    this.#worker?.postMessage(message);
  }

  #start(): Worker {
    const worker = startThreadProgram(this.#plan.file, {
      name: "identity",
      resourceLimits: { maxOldGenerationSizeMb: this.#plan.maxHeapMb ?? usualHeapMb },
    });
    let cause = "it has ended";
    const end = (): void => runUnattended("task", worker.terminate());
    const heard = (message: FromWorker): void => this.#heard(message);
    worker.on("message", makeContained("task", heard, end));
    worker.on("error", (error) => (cause = error instanceof Error ? error.message : String(error)));
    this.#exited = new Promise((resolve) => {
      const exited = (): void => {
        resolve();
        if (!this.#stopped) this.#died(cause);
      };
      worker.on(
        "exit",
        makeContained("task", exited, () => resolve()),
      );
    });
    return worker;
  }

  #heard(message: FromWorker): void {
    this.#silence?.cancel();
    this.#silence = undefined;
    if (message.type === "pong") return;
    const call = this.#underWay.get(message.id);
    if (message.type === "question") {
      runUnattended("message", this.#answer(message.question, call, message.name, message.value));
      return;
    }
    if (!call) return;
    this.#deaths = 0;
    this.#underWay.delete(call.id);
    call.timer.cancel();
    if (message.type === "result") call.outcome.resolve(message.value);
    else call.outcome.reject(new WorkerFailure("failed", `${call.name}: ${message.message}`));
    this.#send();
  }

  async #answer(question: number, call: PendingWorkerCall | undefined, name: string, value: unknown): Promise<void> {
    try {
      const answer = call && Object.hasOwn(call.host, name) ? call.host[name] : undefined;
      if (!answer) throw new Error(`nobody knows ${name}`);
      this.#say({ type: "answer", question, value: await answer(value as never) });
    } catch (error) {
      this.#say({ type: "failed answer", question, message: error instanceof Error ? error.message : String(error) });
    }
  }

  #late(id: number): void {
    const wasSent = this.#underWay.has(id);
    const call = this.#underWay.get(id) ?? this.#waiting.get(id);
    if (call) this.#fail([call], "late", `${call.name} was not done in time`);
    if (!wasSent || this.#silence) return this.#send();
    this.#say({ type: "ping" });
    this.#silence = this.#plan.clock.after(silenceMs, () => {
      this.#silence = undefined;
      if (this.#worker) runUnattended("task", endHungThread("identity worker", this.#worker, this.#plan.log));
    });
  }

  #died(cause: string): void {
    this.#worker = undefined;
    this.#silence?.cancel();
    this.#silence = undefined;
    const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** this.#deaths);
    this.#deaths += 1;
    this.#plan.log.error("identity worker died, starting it again", { cause, pauseMs });
    this.#restart = this.#plan.clock.after(pauseMs, () => {
      this.#restart = undefined;
      this.#send();
    });
    this.#fail([...this.#underWay.values()], "died", cause);
  }

  #fail(calls: readonly PendingWorkerCall[], why: WorkerFailure["why"], message: string): void {
    for (const call of calls) {
      this.#waiting.delete(call.id);
      this.#underWay.delete(call.id);
      call.timer.cancel();
      call.outcome.reject(new WorkerFailure(why, message));
    }
  }
}
