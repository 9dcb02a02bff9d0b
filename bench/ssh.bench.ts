/** Bulk down and up through a TCP endpoint that OpenSSH publishes, beside OpenSSH's own server. */
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { api } from "./support/api-client.ts";
import { startNginx, startSsh } from "./support/peers.ts";
import { startServer, startService } from "./support/postern.ts";
import { interleave, table } from "./support/report.ts";
import { client } from "./support/requests.ts";
import { cpuMicros, freePort, listening, run, start, stop } from "./support/system.ts";

const megabytes = 256;
const block = Buffer.alloc(1 << 20, "u");

const service = await startService();
const sshPort = await freePort();
const server = await startServer(undefined, ["--ssh-listen", `127.0.0.1:${sshPort}`, "--edges", "1"]);
await listening(sshPort);
// Both carry the same TLS connections of visitors to the service.
const nginx = await startNginx(service.port);
const ssh = await startSsh(nginx.port);
const key = join(mkdtempSync(join(tmpdir(), "postern-bench-ssh-")), "key");
await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
await api(server.apiUrl, "POST", "/ssh_credentials", { public_key: readFileSync(`${key}.pub`, "utf8").trim() });
const checks = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"];
const forward = ["-R", `0:127.0.0.1:${nginx.port}`, "127.0.0.1", "tcp"];
const publisher = start("ssh", ["-T", "-i", key, "-p", String(sshPort), ...checks, ...forward]);
const port = await publishedPort();
await listening(port);

async function publishedPort(): Promise<number> {
  for (;;) {
    const { endpoints } = await api<{ endpoints: { public_url: string }[] }>(server.apiUrl, "GET", "/endpoints");
    const [found] = endpoints;
    if (found) return Number(new URL(found.public_url).port);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function rate(at: number, direction: "down" | "up"): Promise<number> {
  const http = client({ name: direction, port: at, serverName: "bench.localhost" }, 1);
  await http.send({ path: "/" });
  const began = performance.now();
  if (direction === "down") {
    const { bytes } = await http.send({ path: `/bulk/${megabytes}` });
    if (bytes !== megabytes << 20) throw new Error(`${bytes} bytes came instead of ${megabytes << 20}`);
  } else {
    const headers = { host: "bench.localhost", "content-length": megabytes << 20 };
    await http.send(
      { method: "POST", path: "/", headers },
      Array.from({ length: megabytes }, () => block),
    );
  }
  const took = performance.now() - began;
  http.close();
  return ((megabytes << 20) / 1e6 / took) * 1000;
}

const samples = await interleave(
  [
    {
      name: "postern",
      async measure() {
        const before = cpuMicros(server.pid);
        const rates = { "down MB/s": await rate(port, "down"), "up MB/s": await rate(port, "up") };
        return { ...rates, "server CPU s/GB": ((cpuMicros(server.pid) - before) / (2 * (megabytes << 20))) * 1e3 };
      },
    },
    {
      name: "sshd",
      measure: async () => ({ "down MB/s": await rate(ssh.port, "down"), "up MB/s": await rate(ssh.port, "up") }),
    },
  ],
  5,
);
table(`${megabytes} MiB in one request through ssh -R`, samples, [
  ["down MB/s", "postern", "sshd", { atLeast: 0.5 }],
  ["up MB/s", "postern", "sshd", { atLeast: 0.5 }],
]);
for (const child of [publisher, server.child, nginx.child, ssh.child, service.child]) await stop(child);
