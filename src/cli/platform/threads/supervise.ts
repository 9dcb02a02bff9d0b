import type { MessagePort, ResourceLimits, Worker } from "node:worker_threads";
import { startThreadProgram } from "../../../lib/thread-programs.ts";
import type { Clock, Timer } from "../../../lib/clock.ts";
import { newHeart } from "../../../lib/heartbeat.ts";
import type { Heart } from "../../../lib/heartbeat.ts";
import type { Log } from "../../../lib/log.ts";
import { writeLines } from "../../process/log-output.ts";
import type { TelemetryShare } from "./telemetry-end.ts";
import type { LogForm } from "../../process/log-output.ts";
import type { AccessBatch, AccessWritten } from "../../../lib/access-fields.ts";
import { watchThread } from "../../../lib/watch-thread.ts";
import { prepareHeaps } from "./heap.ts";
import { leaveRemovedDirectory } from "./hold-programs.ts";
import type { FromThread, ThreadData, ThreadError, ToThread } from "./thread-messages.ts";

/** Pause before a crashed thread restarts, doubled up to the maximum, milliseconds. */
const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** Maximum number of crashes before the first ready state. A refusal to start is not retried. */
const firstStarts = 3;
/** Maximum number of remembered work items on which the thread hung, and which it now rejects. */
const mostRefused = 1_000;
/** A thread that ran this long restarts after the first pause. */
const steadyMs = 60_000;

const noDetails = { code: undefined, port: undefined, address: undefined };

/** What connects a thread with the telemetry thread. */
export interface ThreadTelemetry {
  readonly share: TelemetryShare;
  /** Called each time the thread `name` runs. */
  threadReady(name: string, thread: Pick<Supervised<unknown>, "tell">): void;
}

export interface ThreadPlan<Options, Ports> {
  readonly name: string;
  readonly file: URL;
  /** Limits of its heap. Default: V8's. */
  readonly heap?: ResourceLimits;
  readonly log: Log;
  readonly logForm: LogForm;
  /** Absent if no telemetry is sent. */
  readonly telemetry?: ThreadTelemetry | undefined;
  readonly clock: Clock;
  /** Maximum seconds without a sign of life before the thread is stopped and restarted; 0: never. */
  readonly watchSeconds: number;
  /** Returns the options for a start. `ports` are those of the previous run, so that automatic ports stay the same. */
  options(ports: Ports | undefined): Options;
  /** Writes lines of the access log, and then reports the result. */
  accessLines?(batch: AccessBatch, written: (result: AccessWritten) => void): void;
  /** Called when an edge is ready for agents, and waits for the other edges. */
  prepared?(ports: Ports, tell: Supervised<Ports>["tell"]): void;
  /** Called each time the thread runs. */
  ready?(tell: Supervised<Ports>["tell"]): void;
  /** Called when a thread that has run before could not start again, with the reason. */
  failed?(reason: string): void;
  /** Called when a rule of an edge needs locations or categories of addresses. */
  addressesWanted?(): void;
  /** Called when an edge has requests for the capture thread. */
  captureWanted?(): void;
  /** Called when something has requested `/readyz`. */
  readinessChecked?(): void;
  /** Returns its lines; called before each start. */
  lines(): readonly MessagePort[];
}

/** A worker thread that is restarted when it dies. */
export interface Supervised<Ports> {
  /** Resolves when the thread runs for the first time. Rejects if it cannot start. */
  readonly started: Promise<Ports>;
  /** Replaces line `at` after the plane at its other end has restarted. */
  relink(at: number, port: MessagePort): void;
  /** Sends a message to the thread, unless it is restarting. */
  tell(message: ToThread): void;
  /**
   * Finishes open work within `boundMs`. The thread is not restarted from now on. Follow with `stop`.
   * @param isObserved see `ToThread`
   */
  drain(boundMs: number, isObserved: boolean): Promise<void>;
  /** Stops the thread within `boundMs`, gracefully if possible, and does not restart it. */
  stop(boundMs: number): Promise<void>;
}

export function superviseThread<Options, Ports>(plan: ThreadPlan<Options, Ports>): Supervised<Ports> {
  let worker: Worker | undefined;
  let ports: Ports | undefined;
  let stopping = false;
  /** The first start was refused, and another attempt would end in the same way. */
  let isRefused = false;
  let startError: Error | undefined;
  let crashes = 0;
  const refused = new RefusedWork();
  let restart: Timer | undefined;
  let startedAt = 0;
  let exited: Promise<void> = Promise.resolve();
  /** Called when the last request has been done or cannot be done. */
  let done: () => void = () => {};
  const first = Promise.withResolvers<Ports>();
  first.promise.catch(() => {});

  const start = (): void => {
    startedAt = plan.clock.monotonic();
    const gone = Promise.withResolvers<void>();
    exited = gone.promise;
    const heart = newHeart();
    const current = startThread(plan, ports, heart, refused.marks, {
      prepared: (its) => plan.prepared?.(its, tell),
      ready(its) {
        const hung = (work: number): void => refused.add(work);
        if (plan.watchSeconds > 0) watchThread({ ...plan, worker: current, heart, seconds: plan.watchSeconds, hung });
        ports = its;
        first.resolve(its);
        plan.telemetry?.threadReady(plan.name, { tell });
        plan.ready?.(tell);
      },
      done: () => done(),
      failed,
      gone() {
        gone.resolve();
        done();
        if (worker === current) ended();
      },
    });
    worker = current;
  };

  const failed = (error: ThreadError, refuses: boolean): void => {
    if (ports === undefined) startError = Object.assign(new Error(error.message), error);
    if (ports === undefined && refuses) isRefused = true;
    else plan.log.error(`${plan.name} failed`, { error: error.stack ?? error.message });
    if (ports !== undefined && refuses) plan.failed?.(error.message);
  };

  const ended = (): void => {
    worker = undefined;
    if (stopping || isRefused || (ports === undefined && crashes >= firstStarts)) {
      first.reject(startError ?? new Error(`the ${plan.name} stopped before it was ready`));
      return;
    }
    if (plan.clock.monotonic() - startedAt > steadyMs) crashes = 0;
    const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** crashes);
    crashes += 1;
    plan.log.error(`${plan.name} stopped unexpectedly and is being restarted`, { pauseMs });
    restart = plan.clock.after(pauseMs, start);
  };

  const ask = (running: Worker, message: ToThread, boundMs: number): Promise<void> =>
    askToEnd(plan, running, message, boundMs, (resolve) => void (done = resolve));
  const tell = (message: ToThread): void => worker?.postMessage(message, portsOf(message));
  const halt = (): Worker | undefined => {
    stopping = true;
    restart?.cancel();
    return worker;
  };

  start();
  return {
    started: first.promise,
    relink: (at, port) => worker?.postMessage({ type: "link", at, port } satisfies ToThread, [port]),
    tell,
    async drain(boundMs, isObserved) {
      const running = halt();
      if (running) await ask(running, { type: "drain", isObserved }, boundMs);
    },
    async stop(boundMs) {
      const running = halt();
      if (!running) return;
      await ask(running, { type: "stop" }, boundMs);
      await running.terminate();
      await exited;
    },
  };
}

/** Asks the running thread to stop or drain. @param listen gets the function to call when the thread has done it */
function askToEnd(
  plan: Pick<ThreadPlan<unknown, unknown>, "clock" | "log" | "name">,
  running: Worker,
  message: ToThread,
  boundMs: number,
  listen: (done: () => void) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const bound = plan.clock.after(boundMs, () => {
      plan.log.warn(`${plan.name} did not ${message.type} in time`, { boundMs });
      resolve();
    });
    listen(() => {
      bound.cancel();
      resolve();
    });
    running.postMessage(message);
  });
}

/** Returns the ports that a message transfers. */
function portsOf(message: ToThread): MessagePort[] {
  return message.type === "capture" || message.type === "telemetry" ? [message.port] : [];
}

/** Work on which previous runs of a thread hung, oldest first. */
class RefusedWork {
  readonly marks: number[] = [];

  /** 0: the work is unknown. */
  add(mark: number): void {
    if (mark === 0) return;
    this.marks.push(mark);
    if (this.marks.length > mostRefused) this.marks.shift();
  }
}

interface ThreadNews<Ports> {
  prepared(ports: Ports): void;
  ready(ports: Ports): void;
  /** Called when the thread has done the request. */
  done(): void;
  /** Called when the thread refused to start, or an uncaught error ends it. */
  failed(error: ThreadError, refuses: boolean): void;
  /** Called when the thread has ended for any reason. */
  gone(): void;
}

/** @param ports ports of its previous run */
function startThread<Options, Ports>(
  plan: ThreadPlan<Options, Ports>,
  ports: Ports | undefined,
  heart: Heart,
  marks: readonly number[],
  news: ThreadNews<Ports>,
): Worker {
  const lines = plan.lines();
  const data: ThreadData<Options> = {
    options: plan.options(ports),
    ports: lines,
    log: plan.logForm,
    telemetry: plan.telemetry?.share,
    heart,
    refused: marks,
  };
  prepareHeaps();
  leaveRemovedDirectory();
  const worker = startThreadProgram(plan.file, {
    name: plan.name,
    workerData: data,
    ...(plan.heap && { resourceLimits: plan.heap }),
    transferList: [...lines],
    stderr: true,
  });
  worker.stderr.on("data", writeLines);
  worker.on("message", (message: FromThread<Ports>) => {
    if (message.type === "ready") news.ready(message.ports);
    else if (message.type === "prepared") news.prepared(message.ports);
    else if (message.type === "accessLines") {
      plan.accessLines?.(message.batch, (result) =>
        worker.postMessage({ type: "accessWritten", result } satisfies ToThread),
      );
    } else if (message.type === "captureWanted") plan.captureWanted?.();
    else if (message.type === "readinessChecked") plan.readinessChecked?.();
    else if (message.type === "addressesWanted") plan.addressesWanted?.();
    else if (message.type === "drained" || message.type === "stopped") news.done();
    else {
      news.failed(message.error, true);
      void worker.terminate();
    }
  });
  worker.on("error", (error: unknown) => {
    const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
    news.failed({ ...noDetails, name, message, stack }, false);
  });
  worker.on("exit", () => news.gone());
  return worker;
}
