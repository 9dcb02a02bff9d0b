import type { MessagePort, ResourceLimits, Worker } from "node:worker_threads";
import { startThreadProgram } from "../../../lib/thread-programs.ts";
import type { Clock, Timer } from "../../../lib/clock.ts";
import { newHeart } from "../../../lib/heartbeat.ts";
import type { Heart } from "../../../lib/heartbeat.ts";
import type { Log } from "../../../lib/log.ts";
import { writeLines } from "../../process/log-output.ts";
import type { LogForm } from "../../process/log-output.ts";
import { watchThread } from "../../../lib/watch-thread.ts";
import { prepareHeaps } from "./heap.ts";
import { leaveRemovedDirectory } from "./hold-programs.ts";
import type { FromThread, ThreadData, ThreadError, ToThread } from "./thread-messages.ts";

/** Pause before a crashed thread is started again, doubling up to the longest; milliseconds. */
const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** So many times it may crash before it is ready for the first time; what it refuses to start with is not tried again. */
const firstStarts = 3;
/** What it hung on lately, and is refused. */
const mostRefused = 1_000;
/** A thread that ran this long starts over with the first pause. */
const steadyMs = 60_000;

const noDetails = { code: undefined, port: undefined, address: undefined };

export interface ThreadPlan<Options, Ports> {
  readonly name: string;
  readonly file: URL;
  /** Bounds of its heap; V8's own where nothing is said. */
  readonly heap?: ResourceLimits;
  readonly log: Log;
  readonly logForm: LogForm;
  readonly clock: Clock;
  /** Seconds without a sign of life after which it is ended and started again; 0: never. */
  readonly watchSeconds: number;
  /** Options for a start; `ports` of the run before, so that chosen ports are kept. */
  options(ports: Ports | undefined): Options;
  /** Its lines, asked for before each start. */
  lines(): readonly MessagePort[];
}

/** A worker thread that is started again when it dies. */
export interface Supervised<Ports> {
  /** Resolves when it runs for the first time; rejects when it cannot. */
  readonly started: Promise<Ports>;
  /** Gives it a new line in place of the one `at`: what is at its other end was started anew. */
  relink(at: number, port: MessagePort): void;
  /** Sends it a message, unless it is being restarted. */
  tell(message: ToThread): void;
  /** Has it finish what is under way, within `boundMs`; it is not started again from now on. Ended by `stop`. */
  drain(boundMs: number): Promise<void>;
  /** Ends it, gracefully within `boundMs`, and leaves it ended. */
  stop(boundMs: number): Promise<void>;
}

export function supervise<Options, Ports>(plan: ThreadPlan<Options, Ports>): Supervised<Ports> {
  let worker: Worker | undefined;
  let ports: Ports | undefined;
  let stopping = false;
  /** Its first start could not be made: another one would end in the same way. */
  let isRefused = false;
  let startError: Error | undefined;
  let crashes = 0;
  const refused = new RefusedWork();
  let restart: Timer | undefined;
  let startedAt = 0;
  let exited: Promise<void> = Promise.resolve();
  /** What was asked last was done, or will not be. */
  let done: () => void = () => {};
  const first = Promise.withResolvers<Ports>();
  first.promise.catch(() => {});

  const start = (): void => {
    startedAt = plan.clock.monotonic();
    const gone = Promise.withResolvers<void>();
    exited = gone.promise;
    const heart = newHeart();
    const current = startThread(plan, ports, heart, refused.marks, {
      ready(its) {
        const hung = (work: number): void => refused.add(work);
        if (plan.watchSeconds > 0) watchThread({ ...plan, worker: current, heart, seconds: plan.watchSeconds, hung });
        ports = its;
        first.resolve(its);
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

  /** Asks the running thread for its end, or the beginning of it. */
  const ask = (running: Worker, message: ToThread, boundMs: number): Promise<void> =>
    new Promise((resolve) => {
      const bound = plan.clock.after(boundMs, () => {
        plan.log.warn(`${plan.name} did not ${message.type} in time`, { boundMs });
        resolve();
      });
      done = () => {
        bound.cancel();
        resolve();
      };
      running.postMessage(message);
    });
  const halt = (): Worker | undefined => {
    stopping = true;
    restart?.cancel();
    return worker;
  };

  start();
  return {
    started: first.promise,
    relink: (at, port) => worker?.postMessage({ type: "link", at, port } satisfies ToThread, [port]),
    tell: (message) => worker?.postMessage(message),
    async drain(boundMs) {
      const running = halt();
      if (running) await ask(running, { type: "drain" }, boundMs);
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

/** What runs of a thread have hung on, in the order in which they did. */
class RefusedWork {
  readonly marks: number[] = [];

  /** 0: it is not known what that was. */
  add(mark: number): void {
    if (mark === 0) return;
    this.marks.push(mark);
    if (this.marks.length > mostRefused) this.marks.shift();
  }
}

interface ThreadNews<Ports> {
  ready(ports: Ports): void;
  /** It has done what it was asked for. */
  done(): void;
  /** It refused to start, or an error that nobody caught ends it. */
  failed(error: ThreadError, refuses: boolean): void;
  /** It has ended, in whatever way. */
  gone(): void;
}

/** @param ports of its run before */
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
