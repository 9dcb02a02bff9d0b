/** New connections per second, TLS to the service's own address in both: one request each. */
import { interleave, ratio, table } from "./support/report.ts";
import { startAgent, startServer, startService } from "./support/postern.ts";
import { startNginx, startSsh } from "./support/peers.ts";
import { stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

const service = await startService();
const server = await startServer();
const agent = await startAgent(server, service.port, "bench");
const nginx = await startNginx(service.port);
// ssh -R moves bytes only, so the service behind it terminates TLS: the visitor sees the same in both.
const ssh = await startSsh(nginx.port);

const contender = (name: string, port: number) => ({
  name,
  measure: async () => ({
    "connections/s": (
      await wrk(`https://bench.localhost:${port}/`, { connections: 16, seconds: 3, headers: ["Connection: close"] })
    ).perSecond,
  }),
});
const samples = await interleave(
  [
    contender("postern", server.httpsPort),
    contender("ssh -R, TLS behind", ssh.port),
    contender("nginx (no tunnel)", nginx.port),
  ],
  5,
);
table("A new TLS connection per request, 16 at a time", samples);
ratio(samples, "connections/s", "postern", "ssh -R, TLS behind", { atLeast: 1 });
for (const child of [agent, server.child, nginx.child, ssh.child, service.child]) await stop(child);
