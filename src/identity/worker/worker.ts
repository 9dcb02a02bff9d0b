/** The thread that parses, verifies and creates messages of identity providers. */
import { parentPort } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { identityCalls } from "./identity-calls.ts";
import { serveCalls } from "./serve-calls.ts";

serveCalls(parentPort as MessagePort, identityCalls);
