/** The login thread. Each message gets one answer. */
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../../lib/clock.ts";
import { LoginRefusal } from "../calls/identity.ts";
import { startHeartbeat } from "../../lib/heartbeat.ts";
import type { JobAnswer, JobRequest, WorkerData } from "./job-messages.ts";
import { makeJobs } from "./login-jobs.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the body of a worker thread");
const { settings, heart } = workerData as WorkerData;
startHeartbeat(heart);
const jobs = makeJobs({ ...settings, clock: systemClock });

/** Always sends an answer. */
async function answerJob({ call, name, args }: JobRequest): Promise<JobAnswer> {
  try {
    const job = jobs[name] as (...jobArgs: readonly unknown[]) => Promise<unknown>;
    return { call, value: await job(...args) };
  } catch (error) {
    if (error instanceof LoginRefusal) return { call, refusal: error.reason, message: error.message };
    return { call, message: error instanceof Error ? error.message : String(error) };
  }
}

async function serveJob(request: JobRequest): Promise<void> {
  port?.postMessage(await answerJob(request));
}

port.on("message", (request: JobRequest) => void serveJob(request));
