/** The API: CPU of a GET by id against bare node:http, and durable POSTs against one fsync each. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { get, request } from "node:http";
import { apiKey, startServer } from "./support/postern.ts";
import { interleave, ratio, table } from "./support/report.ts";
import { cpuMicros, freePort, listening, start, stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

const credentials = [`Authorization: Bearer ${apiKey}`, "Service-Version: 2"];
const server = await startServer();

const created = await new Promise<string>((resolve, reject) => {
  const headers = { authorization: `Bearer ${apiKey}`, "service-version": "2", "content-type": "application/json" };
  const sending = request(`${server.apiUrl}/bot_users`, { method: "POST", headers }, (response) => {
    let text = "";
    response.on("data", (bytes: Buffer) => (text += bytes.toString()));
    response.on("end", () => resolve((JSON.parse(text) as { id: string }).id));
  });
  sending.on("error", reject);
  sending.end('{"name":"read me"}');
});
const path = `/bot_users/${created}`;
const answer = await new Promise<{ headers: string[]; body: string }>((resolve, reject) => {
  get(
    `${server.apiUrl}${path}`,
    { headers: { authorization: `Bearer ${apiKey}`, "service-version": "2" } },
    (response) => {
      const own = new Set(["date", "connection", "keep-alive"]);
      const headers: string[] = [];
      for (let at = 0; at < response.rawHeaders.length; at += 2) {
        if (!own.has((response.rawHeaders[at] as string).toLowerCase()))
          headers.push(response.rawHeaders[at] as string, response.rawHeaders[at + 1] as string);
      }
      let body = "";
      response.on("data", (bytes: Buffer) => (body += bytes.toString()));
      response.on("end", () => resolve({ headers, body }));
    },
  ).on("error", reject);
});

const [barePort, syncPort] = [await freePort(), await freePort()];
const bare = start(process.execPath, ["bench/support/bare-api.ts", String(barePort), "get", JSON.stringify(answer)]);
const file = join(mkdtempSync(join(tmpdir(), "postern-bench-")), "bare.db");
const sync = start(process.execPath, ["bench/support/bare-api.ts", String(syncPort), "post", file]);
await Promise.all([listening(barePort), listening(syncPort)]);

const reading = (name: string, pid: number, url: string) => ({
  name,
  async measure() {
    const before = cpuMicros(pid);
    const result = await wrk(url, { connections: 32, seconds: 3, headers: credentials });
    return { "CPU µs/GET": (cpuMicros(pid) - before) / result.requests, "GET/s": result.perSecond };
  },
});
await wrk(`${server.apiUrl}${path}`, { connections: 32, seconds: 2, headers: credentials });
const reads = await interleave(
  [
    reading("postern", server.pid, `${server.apiUrl}${path}`),
    reading("bare node:http", bare.pid as number, `http://127.0.0.1:${barePort}/`),
  ],
  5,
);
table("GET by id", reads);
ratio(reads, "CPU µs/GET", "postern", "bare node:http", { atMost: 1.25 });

const writing = (name: string, url: string, connections = 32) => ({
  name,
  measure: async () => ({
    "durable POST/s": (
      await wrk(url, { connections, seconds: 3, headers: credentials, script: "bench/support/post-bots.lua" })
    ).perSecond,
  }),
});
const writes = await interleave(
  [
    writing("postern", `${server.apiUrl}/bot_users`),
    // One after another nothing can be grouped: each has a commit, and so an fsync, of its own.
    writing("postern, one connection", `${server.apiUrl}/bot_users`, 1),
    writing("bare node:http and SQLite", `http://127.0.0.1:${syncPort}/bot_users`),
  ],
  5,
);
table("Durable POST, 32 connections", writes);
ratio(writes, "durable POST/s", "postern", "postern, one connection", { atLeast: 5 });
ratio(writes, "durable POST/s", "postern", "bare node:http and SQLite", { atLeast: 5 });
for (const child of [server.child, bare, sync]) await stop(child);
