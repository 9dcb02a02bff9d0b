/**
 * Cost of each module per request: CPU of the edge with the module, compared with a route without it at the same time.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { signSample } from "../src/webhooks/webhook-verification.ts";
import { api } from "./support/api-client.ts";
import { startLabelledAgent } from "./support/labelled-agent.ts";
import { startServer, startService } from "./support/postern.ts";
import { interleave, median, table, verdict } from "./support/report.ts";
import { cpuMicros, stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

interface Named {
  readonly id: string;
}

/** A separate server with an agent, and a route for each set of modules. */
interface Side {
  readonly pid: number;
  url(modules: string): string;
  stop(): Promise<void>;
}

const rounds = 8;
const seconds = 2;
const connections = 16;
const withModule = "edge CPU µs/request";
const without = "without";

/** Modules that only decide or edit a header. */
const cheap = (policyId: string): Readonly<Record<string, object>> => ({
  ip_restriction: { ip_policy_ids: [policyId] },
  user_agent_filter: { allow: [], deny: ["(?i)bot", "curl/[0-7]\\."] },
  circuit_breaker: {},
  request_headers: { add: { "x-client": "${conn.client_ip}", "x-env": "bench" }, remove: ["x-debug"] },
  response_headers: { add: { "x-served-by": "postern" }, remove: ["x-powered-by"] },
});
const together = "all of these";
const dear = {
  country_restriction: { allow: [], deny: ["AQ"] },
  compression: {},
  webhook_verification: { provider: "github", secret: "s" },
};
const gzipAlone = "compression by gzip";
const names = [...Object.keys(cheap("")), together, ...Object.keys(dear), gzipAlone];
const bare = "no module";

function blocksOf(name: string, policyId: string): object {
  const blocks: Readonly<Record<string, object>> = { ...cheap(policyId), ...dear };
  if (name === together) return cheap(policyId);
  if (name === gzipAlone) return { compression: {} };
  return name === bare ? {} : { [name]: blocks[name] };
}

function pathOf(name: string): string {
  return `/${name.replaceAll(" ", "-")}`;
}

async function startSide(servicePort: number): Promise<Side> {
  const server = await startServer();
  const { agent, backendId } = await startLabelledAgent(server, servicePort);
  const call = <T>(method: string, path: string, body?: unknown): Promise<T> =>
    api<T>(server.apiUrl, method, path, body);
  const policy = await call<Named>("POST", "/ip_policies", {});
  for (const cidr of ["127.0.0.0/8", "192.0.2.0/24", "2001:db8::/32"]) {
    await call("POST", "/ip_policy_rules", { ip_policy_id: policy.id, cidr, action: "allow" });
  }
  const edge = await call<Named>("POST", "/edges/https", { hostports: [`bench.localhost:${server.httpsPort}`] });
  for (const name of [bare, ...names]) {
    const given = { match_type: "path_prefix", match: pathOf(name), backend: { backend_id: backendId } };
    await call("POST", `/edges/https/${edge.id}/routes`, { ...given, ...blocksOf(name, policy.id) });
  }
  const url = (name: string): string => `https://bench.localhost:${server.httpsPort}${pathOf(name)}`;
  await wrk(url(bare), { connections, seconds });
  return {
    pid: server.pid,
    url,
    async stop() {
      await stop(agent);
      await server.stop();
    },
  };
}

/** Returns a wrk script that posts requests with a valid signature for `webhook_verification`. */
function signedPost(): string {
  const body = JSON.stringify({ ref: "main", commits: Array.from({ length: 10 }, (_, at) => ({ id: at })) });
  const signature = signSample("github", { secret: "s", body: Buffer.from(body), url: "", now: 0 }).headers;
  const headers = Object.entries(signature).map(([name, value]) => `wrk.headers["${name}"] = "${value}"`);
  const script = join(mkdtempSync(join(tmpdir(), "postern-bench-")), "post.lua");
  writeFileSync(script, [`wrk.method = "POST"`, `wrk.body = '${body}'`, ...headers, ""].join("\n"));
  return script;
}

/** @param accepted codings. Default: those of browsers */
async function cost(
  { pid, url }: Side,
  name: string,
  script: string | undefined,
  accepted = "gzip, deflate, br, zstd",
): Promise<number> {
  const before = cpuMicros(pid);
  const headers = ["User-Agent: Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0", `Accept-Encoding: ${accepted}`];
  const { requests } = await wrk(url(name), { connections, seconds, headers, ...(script && { script }) });
  return (cpuMicros(pid) - before) / requests;
}

const service = await startService();
let [one, other] = [await startSide(service.port), await startSide(service.port)] as const;
const script = signedPost();
const contenders = names.map((name) => ({
  name,
  async measure() {
    const posted = name === "webhook_verification" ? script : undefined;
    const accepted = name === gzipAlone ? "gzip" : undefined;
    const [its, none] = await Promise.all([cost(one, name, posted, accepted), cost(other, bare, posted, accepted)]);
    // Alternate the sides, so that a difference between the servers does not count as the module's.
    if (name === names.at(-1)) [one, other] = [other, one];
    return { [withModule]: its, [without]: none };
  },
}));
const samples = await interleave(contenders, rounds);
table("1 KiB over HTTPS through a tunnel, with one module on the route", samples);
process.stdout.write("\nCPU with the module / without\n");
const ratioOf = (name: string): number =>
  median((samples.get(name) ?? []).map((row) => (row[withModule] as number) / (row[without] as number)));
for (const name of names) process.stdout.write(`  ${name.padEnd(28)} ${ratioOf(name).toFixed(2)}\n`);
verdict("CPU with all cheap modules / without", ratioOf(together), { atMost: 1.25 });
verdict("CPU with compression / without", ratioOf("compression"), { atMost: 1.4 });
for (const side of [one, other]) await side.stop();
await stop(service.child);
