/** CPU of the server, with all its threads, per request: without telemetry, and with 1 % and 100 % of the traces. */
import { startAgent, startServer, startService } from "./support/postern.ts";
import { interleave, table } from "./support/report.ts";
import { cpuMicros, freePort, listening, start, stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

const metric = "server CPU µs/request";
const off = "off";
const few = "1 % of the traces";
const all = "100 % of the traces";
const service = await startService();
const port = await freePort();
const collector = start(process.execPath, ["bench/support/collector.ts", String(port)]);
await listening(port);
const sampled = (ratio: string): readonly string[] => [
  `--otlp-endpoint=http://127.0.0.1:${port}`,
  "--otlp-sampler=traceidratio",
  `--otlp-sampler-arg=${ratio}`,
];
const servers = [
  { name: off, more: [] },
  { name: few, more: sampled("0.01") },
  { name: all, more: sampled("1") },
];
const contenders = await Promise.all(
  servers.map(async ({ name, more }) => {
    const server = await startServer(undefined, ["--edges", "1", ...more]);
    const agent = await startAgent(server, service.port, "traced", server.agentPort, ["--inspector", "off"]);
    const url = `https://traced.localhost:${server.httpsPort}/`;
    // V8 compiles the code of telemetry later than the code of every request.
    await wrk(url, { connections: 16, seconds: 10 });
    return {
      name,
      server,
      agent,
      async measure() {
        const before = cpuMicros(server.pid);
        const { requests, perSecond } = await wrk(url, { connections: 16, seconds: 2 });
        return { [metric]: (cpuMicros(server.pid) - before) / requests, "requests/s": perSecond };
      },
    };
  }),
);
const samples = await interleave(contenders, 9);
table("1 KiB over HTTPS through an agent, keep-alive, 16 connections", samples, [
  [metric, few, off, { atMost: 1.02 }],
  [metric, all, off, { atMost: 1.15 }],
]);
for (const { agent, server } of contenders) {
  await stop(agent);
  await server.stop();
}
await stop(collector);
await stop(service.child);
