/** Cost of capturing requests for a server: per request on the traffic thread, in all, and on the disk. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { startAgent, startServer, startService } from "./support/postern.ts";
import { interleave, table } from "./support/report.ts";
import { cpuMicros, stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

const [edgeCpu, allCpu] = ["traffic thread µs/request", "server µs/request"];
const [off, on] = ["not captured", "captured"];
/** Linux counts the CPU of threads in ticks of 10 ms. */
const tickMicros = 10_000;
const service = await startService();
const contenders = await Promise.all(
  [
    { name: off, more: [] },
    { name: on, more: ["--capture-requests"] },
  ].map(async ({ name, more }) => {
    const server = await startServer(undefined, ["--edges", "1", ...more]);
    const agent = await startAgent(server, service.port, "app");
    const url = `https://app.localhost:${server.httpsPort}/orders/1?page=2`;
    await wrk(url, { connections: 16, seconds: 3 });
    return {
      name,
      agent,
      server,
      async measure() {
        const [before, edgeBefore, bytesBefore] = [cpuMicros(server.pid), edgeMicros(server.pid), bytesOf(server.data)];
        const { requests, perSecond } = await wrk(url, { connections: 16, seconds: 3 });
        return {
          [edgeCpu]: (edgeMicros(server.pid) - edgeBefore) / requests,
          [allCpu]: (cpuMicros(server.pid) - before) / requests,
          "bytes/request": (bytesOf(server.data) - bytesBefore) / requests,
          "requests/s": perSecond,
        };
      },
    };
  }),
);
const samples = await interleave(contenders, 9);
table("1 KiB through an agent, keep-alive, 16 connections, one edge", samples, [
  [edgeCpu, on, off, { atMost: 1.03 }],
  [allCpu, on, off, { atMost: 1.1 }],
]);
for (const { agent, server } of contenders) {
  await stop(agent);
  await server.stop();
}
await stop(service.child);

/** The CPU of the thread that carries traffic. */
function edgeMicros(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  let ticks = 0;
  for (const task of readdirSync(tasks)) {
    if (!readFileSync(join(tasks, task, "comm"), "utf8").startsWith("edge")) continue;
    const fields = readFileSync(join(tasks, task, "stat"), "utf8")
      .replace(/^.*\) /, "")
      .split(" ");
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks * tickMicros;
}

function bytesOf(data: string): number {
  const folder = join(data, "capture");
  try {
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
    return files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
  } catch {
    return 0;
  }
}
