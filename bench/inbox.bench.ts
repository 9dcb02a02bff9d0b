/** Webhooks of 2 KiB that an inbox stores per second with 64 connections, and how many stored ones slow it down. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { apiKey, startServer } from "./support/postern.ts";
import { cpuMicros, stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

const host = "inbox.localhost";
const wanted = Number(process.argv[3] ?? 100_000);
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
const accept = (seconds: number) =>
  wrk(`https://${host}:${server.httpsPort}/hook`, { connections: 64, seconds, script });
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
  const before = cpuMicros(server.pid);
  const { perSecond, p50Ms, p99Ms, requests } = await accept(5);
  const cpuPerWebhook = (cpuMicros(server.pid) - before) / requests;
  const figures = { cpuPerWebhook, perSecond, p50Ms, p99Ms, listMs: await list(), startMs: await restart() };
  const shown = Object.entries(figures).map(([name, value]) => `${name} ${value.toFixed(1)}`);
  process.stdout.write(`${what}: ${shown.join(", ")}\n`);
};

await accept(2);
await measure("empty");
let stored = 0;
while (stored < wanted) stored += (await accept(10)).requests;
await measure(`${stored} stored`);
const { size } = statSync(join(server.data, "postern-inbox.db"));
process.stdout.write(`database: ${(size / 1e6).toFixed(0)} MB\n`);
await stop(server.child);
