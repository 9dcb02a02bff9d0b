/** A backtest of the configuration in effect finds no difference, whatever the traffic. */
import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { startBusyEdge } from "../support/busy-edge.ts";
import type { BusyEdge } from "../support/busy-edge.ts";
import { backtestOf, recordTraffic } from "../support/recorded-traffic.ts";

let busy: BusyEdge;
let traffic: ReturnType<typeof recordTraffic>;

before(async () => {
  busy = await startBusyEdge();
  await busy.ready();
  traffic = recordTraffic();
  for (const visit of busy.visits) await visit.run().catch(() => {});
});

after(async () => {
  traffic.stop();
  await busy.stop();
});

it("a backtest of the unchanged configuration finds no difference for any module, action and login", async () => {
  const report = await backtestOf(traffic.records, busy.edge.objects, [], await busy.endpoints());
  const { skipped, tried, same, unknown, different, differentlyRecorded } = report;
  // The host of logins is the server's own.
  const ofLogins = traffic.records.filter(({ request }) => request.authority.startsWith("idp.apps.example.com"));
  assert.ok(tried > 40, `only ${tried} requests were tried`);
  assert.deepEqual(
    { skipped, same, unknown, different, differentlyRecorded },
    { skipped: ofLogins.length, same: tried, unknown: 0, different: 0, differentlyRecorded: 0 },
  );
});
