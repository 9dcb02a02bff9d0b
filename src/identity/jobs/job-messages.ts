/** Runs login jobs in a separate thread, so that traffic never waits for them. */
import { makeContained, runUnattended } from "../../lib/boundary.ts";
import type { Worker } from "node:worker_threads";
import { startThreadProgram } from "../../lib/thread-programs.ts";
import { systemClock } from "../../lib/clock.ts";
import { newHeart } from "../../lib/heartbeat.ts";
import type { Heart } from "../../lib/heartbeat.ts";
import type { Log } from "../../lib/log.ts";
import { hungAfterSeconds, watchThread } from "../../lib/watch-thread.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { LoginRefusalName } from "../calls/identity.ts";
import type { JobSettings, LoginJobs } from "./login-jobs.ts";

export type WorkerSettings = Omit<JobSettings, "clock">;

export interface WorkerData {
  readonly settings: WorkerSettings;
  /** Monitored by everyone who waits for the thread. */
  readonly heart: Heart;
}

export interface JobRequest {
  readonly call: number;
  readonly name: keyof LoginJobs;
  readonly args: readonly unknown[];
}

export interface JobAnswer {
  readonly call: number;
  readonly value?: unknown;
  /** Why the job failed. Without a refusal it is an internal error. */
  readonly refusal?: LoginRefusalName;
  readonly message?: string;
}

/** Maximum number of jobs in progress. */
const maxUnderWay = 4_096;

/** Starts the thread with the first job, and again with the next job after it died. */
export function makeJobThread(settings: WorkerSettings, log: Log): LoginJobs & { close(): void } {
  let worker: Worker | undefined;
  let isClosed = false;
  let lastCall = 0;
  const waiting = new Map<number, { resolve(value: never): void; reject(error: Error): void }>();

  const started = (): Worker => {
    if (worker) return worker;
    const heart = newHeart();
    const workerData: WorkerData = { settings, heart };
    const fresh = startThreadProgram(new URL("./job-worker.ts", import.meta.url), { name: "logins", workerData });
    fresh.unref();
    watchThread({ name: "the login thread", worker: fresh, heart, seconds: hungAfterSeconds, clock: systemClock, log });
    const end = (): void => runUnattended("task", fresh.terminate());
    const answered = ({ call, value, refusal, message = "" }: JobAnswer): void => {
      const one = waiting.get(call);
      waiting.delete(call);
      if (refusal !== undefined) one?.reject(new LoginRefusal(refusal, message));
      else if (message !== "") one?.reject(new Error(message));
      else one?.resolve(value as never);
    };
    fresh.on("message", makeContained("task", answered, end));
    const failed = (error: unknown): void => log.error("the login thread failed", { error });
    fresh.on("error", makeContained("task", failed, end));
    const exited = (): void => {
      if (worker === fresh) worker = undefined;
      for (const { reject } of waiting.values())
        reject(new LoginRefusal("login_unreachable", "the login thread has stopped"));
      waiting.clear();
    };
    fresh.on("exit", makeContained("task", exited, exited));
    return (worker = fresh);
  };
  const ask = <N extends keyof LoginJobs>(name: N, args: Parameters<LoginJobs[N]>): ReturnType<LoginJobs[N]> => {
    const asked = new Promise((resolve, reject) => {
      if (isClosed || waiting.size >= maxUnderWay) {
        reject(new LoginRefusal("login_busy", `${waiting.size} logins are running`));
        return;
      }
      const call = (lastCall += 1);
      waiting.set(call, { resolve, reject });
      started().postMessage({ call, name, args } satisfies JobRequest);
    });
    return asked as ReturnType<LoginJobs[N]>;
  };
  return {
    metadata: (...args) => ask("metadata", args),
    login: (...args) => ask("login", args),
    renew: (...args) => ask("renew", args),
    logoutUrl: (...args) => ask("logoutUrl", args),
    loggedOut: (...args) => ask("loggedOut", args),
    sign: (...args) => ask("sign", args),
    close() {
      isClosed = true;
      if (worker) runUnattended("task", worker.terminate());
    },
  };
}
