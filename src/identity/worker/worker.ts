/** The thread that parses, verifies and creates messages of identity providers. */
import { parentPort } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { identityCalls } from "./calls.ts";
import { serveCalls } from "./serve.ts";

serveCalls(parentPort as MessagePort, identityCalls);
