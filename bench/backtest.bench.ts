/** Requests that a backtest tries for each second of CPU, with their records read from the disk. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CaptureStore } from "../src/capture/store/capture-store.ts";
import { readRecords } from "../src/capture/store/read-records.ts";
import { Backtest } from "../src/backtest/backtest.ts";
import { systemClock } from "../src/lib/clock.ts";
import { silentLog } from "../src/lib/log.ts";
import type { RoutingChange } from "../src/routing/planes/messages.ts";
import type { ResourceObject } from "../src/schema/object.ts";
import { storeRecord } from "../test/support/captured-records.ts";
import { backtestSettings, recordOf } from "../test/support/recorded-traffic.ts";
import { interleave, median, table, verdict } from "./support/report.ts";

const perSecond = "requests per CPU second";
const rounds = 7;
const count = 40_000;
const accountId = "ac_1";
const startedAt = 1_800_000_000_000_000;
const directory = mkdtempSync(join(tmpdir(), "postern-backtest-"));
const places = { directory, keys: [{ id: "0a", key: Buffer.alloc(32, 7) }] };
const store = new CaptureStore({ ...places, maxBytes: 1e9, clock: systemClock, log: silentLog });
const rule = { hours: 24, redactHeaders: [], redactQuery: [] };
const [siteId, routeId] = ["edghts_1", "edghtsrt_1"];
for (let at = 0; at < count; at += 1) {
  storeRecord(store, recordOf({ at, accountId, siteId, routeId, receivedAt: startedAt + at * 1000 }), rule);
}
store.close();

const object = (kind: string, id: string, doc: ResourceObject["doc"], revision = 1): ResourceObject => ({
  kind,
  id,
  account_id: accountId,
  revision,
  doc,
});
const allow = (cidr: string, revision?: number): ResourceObject =>
  object("ip_policy_rule", "ipr_1", { ip_policy_id: "ipp_1", cidr, action: "allow" }, revision);
const objects = [
  object("static_backend", "bkdsc_1", { address: "127.0.0.1:1", tls: { enabled: false } }),
  object("https_edge", siteId, { hostports: ["app.example.com:443"] }),
  object("ip_policy", "ipp_1", {}),
  allow("192.0.2.0/24"),
  object("https_edge_route", routeId, {
    edge_id: siteId,
    match_type: "path_prefix",
    match: "/",
    backend: { enabled: true, backend_id: "bkdsc_1" },
    ip_restriction: { enabled: true, ip_policy_ids: ["ipp_1"] },
  }),
];
const narrower: RoutingChange = {
  kind: "ip_policy_rule",
  id: "ipr_1",
  account_id: accountId,
  object: allow("192.0.2.0/25", 2),
};

const contenders = [
  { name: "nothing changed", changes: [], different: 0 },
  { name: "a rule of an IP policy changed", changes: [narrower], different: count * 0.36 },
].map(({ name, changes, different }) => ({
  name,
  async measure() {
    const backtest = new Backtest({
      accountId,
      revision: 1,
      objects,
      changes,
      settings: backtestSettings,
      endpoints: [],
    });
    const before = process.cpuUsage();
    for await (const record of readRecords(places, { accountId })) await backtest.try(record);
    const { user, system } = process.cpuUsage(before);
    const { report } = backtest;
    if (report.tried !== count || report.different !== different) throw new Error(JSON.stringify(report));
    return { [perSecond]: (count / (user + system)) * 1e6 };
  },
}));
const samples = await interleave(contenders, rounds);
table("a route with an IP policy, 40,000 captured requests", samples);
for (const { name } of contenders) {
  const figures = (samples.get(name) ?? []).map((sample) => sample[perSecond] as number);
  verdict(`${perSecond}: ${name}`, median(figures), { atLeast: 25_000 });
}
rmSync(directory, { recursive: true });
