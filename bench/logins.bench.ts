/**
 * Cost of a login: CPU of a request with a valid session compared with one without the module, and memory per session.
 */
import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { systemClock, timestamp } from "../src/lib/clock.ts";
import { unknownIdentity } from "../src/identity/calls/identity.ts";
import { docOf, recordOf, sessionKind } from "../src/identity/sessions/records.ts";
import { cookieHash, newSessionCookie } from "../src/identity/sessions/session.ts";
import type { SessionRecord } from "../src/identity/sessions/session.ts";
import { makeSessions } from "../src/identity/sessions/sessions.ts";
import type { ResourceObject } from "../src/schema/object.ts";
import { openBrowser } from "../test/support/browser.ts";
import { startOAuthProviders } from "../test/support/oauth-providers.ts";
import { startLoginServer } from "./support/login-server.ts";
import { interleave, median, table, verdict } from "./support/report.ts";
import { cpuMicros } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

const rounds = 8;
const seconds = 2;
const connections = 16;
const sessions = 100_000;
const figure = "edge CPU µs/request";

const providers = await startOAuthProviders();
const { server, url, stopService } = await startLoginServer(providers.baseUrl);
const browser = openBrowser({ ca: readFileSync(server.caFile, "utf8") });
const arrived = await browser.visit(url("login"));
if (arrived.status !== 200) throw new Error(`log in: ${arrived.status} ${arrived.text}`);
const cookie = `Cookie: ${browser.cookies(url("login"))}`;
const samples = await interleave(
  (["bare", "login"] as const).map((host) => ({
    name: host === "bare" ? "without a login" : "with a session",
    async measure() {
      const before = cpuMicros(server.pid);
      const { requests, p99Ms } = await wrk(url(host), { connections, seconds, headers: [cookie] });
      return { [figure]: (cpuMicros(server.pid) - before) / requests, "p99 ms": p99Ms };
    },
  })),
  rounds,
);
table("1 KiB over HTTPS to an address", samples);
const costs = [...samples.values()].map((rows) => rows.map((row) => row[figure] as number));
const ratios = (costs[1] ?? []).map((cost, round) => cost / (costs[0]?.[round] as number));
verdict("CPU with a session / without the module", median(ratios), { atMost: 1.15 });
await server.stop();
await stopService();
await providers.stop();

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const book = makeSessions(systemClock, () => {});
collect();
const before = process.memoryUsage().heapUsed;
const now = systemClock.now();
let last = "";
for (let at = 0; at < sessions; at += 1) {
  last = newSessionCookie();
  const number = String(at).padStart(6, "0");
  const record: SessionRecord = {
    id: `appses_0123456789a${number}bcdefghij`,
    accountId: "ac_1",
    userId: `appusr_0123456789a${number}bcdefghij`,
    cookieHash: cookieHash(last),
    realm: "abcdefgh",
    host: "app.example.com",
    siteId: "edghts_1",
    routeId: "edghtsrt_1",
    providerName: "GitHub",
    providerUrl: "https://github.com",
    clientId: "client",
    loginAt: now,
    lastActive: now,
    checkedAt: now,
    scopes: [],
    identity: {
      ...unknownIdentity,
      subject: number,
      email: `user${number}@example.com`,
      name: `User ${number}`,
      username: `user${number}`,
    },
    accessToken: "",
    refreshToken: "",
    idToken: "",
    maximumDuration: 0,
    inactivityTimeout: 0,
  };
  // Parsed separately, as from the connection, so that two sessions share no memory.
  const doc = { ...docOf(record), last_active: timestamp(now) };
  const text = JSON.stringify({ kind: sessionKind, id: record.id, account_id: record.accountId, revision: 1, doc });
  const read = recordOf(JSON.parse(text) as ResourceObject);
  if (read) book.put(read);
}
collect();
verdict("bytes of heap per session", (process.memoryUsage().heapUsed - before) / sessions, { atMost: 1024 });
const microsOf = (look: () => unknown): string => {
  const started = performance.now();
  for (let at = 0; at < sessions; at += 1) look();
  return `${(((performance.now() - started) * 1000) / sessions).toFixed(2)} µs`;
};
process.stdout.write(`  look-up among ${sessions}: ${microsOf(() => book.find(last))} when seen lately, else `);
process.stdout.write(`${microsOf(() => cookieHash(last))} more for the hash\n`);
