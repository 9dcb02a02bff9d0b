/** What modules and configuration cost per request: CPU of the edge with each module against a route without. */
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../src/lib/clock.ts";
import { makeRoutingTable } from "../src/routing/table.ts";
import { sign } from "../src/webhooks/verify.ts";
import { api } from "./support/api-client.ts";
import { authtoken, startServer, startService } from "./support/postern.ts";
import { interleave, median, ratio, table, verdict } from "./support/report.ts";
import { cpuMicros, start, stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

interface Named {
  readonly id: string;
}

const rounds = 5;
const seconds = 2;
const connections = 32;
const figure = "edge CPU µs/request";

const service = await startService();

async function cost(pid: number, url: string, script?: string): Promise<Record<string, number>> {
  const before = cpuMicros(pid);
  const headers = ["User-Agent: Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0", "Accept-Encoding: gzip"];
  const { requests } = await wrk(url, { connections, seconds, headers, ...(script && { script }) });
  return { [figure]: (cpuMicros(pid) - before) / requests };
}

async function modules(): Promise<void> {
  const server = await startServer();
  const args = ["http", String(service.port), "--label", "app=bench", "--server", `localhost:${server.agentPort}`];
  const agent = start(process.execPath, ["bin/postern.js", ...args, "--ca", server.caFile], {
    POSTERN_AUTHTOKEN: authtoken,
  });
  const call = <T>(method: string, path: string, body?: unknown): Promise<T> =>
    api<T>(server.apiUrl, method, path, body);
  while ((await call<{ tunnels: unknown[] }>("GET", "/tunnels")).tunnels.length === 0);
  const backend = await call<Named>("POST", "/backends/tunnel_group", { labels: { app: "bench" } });
  const policy = await call<Named>("POST", "/ip_policies", {});
  for (const cidr of ["127.0.0.0/8", "192.0.2.0/24", "2001:db8::/32"]) {
    await call("POST", "/ip_policy_rules", { ip_policy_id: policy.id, cidr, action: "allow" });
  }
  const edge = await call<Named>("POST", "/edges/https", { hostports: [`bench.localhost:${server.httpsPort}`] });

  const cheap = {
    ip_restriction: { ip_policy_ids: [policy.id] },
    user_agent_filter: { allow: [], deny: ["(?i)bot", "curl/[0-7]\\."] },
    circuit_breaker: {},
    request_headers: { add: { "x-client": "${conn.client_ip}", "x-env": "bench" }, remove: ["x-debug"] },
    response_headers: { add: { "x-served-by": "postern" }, remove: ["x-powered-by"] },
  };
  const webhook = { webhook_verification: { provider: "github", secret: "s" } };
  const blocks: Record<string, object> = {
    "no module": {},
    ...Object.fromEntries(Object.entries(cheap).map(([name, config]) => [name, { [name]: config }])),
    "all of these": cheap,
    compression: { compression: {} },
    "POST, no module": {},
    webhook_verification: webhook,
  };
  const body = JSON.stringify({ ref: "main", commits: Array.from({ length: 10 }, (_, at) => ({ id: at })) });
  const signature = sign("github", { secret: "s", body: Buffer.from(body), url: "", now: 0 }).headers;
  const script = join(mkdtempSync(join(tmpdir(), "postern-bench-")), "post.lua");
  const lines = Object.entries(signature).map(([name, value]) => `wrk.headers["${name}"] = "${value}"`);
  writeFileSync(script, [`wrk.method = "POST"`, `wrk.body = '${body}'`, ...lines, ""].join("\n"));

  const contenders = [];
  for (const [name, config] of Object.entries(blocks)) {
    const match = `/${name.replaceAll(/[^a-z]+/gi, "-")}`;
    const given = { match_type: "path_prefix", match, backend: { backend_id: backend.id }, ...config };
    await call("POST", `/edges/https/${edge.id}/routes`, given);
    const url = `https://bench.localhost:${server.httpsPort}${match}`;
    const posts = name.startsWith("POST") || name.startsWith("webhook");
    contenders.push({ name, measure: () => cost(server.pid, url, posts ? script : undefined) });
  }
  await wrk(`https://bench.localhost:${server.httpsPort}/no-module`, { connections, seconds });
  const samples = await interleave(contenders, rounds);
  table("1 KiB over HTTPS through a tunnel, with one module on the route", samples);
  const of = (name: string): number => median((samples.get(name) ?? []).map((row) => row[figure] as number));
  process.stdout.write("\nCPU with the module / without\n");
  for (const name of Object.keys(blocks)) {
    const without = name === "webhook_verification" ? "POST, no module" : "no module";
    if (name !== without && name !== "POST, no module") {
      process.stdout.write(`  ${name.padEnd(28)} ${(of(name) / of(without)).toFixed(2)}\n`);
    }
  }
  ratio(samples, figure, "all of these", "no module", { atMost: 1.25 });
  await stop(agent);
  await server.stop();
}

async function routing(): Promise<void> {
  const edges = [
    { name: "10 hostports, 1 route", hostports: 10, routes: 1 },
    { name: "100,000 hostports, 1 route", hostports: 100_000, routes: 1 },
    { name: "10 hostports, 1,000 routes", hostports: 10, routes: 1000 },
  ];
  const children = [];
  const contenders = [];
  for (const { name, hostports, routes } of edges) {
    const args = ["bench/support/edge-process.ts", String(hostports), String(routes), String(service.port)];
    const child = start(process.execPath, args);
    const [line] = (await once(child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
    children.push(child);
    const url = `https://bench.localhost:${Number(line)}/part-${routes - 1}/x`;
    await wrk(url, { connections, seconds: 1 });
    contenders.push({ name, measure: () => cost(child.pid as number, url) });
  }
  const samples = await interleave(contenders, rounds);
  table("1 KiB over HTTPS from a static backend", samples);
  for (const { name } of edges.slice(1)) ratio(samples, figure, name, "10 hostports, 1 route", { atMost: 1.2 });
  for (const child of children) await stop(child);
}

/** Decisions of an IP restriction, in this process. */
function decisions(): void {
  const at = makeRoutingTable(systemClock);
  const rules = Array.from({ length: 10_000 }, (_, index) => ({
    kind: "ip_policy_rule",
    id: `ipr_${index}`,
    doc: {
      ip_policy_id: "ipp_1",
      cidr: `${10 + (index >> 12)}.${(index >> 4) & 255}.${(index & 15) << 4}.0/20`,
      action: "allow",
    },
  }));
  const given = [
    { kind: "ip_policy", id: "ipp_1", doc: {} },
    ...rules,
    {
      kind: "tcp_edge",
      id: "edgtcp_1",
      doc: { hostports: ["a:1"], ip_restriction: { enabled: true, ip_policy_ids: ["ipp_1"] } },
    },
  ];
  at.load(
    1,
    given.map((one) => ({ ...one, account_id: "ac_1", revision: 1 })),
  );
  const [site] = at.tcpSites();
  const restriction = site?.connection[0];
  if (!restriction) throw new Error("decide: there is no restriction");
  const sources = Array.from(
    { length: 1000 },
    (_, index) => `${10 + (index % 4)}.${index % 256}.${(index * 7) % 256}.9`,
  );
  const took: number[] = [];
  for (let round = 0; round < 7; round += 1) {
    const began = performance.now();
    for (let turn = 0; turn < 200; turn += 1) for (const source of sources) restriction.connection?.(source);
    took.push(((performance.now() - began) * 1000) / (200 * sources.length));
  }
  process.stdout.write("\nIP restriction with 10,000 rules\n");
  verdict("µs per decision", median(took), { atMost: 1 });
}

decisions();
await modules();
await routing();
await stop(service.child);
