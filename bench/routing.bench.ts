/** Cost of configuration per request: hostports, routes of one edge, rules of one policy; and memory of hostports. */
import { once } from "node:events";
import { systemClock } from "../src/lib/clock.ts";
import type { RoutingTable } from "../src/routing/sites/compiled-site.ts";
import { makeRoutingTable } from "../src/routing/routing-table.ts";
import type { ResourceObject } from "../src/schema/object.ts";
import { startService } from "./support/postern.ts";
import { median, sideBySide, table, verdict } from "./support/report.ts";
import { cpuMicros, start, stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";
import { httpsSite } from "../test/support/routing.ts";

const rounds = 9;
const seconds = 2;
const connections = 16;
const figure = "edge CPU µs/request";
const edges = [
  { name: "10 hostports, 1 route", hostports: 10, routes: 1 },
  { name: "100,000 hostports, 1 route", hostports: 100_000, routes: 1 },
  { name: "10 hostports, 1,000 routes", hostports: 10, routes: 1000 },
];

async function requests(): Promise<void> {
  const service = await startService();
  const children = [];
  const contenders = [];
  const heaps: number[] = [];
  for (const { name, hostports, routes } of edges) {
    const { child, port, heap } = await startEdge(hostports, routes, service.port);
    children.push(child);
    heaps.push(heap);
    const url = `https://bench.localhost:${port}/part-${routes - 1}/x`;
    const pid = child.pid as number;
    // Wait until the garbage of the configuration is collected and the code is compiled.
    await wrk(url, { connections, seconds: 4 });
    const measure = async (): Promise<Record<string, number>> => {
      const before = cpuMicros(pid);
      const { requests: count } = await wrk(url, { connections, seconds });
      return { [figure]: (cpuMicros(pid) - before) / count };
    };
    contenders.push({ name, measure });
  }
  const samples = await sideBySide(contenders, rounds);
  table(
    "1 KiB over HTTPS from a static backend",
    samples,
    edges.slice(1).map(({ name }) => [figure, name, "10 hostports, 1 route", { atMost: 1.2 }]),
  );
  const [few, many] = heaps as [number, number];
  process.stdout.write("\nHeap of the edge\n");
  const bytesEach = (heap: number): number => (heap - few) / (100_000 - 10);
  verdict("bytes per hostport, an edge each", bytesEach(many), { atMost: 1024 });
  const eachRouted = await startEdge(100_000, 1, service.port, "each");
  verdict("the same with a route each", bytesEach(eachRouted.heap), { atMost: 4096 });
  for (const child of [...children, eachRouted.child, service.child]) await stop(child);
}

/** Starts `bench/support/edge-process.ts`. Resolves when it serves, with the bytes of its heap. */
async function startEdge(hostports: number, routes: number, servicePort: number, routed: "first" | "each" = "first") {
  const args = ["bench/support/edge-process.ts", String(hostports), String(routes), String(servicePort), routed];
  const child = start(process.execPath, ["--expose-gc", ...args]);
  const [line] = (await once(child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
  const [port, heap] = line.toString().split(" ").map(Number) as [number, number];
  return { child, port, heap };
}

/** Returns the microseconds of CPU of `decide` for one of `count`, the median of several rounds in this process. */
function decisionCost(count: number, decide: (index: number) => unknown): number {
  const took: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const before = process.cpuUsage();
    for (let index = 0; index < count; index += 1) decide(index);
    const { user, system } = process.cpuUsage(before);
    took.push((user + system) / count);
  }
  return median(took);
}

function loaded(objects: Iterable<Omit<ResourceObject, "account_id" | "revision">>): RoutingTable {
  const at = makeRoutingTable(systemClock);
  at.load(
    1,
    Array.from(objects, (one) => ({ ...one, account_id: "ac_1", revision: 1 })),
  );
  return at;
}

function restriction(): void {
  const rules = Array.from({ length: 10_000 }, (_, index) => ({
    kind: "ip_policy_rule",
    id: `ipr_${index}`,
    doc: {
      ip_policy_id: "ipp_1",
      cidr: `${10 + (index >> 12)}.${(index >> 4) & 255}.${(index & 15) << 4}.0/20`,
      action: "allow",
    },
  }));
  const at = loaded([
    { kind: "ip_policy", id: "ipp_1", doc: {} },
    ...rules,
    {
      kind: "tcp_edge",
      id: "edgtcp_1",
      doc: { hostports: ["a:1"], ip_restriction: { enabled: true, ip_policy_ids: ["ipp_1"] } },
    },
  ]);
  const [site] = at.tcpSites();
  const module = site?.connection[0];
  if (!module) throw new Error("decide: there is no restriction");
  const sources = Array.from(
    { length: 1000 },
    (_, index) => `${10 + (index % 4)}.${index % 256}.${(index * 7) % 256}.9`,
  );
  const cost = decisionCost(200_000, (index) => module.connection?.(sources[index % 1000] as string));
  process.stdout.write("\nIP restriction with 10,000 rules\n");
  verdict("µs per decision", cost, { atMost: 1 });
}

/** Looks up the site and route of a name that is a new string, as in requests. */
function lookUps(): void {
  const total = 100_000;
  const edge = (index: number) => ({
    kind: "https_edge",
    id: `edghts_${index}`,
    doc: { hostports: [`host-${index}.example.com:443`] },
  });
  const at = loaded(Array.from({ length: total }, (_, index) => edge(index)));
  process.stdout.write(`\nLook-ups in a table of ${total} hostports\n`);
  for (const asked of [10, total]) {
    const names = Array.from({ length: 50_000 }, (_, index) =>
      Buffer.from(`host-${(index * 7919) % asked}.example.com`),
    );
    const cost = decisionCost(names.length, (index) => {
      const host = (names[index] as Buffer).toString("latin1");
      if (httpsSite(at, host)?.findRoute("/part/x", "h") !== undefined)
        throw new Error(`look up ${host}: it has no routes`);
    });
    process.stdout.write(`  ${`one of ${asked} names`.padEnd(28)} ${cost.toFixed(2)} µs\n`);
  }
}

restriction();
lookUps();
await requests();
