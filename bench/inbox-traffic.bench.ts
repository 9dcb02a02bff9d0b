/** Effect of webhooks that an inbox stores, and of as many connections with other posts, on the latency of other traffic. */
import { join } from "node:path";
import { api } from "./support/api-client.ts";
import { startAgent, startServer, startService } from "./support/postern.ts";
import { interleave, table } from "./support/report.ts";
import { latencyUntil } from "./support/requests.ts";
import { stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

const perSecond = 300;
const seconds = 5;
const rounds = 5;

const service = await startService();
const server = await startServer();
const agent = await startAgent(server, service.port, "bench");
type Created = { readonly id: string };
const edge = await api<Created>(server.apiUrl, "POST", "/edges/https", { hostports: ["inbox.localhost:443"] });
const backend = await api<Created>(server.apiUrl, "POST", "/backends/tunnel_group", { labels: { app: "absent" } });
await api(server.apiUrl, "POST", `/edges/https/${edge.id}/routes`, {
  match_type: "path_prefix",
  match: "/",
  backend: { backend_id: backend.id },
  inbox: { dedupe: "json.decode(body).id" },
});

const script = join(import.meta.dirname, "support/post-webhooks.lua");
const posts = (host: string) => wrk(`https://${host}:${server.httpsPort}/hook`, { connections: 64, seconds, script });

async function beside(load: () => Promise<{ readonly perSecond: number }>) {
  const work = load();
  const target = { name: "bench", port: server.httpsPort, serverName: "bench.localhost" };
  const latency = await latencyUntil(work, target, perSecond);
  return { ...latency, "posts/s": (await work).perSecond };
}

const none = async () => {
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  return { perSecond: 0 };
};
await posts("inbox.localhost");
const samples = await interleave(
  [
    { name: "alone", measure: () => beside(none) },
    { name: "other posts", measure: () => beside(() => posts("bench.localhost")) },
    { name: "webhooks", measure: () => beside(() => posts("inbox.localhost")) },
  ],
  rounds,
);
table(`${perSecond} requests/s beside 64 connections that post 2 KiB`, samples, [
  ["p99 ms", "webhooks", "alone", { atMost: 1.2 }],
  ["p99 ms", "webhooks", "other posts", { atMost: 1.2 }],
]);
for (const child of [agent, server.child, service.child]) await stop(child);
