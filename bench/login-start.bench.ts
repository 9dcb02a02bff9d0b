/** Time from the start of the process to ready with 100,000 sessions in the database, and their memory. */
import { get } from "node:http";
import { api } from "./support/api-client.ts";
import { startServer } from "./support/postern.ts";
import type { PosternServer } from "./support/postern.ts";
import { median, verdict } from "./support/report.ts";
import { cpuMicros, run } from "./support/system.ts";

const rounds = 3;
const count = 100_000;
const planes = ["control plane", "edge"];
const measuring = `--expose-gc --import=${new URL("../test/support/thread-memory.ts", import.meta.url).href}`;

/** Resolves with the CPU time of its threads so far, seconds. */
async function untilReady(server: PosternServer): Promise<number> {
  for (;;) {
    if (await isReady(`${server.apiUrl}/readyz`)) return cpuMicros(server.pid) / 1e6;
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

async function cpuOfStart(data: string): Promise<number> {
  const server = await startServer(data);
  const seconds = await untilReady(server);
  await server.stop();
  return seconds;
}

/** Returns the live bytes of each plane's thread. */
async function memory(data: string): Promise<ReadonlyMap<string, number>> {
  const before = process.env["NODE_OPTIONS"];
  process.env["NODE_OPTIONS"] = measuring;
  const server = await startServer(data);
  process.env["NODE_OPTIONS"] = before ?? "";
  await untilReady(server);
  const found = new Map<string, number>();
  await new Promise<void>((resolve) => {
    let told = "";
    server.child.stderr?.on("data", (bytes: Buffer) => {
      told += bytes.toString();
      for (const [, text = ""] of told.matchAll(/^memory (.*)$/gm)) {
        const { thread, bytes: live } = JSON.parse(text) as { readonly thread: string; readonly bytes: number };
        found.set(thread, live);
      }
      if (planes.every((plane) => found.has(plane))) resolve();
    });
    process.kill(server.pid, "SIGUSR2");
  });
  await server.stop();
  return found;
}

const first = await startServer();
const { data } = first;
const edge = await api<{ id: string }>(first.apiUrl, "POST", "/edges/https", { hostports: ["login.localhost:443"] });
await first.stop();
const emptySeconds = await cpuOfStart(data);
const emptyBytes = await memory(data);
await run(process.execPath, [
  "bench/support/many-sessions.ts",
  data,
  String(count),
  "login.localhost",
  edge.id,
  "edghtsrt_1",
]);
const starts: number[] = [];
for (let round = 0; round < rounds; round += 1) starts.push(await cpuOfStart(data));
const bytes = await memory(data);
process.stdout.write(`\nStart to ready, without sessions: ${emptySeconds.toFixed(2)} s of CPU\n`);
verdict(`start with ${count} sessions, s of CPU`, median(starts), { atMost: 3 });
for (const plane of planes) {
  const each = ((bytes.get(plane) ?? 0) - (emptyBytes.get(plane) ?? 0)) / count;
  verdict(`bytes of each session${plane === "edge" ? "" : " and its user"}, ${plane}`, each, { atMost: 1024 });
}
