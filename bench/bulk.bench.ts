/** Bulk down and up, on loopback and over a round trip of 50 ms between agent and edge. */
import { interleave, median, table, verdict } from "./support/report.ts";
import { startAgent, startServer, startService } from "./support/postern.ts";
import { startNginx, startSsh } from "./support/peers.ts";
import { client } from "./support/requests.ts";
import type { Target } from "./support/requests.ts";
import { cpuMicros, freePort, listening, start, stop } from "./support/system.ts";

const megabytes = 256;
const block = Buffer.alloc(1 << 20, "u");

const service = await startService();
const server = await startServer();
const near = await startAgent(server, service.port, "bench");
const relayPort = await freePort();
const relay = start(process.execPath, ["bench/support/delay.ts", String(relayPort), String(server.agentPort), "25"]);
await listening(relayPort);
const far = await startAgent(server, service.port, "far", relayPort);
const nginx = await startNginx(service.port);
// The visitor uses TLS with both. With ssh -R, the service terminates it.
const ssh = await startSsh(nginx.port);

/** Measures the throughput and the server's CPU time per GB. */
async function moved(target: Target, direction: "down" | "up", pid: number): Promise<Record<string, number>> {
  const before = cpuMicros(pid);
  const perSecond = await rate(target, direction);
  const cpu = (cpuMicros(pid) - before) / (megabytes << 20);
  return { [`${direction} MB/s`]: perSecond, [`${direction} edge CPU s/GB`]: cpu * 1e3 };
}

async function rate(target: Target, direction: "down" | "up", size = megabytes): Promise<number> {
  const http = client(target, 1);
  await http.send({ path: "/" });
  const began = performance.now();
  if (direction === "down") {
    const { bytes } = await http.send({ path: `/bulk/${size}` });
    if (bytes !== size << 20) throw new Error(`${target.name}: ${bytes} bytes came instead of ${size << 20}`);
  } else {
    const { response } = await http.send(
      { method: "POST", path: "/", headers: { host: target.serverName, "content-length": size << 20 } },
      Array.from({ length: size }, () => block),
    );
    if (response.statusCode !== 204) throw new Error(`${target.name}: answered ${response.statusCode}`);
  }
  const took = performance.now() - began;
  http.close();
  return ((size << 20) / 1e6 / took) * 1000;
}

const contender = (name: string, pid: number, port: number) => ({
  name,
  async measure() {
    const target = { name, port, serverName: "bench.localhost" };
    return { ...(await moved(target, "down", pid)), ...(await moved(target, "up", pid)) };
  },
});
const samples = await interleave(
  [
    contender("postern", server.pid, server.httpsPort),
    contender("ssh -R, TLS behind", ssh.pid, ssh.port),
    contender("nginx (no tunnel)", nginx.pid, nginx.port),
  ],
  5,
);
table(`${megabytes} MiB in one request`, samples, [
  ["down MB/s", "postern", "ssh -R, TLS behind", { atLeast: 1 }],
  ["up MB/s", "postern", "ssh -R, TLS behind", { atLeast: 1 }],
  ["down edge CPU s/GB", "postern", "nginx (no tunnel)", { atMost: 1.2 }],
  ["up edge CPU s/GB", "postern", "nginx (no tunnel)", { atMost: 2.1 }],
]);

const overDistance = await interleave(
  [
    {
      name: "postern over 50 ms",
      measure: async () => ({
        "down MB/s": await rate({ name: "far", port: server.httpsPort, serverName: "far.localhost" }, "down"),
      }),
    },
  ],
  3,
);
table("The agent 50 ms away", overDistance);
verdict(
  "down over 50 ms, MB/s",
  median((overDistance.get("postern over 50 ms") ?? []).map((row) => row["down MB/s"])),
  { atLeast: 50 },
);
for (const child of [near, far, relay, server.child, nginx.child, ssh.child, service.child]) await stop(child);
