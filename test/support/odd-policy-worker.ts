/** Replaces the thread that checks policies. The text of a policy determines the outcome of the check. */
import { parentPort } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { serveCalls } from "../../src/identity/worker/serve.ts";
import type { PolicyCheck } from "../../src/api/policies/check.ts";

const calls = {
  checkPolicy({ text }: PolicyCheck): string {
    if (text !== "hangs") return `checked ${text}`;
    for (;;);
  },
};

if (parentPort) serveCalls(parentPort as MessagePort, calls);
