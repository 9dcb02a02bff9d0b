/**
 * The API: CPU of a GET by id and of a list of 100, compared with bare node:http that sends the same bytes. Durable
 * POSTs are compared with one fsync each. All three are compared with a typical Express + better-sqlite3 server.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { get } from "node:http";
import { api, many } from "./support/api-client.ts";
import { apiKey, startServer } from "./support/postern.ts";
import { interleave, table } from "./support/report.ts";
import { cpuMicros, freePort, listening, start, stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

const connections = 64;
const rounds = 5;
const listed = 100;
const [postern, bare, bareSqlite, express] = [
  "postern",
  "bare node:http",
  "bare node:http and SQLite",
  "Express, better-sqlite3",
] as const;
const credentials = [`Authorization: Bearer ${apiKey}`, "Service-Version: 2"];
const directory = mkdtempSync(join(tmpdir(), "postern-bench-"));

/** Returns the response, with header fields that node:http does not set itself. */
function recorded(url: string): Promise<{ readonly headers: readonly string[]; readonly body: string }> {
  const own = new Set(["date", "connection", "keep-alive"]);
  return new Promise((resolve, reject) => {
    get(url, { headers: { authorization: `Bearer ${apiKey}`, "service-version": "2" } }, (response) => {
      const headers: string[] = [];
      for (let at = 0; at < response.rawHeaders.length; at += 2) {
        if (!own.has((response.rawHeaders[at] as string).toLowerCase()))
          headers.push(response.rawHeaders[at] as string, response.rawHeaders[at + 1] as string);
      }
      let body = "";
      response.on("data", (bytes: Buffer) => (body += bytes.toString()));
      response.on("end", () => resolve({ headers, body }));
    }).on("error", reject);
  });
}

async function startPeer(script: string, ...args: readonly string[]) {
  const port = await freePort();
  const child = start(process.execPath, [`bench/support/${script}`, String(port), ...args]);
  await listening(port);
  return { child, pid: child.pid as number, url: `http://127.0.0.1:${port}` };
}

/** Creates the objects, and returns the path of one. */
async function fill(base: string): Promise<string> {
  const ids: string[] = [];
  await many(listed + 10, async (index) => {
    ids.push((await api<{ id: string }>(base, "POST", "/bot_users", { name: `read me ${index}` })).id);
  });
  return `/bot_users/${ids[0]}`;
}

const server = await startServer();
const expressApi = await startPeer("express-api.ts", join(directory, "express.db"));
const onePath = { [postern]: await fill(server.apiUrl), [express]: await fill(expressApi.url) };

async function compareReads(title: string, path: string, expressPath: string): Promise<void> {
  const url = `${server.apiUrl}${path}`;
  const same = await startPeer("bare-api.ts", "get", JSON.stringify(await recorded(url)));
  const reading = (name: string, pid: number, of: string) => ({
    name,
    async measure() {
      const before = cpuMicros(pid);
      const result = await wrk(of, { connections, seconds: 3, headers: credentials });
      return { "CPU µs/GET": (cpuMicros(pid) - before) / result.requests, "GET/s": result.perSecond };
    },
  });
  await wrk(url, { connections, seconds: 2, headers: credentials });
  const reads = await interleave(
    [
      reading(postern, server.pid, url),
      reading(bare, same.pid, same.url),
      reading(express, expressApi.pid, `${expressApi.url}${expressPath}`),
    ],
    rounds,
  );
  table(title, reads, [
    ["CPU µs/GET", postern, bare, { atMost: 1.3 }],
    ["GET/s", postern, express, { atLeast: 1 }],
  ]);
  await stop(same.child);
}
await compareReads("GET by id", onePath[postern], onePath[express]);
await compareReads(`List of ${listed}`, "/bot_users", "/bot_users");

const sync = await startPeer("bare-api.ts", "post", join(directory, "bare.db"));
const writing = (name: string, pid: number, base: string, count = connections) => ({
  name,
  async measure() {
    const before = cpuMicros(pid);
    const script = "bench/support/post-bots.lua";
    const result = await wrk(`${base}/bot_users`, { connections: count, seconds: 3, headers: credentials, script });
    return {
      "durable POST/s": result.perSecond,
      "CPU µs/POST": (cpuMicros(pid) - before) / result.requests,
      "p50 ms": result.p50Ms,
      "p99 ms": result.p99Ms,
    };
  },
});
const alone = `${postern}, one connection`;
await wrk(`${server.apiUrl}/bot_users`, {
  connections,
  seconds: 2,
  headers: credentials,
  script: "bench/support/post-bots.lua",
});
const writes = await interleave(
  [
    writing(postern, server.pid, server.apiUrl),
    // Sequential writes cannot be grouped: each has a separate commit and fsync.
    writing(alone, server.pid, server.apiUrl, 1),
    writing(bareSqlite, sync.pid, sync.url),
    writing(express, expressApi.pid, expressApi.url),
  ],
  rounds,
);
table(
  `Durable POST, ${connections} connections`,
  writes,
  [alone, bareSqlite, express].map((peer) => ["durable POST/s", postern, peer, { atLeast: peer === express ? 4 : 5 }]),
);
for (const child of [server.child, sync.child, expressApi.child]) await stop(child);
