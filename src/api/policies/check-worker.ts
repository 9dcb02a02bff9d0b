/** The thread that checks policies. */
import { parentPort } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { serveCalls } from "../../identity/worker/serve-calls.ts";
import { policyCalls } from "./policy-checks.ts";

serveCalls(parentPort as MessagePort, policyCalls);
