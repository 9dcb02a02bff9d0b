/** The thread in which messages of identity providers are read, verified and made. */
import { parentPort } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { identityCalls } from "./calls.ts";
import { serveCalls } from "./serve.ts";

serveCalls(parentPort as MessagePort, identityCalls);
