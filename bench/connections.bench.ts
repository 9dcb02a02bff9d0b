/** New connections per second, TLS to the service's own address in both: one request each. */
import { interleave, ratio, table } from "./support/report.ts";
import { startAgent, startServer, startService } from "./support/postern.ts";
import { startNginx, startSsh } from "./support/peers.ts";
import { cpuMicros, stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

const service = await startService();
const server = await startServer();
const agent = await startAgent(server, service.port, "bench");
const nginx = await startNginx(service.port);
// ssh -R moves bytes only, so the service behind it terminates TLS: the visitor sees the same in both.
const ssh = await startSsh(nginx.port);

const load = { connections: 16, seconds: 3, headers: ["Connection: close"] };
const contender = (name: string, pid: number, port: number) => ({
  name,
  async measure() {
    const before = cpuMicros(pid);
    const { requests, perSecond } = await wrk(`https://bench.localhost:${port}/`, load);
    return { "connections/s": perSecond, "edge CPU µs/connection": (cpuMicros(pid) - before) / requests };
  },
});
await wrk(`https://bench.localhost:${server.httpsPort}/`, load);
const samples = await interleave(
  [
    contender("postern", server.pid, server.httpsPort),
    contender("ssh -R, TLS behind", ssh.pid, ssh.port),
    contender("nginx (no tunnel)", nginx.pid, nginx.port),
  ],
  5,
);
table("A new TLS connection per request, 16 at a time", samples);
ratio(samples, "connections/s", "postern", "ssh -R, TLS behind", { atLeast: 1 });
ratio(samples, "edge CPU µs/connection", "postern", "nginx (no tunnel)", { atMost: 1.5 });
for (const child of [agent, server.child, nginx.child, ssh.child, service.child]) await stop(child);
