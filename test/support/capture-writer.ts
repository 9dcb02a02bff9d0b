/**
 * A process that captures requests in a folder until it is killed, and prints the number of the last stored one. With
 * `full`, it stops after 400 and prints what became of them.
 */
import { writeSync } from "node:fs";
import { CaptureStore } from "../../src/capture/store/capture-store.ts";
import type { CapturedRequest } from "../../src/capture/captured-request.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { randomBytes } from "node:crypto";
import { storeRecord } from "./captured-records.ts";

const [directory = "", first = "0", mode] = process.argv.slice(2);
// A full disk is an error of the call, not a signal.
process.on("SIGXFSZ", () => {});
const keys = [{ id: "0a", key: Buffer.alloc(32, 7) }];
const store = new CaptureStore({ directory, keys, maxBytes: 1e9, clock: systemClock, log: silentLog });
const rule = { hours: 24, redactHeaders: [], redactQuery: [] };

function record(number: number): CapturedRequest {
  return {
    id: `req_${String(number).padStart(9, "0")}`,
    receivedAt: Date.now() * 1000 + (number % 1000),
    nodeId: "n",
    edge: 1,
    accountId: "ac_1",
    siteId: "s",
    routeId: undefined,
    revision: 1,
    request: {
      method: "GET",
      scheme: "https",
      httpVersion: "1.1",
      authority: "a",
      target: "/",
      path: "/",
      headers: [["x-random", randomBytes(100).toString("hex")]],
      redacted: [],
      body: undefined,
      websocket: false,
      upgrade: "",
    },
    connection: { source: "::1", sourcePort: 1, localAddress: undefined, localPort: 1, startedAt: 1, tls: undefined },
    visitor: undefined,
    decision: {
      steps: [],
      outcome: "forwarded",
      status: 200,
      errorCode: undefined,
      backendId: undefined,
      tunnel: undefined,
    },
    upstream: undefined,
    durationMs: 1,
    bytesIn: 0,
    bytesOut: 0,
    cutShort: false,
  };
}

const count = mode === "full" ? 400 : Infinity;
for (let at = 0; at < count; at += 1) {
  const number = Number(first) + at;
  storeRecord(store, record(number), rule);
  if (at % 5 !== 4) continue;
  store.flush();
  writeSync(1, `${number}\n`);
}
store.close();
writeSync(1, `${JSON.stringify(store.counts)}\n`);
