/** The login thread. Each message gets one answer. */
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../../lib/clock.ts";
import { LoginRefusal } from "../calls/identity.ts";
import { beat } from "../../lib/heartbeat.ts";
import type { JobAnswer, JobRequest, WorkerData } from "./thread.ts";
import { makeJobs } from "./jobs.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the body of a worker thread");
const { settings, heart } = workerData as WorkerData;
beat(heart);
const jobs = makeJobs({ ...settings, clock: systemClock });

/** Always sends an answer. */
async function answer({ call, name, args }: JobRequest): Promise<JobAnswer> {
  try {
    const job = jobs[name] as (...given: readonly unknown[]) => Promise<unknown>;
    return { call, value: await job(...args) };
  } catch (error) {
    if (error instanceof LoginRefusal) return { call, refusal: error.reason, message: error.message };
    return { call, message: error instanceof Error ? error.message : String(error) };
  }
}

async function serve(request: JobRequest): Promise<void> {
  port?.postMessage(await answer(request));
}

port.on("message", (request: JobRequest) => void serve(request));
