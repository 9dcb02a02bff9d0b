/** CPU of the edge and requests per second: 1 KiB over HTTPS, keep-alive, 64 connections. */
import { interleave, table } from "./support/report.ts";
import { startAgent, startServer, startService } from "./support/postern.ts";
import { startCaddy, startNginx, startSsh } from "./support/peers.ts";
import { cpuMicros, stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

const service = await startService();
const server = await startServer();
const agent = await startAgent(server, service.port, "bench");
const [nginx, caddy, ssh] = [
  await startNginx(service.port),
  await startCaddy(service.port),
  await startSsh(service.port),
];

const contender = (name: string, pid: number, url: string) => ({
  name,
  async measure() {
    const before = cpuMicros(pid);
    const result = await wrk(url, { connections: 64, seconds: 3 });
    return { "edge CPU µs/request": (cpuMicros(pid) - before) / result.requests, "requests/s": result.perSecond };
  },
});
await wrk(`https://bench.localhost:${server.httpsPort}/`, { connections: 64, seconds: 3 });

const samples = await interleave(
  [
    contender("postern (edge and tunnel)", server.pid, `https://bench.localhost:${server.httpsPort}/`),
    contender("nginx (no tunnel)", nginx.pid, `https://bench.localhost:${nginx.port}/`),
    contender("caddy (no tunnel)", caddy.pid, `https://bench.localhost:${caddy.port}/`),
    contender("ssh -R (no TLS in front)", ssh.pid, `http://bench.localhost:${ssh.port}/`),
  ],
  5,
);
table("1 KiB over HTTPS, keep-alive, 64 connections", samples, [
  ["edge CPU µs/request", "postern (edge and tunnel)", "nginx (no tunnel)", { atMost: 1.2 }],
  ["requests/s", "postern (edge and tunnel)", "ssh -R (no TLS in front)", { atLeast: 1 }],
]);
for (const child of [agent, server.child, nginx.child, caddy.child, ssh.child, service.child]) await stop(child);
