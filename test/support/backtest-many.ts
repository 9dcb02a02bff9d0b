/**
 * The main test of backtests with many requests: `node test/support/backtest-many.ts [REQUESTS]`. Sends generated
 * requests of every kind to an edge, tries their records with the unchanged configuration, and prints the report and
 * the number of requests that one core tries in a second. Exits with code 1 if anything is different or unknown.
 */
import { Backtest } from "../../src/backtest/backtest.ts";
import { startBusyEdge } from "./busy-edge.ts";
import { backtestSettings, recordTraffic } from "./recorded-traffic.ts";

const wanted = Number(process.argv[2] ?? 100_000);
/** Requests in flight at a time. */
const together = 8;

const busy = await startBusyEdge();
await busy.ready();
const traffic = recordTraffic();
while (traffic.records.length < wanted) {
  const visits = busy.visits.filter(({ name }) => name !== "explanation");
  const next = visits[Symbol.iterator]();
  const visitor = async (): Promise<void> => {
    for (const visit of next) await visit.run().catch(() => {});
  };
  await Promise.all(Array.from({ length: together }, visitor));
}
traffic.stop();
const { objects } = busy.edge;
const endpoints = await busy.endpoints();
await busy.stop();

const records = traffic.records.toSorted((one, other) => one.receivedAt - other.receivedAt);
const revision = Math.max(...objects.map((one) => one.revision));
const settings = backtestSettings;
const backtest = new Backtest({ accountId: "ac_1", revision, objects, changes: [], settings, endpoints });
const began = process.cpuUsage();
for (const record of records) {
  const trying = backtest.try(record);
  if (trying !== undefined) await trying;
}
const { user, system } = process.cpuUsage(began);
const { report } = backtest;
const perSecond = Math.round((report.tried / (user + system)) * 1e6);
process.stdout.write(`${JSON.stringify({ ...report, perSecond }, undefined, 2)}\n`);
process.exitCode = report.same === report.tried && report.differentlyRecorded === 0 ? 0 : 1;
