/** From the start of the process to ready with 100,000 sessions in the database, and what they take in memory. */
import { get } from "node:http";
import { api } from "./support/api-client.ts";
import { startServer } from "./support/postern.ts";
import type { PosternServer } from "./support/postern.ts";
import { median, verdict } from "./support/report.ts";
import { residentBytes, run } from "./support/system.ts";

const rounds = 3;
const counts = [10_000, 100_000];
/** Garbage of the start is no cost of a session. */
const settleMs = 10_000;

async function untilReady(data?: string): Promise<{ readonly server: PosternServer; readonly ms: number }> {
  const began = performance.now();
  const server = await startServer(data);
  for (;;) {
    if (await isReady(`${server.apiUrl}/readyz`)) return { server, ms: performance.now() - began };
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

function isReady(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asking = get(url, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asking.on("error", () => resolve(false));
  });
}

async function measured(data: string): Promise<{ readonly ms: number; readonly bytes: number }> {
  const { server, ms } = await untilReady(data);
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  const bytes = residentBytes(server.pid);
  await server.stop();
  return { ms, bytes };
}

const { server: first } = await untilReady();
const { data } = first;
const edge = await api<{ id: string }>(first.apiUrl, "POST", "/edges/https", { hostports: ["login.localhost:443"] });
await first.stop();
const empty = await measured(data);
process.stdout.write(`\nStart to ready\n  without sessions  ${empty.ms.toFixed(0)} ms\n`);
let before = 0;
for (const count of counts) {
  const many = [
    "bench/support/many-sessions.ts",
    data,
    String(count - before),
    "login.localhost",
    edge.id,
    "edghtsrt_1",
  ];
  await run(process.execPath, many);
  before = count;
  const starts: { readonly ms: number; readonly bytes: number }[] = [];
  for (let round = 0; round < rounds; round += 1) starts.push(await measured(data));
  const ms = median(starts.map((one) => one.ms));
  const bytes = (median(starts.map((one) => one.bytes)) - empty.bytes) / count;
  process.stdout.write(
    `  ${count} sessions  ${ms.toFixed(0)} ms; ${bytes.toFixed(0)} bytes resident for each and its user\n`,
  );
  verdict(`start with ${count} sessions, s`, ms / 1000, { atMost: 3 });
}
