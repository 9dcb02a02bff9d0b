/**
 * Cost of a login: CPU of a request with a valid session compared with one without the module, and with a token of a
 * client or a machine instead of the session. Memory per session and per token.
 */
import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { systemClock, formatTimestamp } from "../src/lib/clock.ts";
import { unknownIdentity } from "../src/identity/calls/identity.ts";
import { docOf, recordOf, sessionKind } from "../src/identity/sessions/session-records.ts";
import { cookieHash, newAccessToken, newSessionCookie } from "../src/identity/sessions/login-session.ts";
import type { SessionRecord } from "../src/identity/sessions/login-session.ts";
import { makeServiceTokens, serviceTokenKind } from "../src/identity/sessions/service-tokens.ts";
import { makeSessions } from "../src/identity/sessions/sessions.ts";
import { hashToken, newToken, tokenPrefixes } from "../src/lib/tokens.ts";
import type { ResourceObject } from "../src/schema/object.ts";
import { openBrowser } from "../test/support/browser.ts";
import type { Browser } from "../test/support/browser.ts";
import { discover, register, tokensFor } from "../test/support/oauth-client.ts";
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
const { server, call, url, stopService } = await startLoginServer(providers.baseUrl);
const browser = openBrowser({ ca: readFileSync(server.caFile, "utf8") });
const arrived = await browser.visit(url("login"));
if (arrived.status !== 200) throw new Error(`log in: ${arrived.status} ${arrived.text}`);
const cookie = `Cookie: ${browser.cookies(url("login"))}`;
const asClient = await clientOf(openBrowser({ ca: readFileSync(server.caFile, "utf8") }));
const accessToken = (await tokensFor(browser, asClient)).access_token;
const machine = await call<{ token: string }>("POST", "/service_tokens", { name: "bench", acl: ["login.localhost"] });
const samples = await interleave(
  (
    [
      ["without a login", "bare", cookie],
      ["with a session", "login", cookie],
      ["with an access token", "login", `Authorization: Bearer ${accessToken}`],
      ["with a service token", "login", `Authorization: Bearer ${machine.token}`],
    ] as const
  ).map(([name, host, header]) => ({
    name,
    async measure() {
      const before = cpuMicros(server.pid);
      const { requests, p99Ms } = await wrk(url(host), { connections, seconds, headers: [header] });
      return { [figure]: (cpuMicros(server.pid) - before) / requests, "p99 ms": p99Ms };
    },
  })),
  rounds,
);
table("1 KiB over HTTPS to an address", samples);
const costs = [...samples.values()].map((rows) => rows.map((row) => row[figure] as number));
const ratio = (one: number, other: number): number =>
  median((costs[one] ?? []).map((cost, round) => cost / (costs[other]?.[round] as number)));
verdict("CPU with a session / without the module", ratio(1, 0), { atMost: 1.15 });
verdict("CPU with an access token / with a session", ratio(2, 1), { atMost: 1.05 });
verdict("CPU with a service token / with a session", ratio(3, 1), { atMost: 1.05 });
await server.stop();
await stopService();
await providers.stop();

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
collect();
const now = systemClock.now();
const book = makeSessions(systemClock, () => {});
let last = "";
measureMemory("session", (number) => {
  last = newSessionCookie();
  put(recordFor(number, cookieHash(last)));
});
measureMemory("access token, with its login", (number) => {
  const grant = { client: `dynamic:${cookieHash(number)}`, name: "Client", scopes: ["access"], audience: "edghtsrt_1" };
  put({ ...recordFor(`t${number}`, cookieHash(newAccessToken())), grant: { ...grant, issuedAt: now } });
});
const machines = makeServiceTokens(systemClock, () => {});
measureMemory("service token", (number) => putMachine(`s${number}`));
measureMemory("service token, after its first request", (number) => machines.find(putMachine(`u${number}`)), 1280);

function putMachine(number: string): string {
  const token = newToken(tokenPrefixes.service);
  const id = `svctok_0123456789a${number}bcdefghij`;
  const doc = {
    name: `machine-${number}`,
    token_hash: hashToken(token).toString("hex"),
    acl: [`app${number}.example.com/api`],
    scopes: [],
    expires_at: null,
    previous_token_hash: "",
    previous_expires_at: null,
  };
  const text = JSON.stringify({ kind: serviceTokenKind, id, account_id: "ac_1", revision: 1, doc });
  machines.change(id, JSON.parse(text) as ResourceObject);
  return token;
}

function measureMemory(what: string, add: (number: string) => unknown, atMost = 1024): void {
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < sessions; at += 1) add(String(at).padStart(6, "0"));
  collect();
  verdict(`bytes of heap per ${what}`, (process.memoryUsage().heapUsed - before) / sessions, { atMost });
}

/** Parsed separately, as from the connection, so that two sessions share no memory. */
function put(record: SessionRecord): void {
  const doc = { ...docOf(record), last_active: formatTimestamp(now) };
  const text = JSON.stringify({ kind: sessionKind, id: record.id, account_id: record.accountId, revision: 1, doc });
  const read = recordOf(JSON.parse(text) as ResourceObject);
  if (read) book.put(read);
}

function recordFor(number: string, hash: string): SessionRecord {
  return {
    id: `appses_0123456789a${number}bcdefghij`,
    accountId: "ac_1",
    userId: `appusr_0123456789a${number}bcdefghij`,
    cookieHash: hash,
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
}

async function clientOf(one: Browser) {
  const { server: metadata, resource } = await discover(one, url("login"));
  return { server: metadata, resource, clientId: await register(one, metadata) };
}

const microsOf = (look: () => unknown): string => {
  const started = performance.now();
  for (let at = 0; at < sessions; at += 1) look();
  return `${(((performance.now() - started) * 1000) / sessions).toFixed(2)} µs`;
};
process.stdout.write(`  look-up among ${2 * sessions}: ${microsOf(() => book.find(last))} when seen lately, else `);
process.stdout.write(`${microsOf(() => cookieHash(last))} more for the hash\n`);
