/** Webhooks of 2 KiB that an inbox stores per second with 64 connections, and how many stored ones slow it down. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { sqliteEngine } from "../src/storage/inbox/sqlite-engine.ts";
import { threadSeconds } from "./support/cluster.ts";
import { apiKey, startServer } from "./support/postern.ts";
import { stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

const host = "inbox.localhost";
const wanted = Number(process.argv[3] ?? 1_000_000);
let server = await startServer();

async function call(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(`${server.apiUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, "service-version": "2", "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
  const text = await response.text();
  return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
}

const edge = await call("POST", "/edges/https", { hostports: [`${host}:443`] });
const backend = await call("POST", "/backends/tunnel_group", { labels: { app: "bench" } });
await call("POST", `/edges/https/${String(edge["id"])}/routes`, {
  match_type: "path_prefix",
  match: "/",
  backend: { backend_id: backend["id"] },
  inbox: { dedupe: "json.decode(body).id" },
});

const script = join(import.meta.dirname, "support/post-webhooks.lua");
const accept = (seconds: number, pauseMs = 0) =>
  wrk(`https://${host}:${server.httpsPort}/hook`, {
    connections: 64,
    seconds,
    script,
    env: { PAUSE_MS: `${pauseMs}` },
  });
const list = async (): Promise<number> => {
  const began = performance.now();
  for (let at = 0; at < 50; at += 1) await call("GET", "/inbox_messages?limit=100&state=waiting");
  return (performance.now() - began) / 50;
};
const restart = async (): Promise<number> => {
  await stop(server.child);
  const began = performance.now();
  server = await startServer(server.data);
  return performance.now() - began;
};
const measure = async (what: string): Promise<void> => {
  const before = threadSeconds(server.pid);
  const { perSecond, p50Ms, p99Ms, requests } = await accept(5);
  const micros = [...threadSeconds(server.pid)]
    .map(([name, seconds]) => [`µs of ${name}`, ((seconds - (before.get(name) ?? 0)) * 1e6) / requests] as const)
    .filter(([, each]) => each >= 1);
  // With pauses, the connections send about 4,000 a second.
  const paced = await accept(5, 10);
  const figures = {
    perSecond,
    p50Ms,
    p99Ms,
    pacedPerSecond: paced.perSecond,
    pacedP50Ms: paced.p50Ms,
    pacedP99Ms: paced.p99Ms,
    listMs: await list(),
    startMs: await restart(),
  };
  const shown = [...Object.entries(figures), ...micros].map(([name, value]) => `${name} ${value.toFixed(1)}`);
  process.stdout.write(`${what}: ${shown.join(", ")}\n`);
};

/** Stores messages without the server: half are delivered, half wait for their next attempt. */
const fill = async (file: string, count: number): Promise<void> => {
  const engine = sqliteEngine(file);
  const now = Date.now();
  const later = now + 86_400_000;
  const like = "from inbox_messages order by seq limit 1";
  const [known] = await engine.read({ sql: `select account_id, route_id ${like}`, parameters: [] });
  const added = "from inbox_messages where request_id = 'req_filled'";
  await engine.write([
    {
      sql: `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?)
        insert into inbox_messages (id, account_id, route_id, state, received_ms, due_ms, attempts, provider, event_type,
          method, path, source, request_id, bytes, status, ended_ms, purge_ms)
        select 'inbox_' || lower(hex(randomblob(13))), ?, ?, case when i % 2 then 'waiting' else 'delivered' end, ?, ?, 1,
          'github', 'push', 'POST', '/hook', '192.0.2.1', 'req_filled', 2300, case when i % 2 then 500 else 200 end,
          case when i % 2 then null else ? end, case when i % 2 then null else ? + i end from n`,
      parameters: [count, known?.["account_id"], known?.["route_id"], now, later, now, later],
    },
    // Shorter than real bodies: their table only grows at its end.
    { sql: `insert into inbox_bodies (seq, sealed) select seq, zeroblob(400) ${added}`, parameters: [] },
    {
      sql: `insert into inbox_attempts (seq, number, at_ms, duration_ms, status, node)
        select seq, 1, received_ms, 5, status, 'bench' ${added}`,
      parameters: [],
    },
    {
      sql: `insert into inbox_keys (route_id, key, until_ms, message_id)
        select route_id, hex(randomblob(21)), ? + seq, id ${added}`,
      parameters: [later],
    },
    { sql: "update inbox_usage set messages = messages + ?, bytes = bytes + ? * 2300", parameters: [count, count] },
  ]);
  await engine.close();
};

await accept(2);
await measure("empty");
await stop(server.child);
const file = join(server.data, "postern-inbox.db");
await fill(file, wanted);
server = await startServer(server.data);
await accept(2);
await measure(`${wanted} more stored`);
process.stdout.write(`database: ${(statSync(file).size / 1e6).toFixed(0)} MB\n`);
await stop(server.child);
