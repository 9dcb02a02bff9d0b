/** Cost of the inspector for an agent per request: off, listening without capture, and with capture. */
import { startAgent, startServer, startService } from "./support/postern.ts";
import { interleave, table } from "./support/report.ts";
import { cpuMicros, stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

const metric = "agent CPU µs/request";
const off = "off";
const listening = "listening, nothing kept";
const keeping = "keeping";
const service = await startService();
const server = await startServer();
const agents = [
  { name: off, host: "off", more: ["--inspector", "off"] },
  { name: listening, host: "listening", more: ["--inspector", "0", "--inspect", "false"] },
  { name: keeping, host: "keeping", more: ["--inspector", "0"] },
];
const contenders = await Promise.all(
  agents.map(async ({ name, host, more }) => {
    const agent = await startAgent(server, service.port, host, server.agentPort, more);
    const url = `https://${host}.localhost:${server.httpsPort}/`;
    await wrk(url, { connections: 16, seconds: 2 });
    return {
      name,
      agent,
      async measure() {
        const before = cpuMicros(agent.pid as number);
        const { requests, perSecond } = await wrk(url, { connections: 16, seconds: 2 });
        return { [metric]: (cpuMicros(agent.pid as number) - before) / requests, "requests/s": perSecond };
      },
    };
  }),
);
const samples = await interleave(contenders, 7);
table("1 KiB through an agent, keep-alive, 16 connections", samples, [
  [metric, listening, off, { atMost: 1.03 }],
  [metric, keeping, off, { atMost: 1.1 }],
]);
for (const { agent } of contenders) await stop(agent);
await stop(service.child);
await server.stop();
