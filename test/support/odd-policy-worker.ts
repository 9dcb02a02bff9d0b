/** Replaces the thread that checks policies. The text of a policy determines the outcome of the check. */
import { parentPort } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { serveCalls } from "../../src/identity/worker/serve-calls.ts";
import type { PolicyCheck } from "../../src/api/policies/policy-checks.ts";

const calls = {
  checkPolicy({ text }: PolicyCheck): string {
    if (text !== "hangs") return `checked ${text}`;
    for (;;);
  },
};

if (parentPort) serveCalls(parentPort as MessagePort, calls);
