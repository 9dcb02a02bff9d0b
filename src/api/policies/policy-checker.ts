/** Checks policies in a separate thread. A check that takes too long is terminated while the API continues (D9). */
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { WorkerFailure, startWorker } from "../../identity/worker/worker-client.ts";
import { makeShares } from "../operation/shares.ts";
import type { PolicyCalls, PolicyCheck } from "./policy-checks.ts";

/** Maximum number of running and waiting checks per key. */
const checksPerKey = 2;
const maxWaiting = 64;
const timeoutMs = 10_000;
const maxHeapMb = 256;

const workerFile = new URL("./check-worker.ts", import.meta.url);

/**
 * @param file of the thread
 * @returns a function that resolves with the body of the response
 */
export function makePolicyChecker(
  clock: Clock,
  log: Log,
  file = workerFile,
): (keyId: string, check: PolicyCheck) => Promise<string> {
  const worker = startWorker<PolicyCalls>({ file, clock, log, maxWaiting, maxHeapMb });
  const shares = makeShares(checksPerKey);
  const ask = (check: PolicyCheck): Promise<string> => worker.call("checkPolicy", check, { timeoutMs });
  return async (keyId, check) => {
    try {
      // Another check may have caused the termination of the thread.
      return await shares.take(keyId, () =>
        ask(check).catch((error: unknown) => (hasDied(error) ? ask(check) : rejectCheck(error))),
      );
    } catch (error) {
      if (!(error instanceof WorkerFailure) || error.why === "failed") throw error;
      const isFull = error.why === "full";
      throw new Refusal(
        isFull ? "work_limit" : "work_too_long",
        isFull
          ? `check a policy: ${maxWaiting} checks are already waiting`
          : `check a policy: stopped because it took longer than ${timeoutMs / 1000} s`,
      );
    }
  };
}

function hasDied(error: unknown): boolean {
  return error instanceof WorkerFailure && error.why === "died";
}

function rejectCheck(error: unknown): never {
  throw error;
}
