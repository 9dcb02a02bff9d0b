/** From the start of the process to ready, empty and with 100,000 objects; memory with them, and of idle tunnels. */
import type { ChildProcess } from "node:child_process";
import { get } from "node:http";
import { api, many } from "./support/api-client.ts";
import { authtoken, startServer } from "./support/postern.ts";
import type { PosternServer } from "./support/postern.ts";
import { median, verdict } from "./support/report.ts";
import { residentBytes, start, stop } from "./support/system.ts";

const objects = 100_000;
/** Open before counting begins: with them V8 has grown its young generation, once for all tunnels, to its full size. */
const firstTunnels = 2500;
const tunnels = 2000;
/** Garbage of the handshakes is no cost of a tunnel; V8 gives it back when it has been idle for some seconds. */
const settleMs = 15_000;

async function untilReady(data?: string): Promise<{ readonly server: PosternServer; readonly ms: number }> {
  const began = performance.now();
  const server = await startServer(data);
  for (;;) {
    const ready = await reached(`${server.apiUrl}/readyz`);
    if (ready) return { server, ms: performance.now() - began };
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

function reached(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asking = get(url, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asking.on("error", () => resolve(false));
  });
}

async function open(server: PosternServer, count: number): Promise<ChildProcess> {
  const agents = start(
    process.execPath,
    ["bench/support/idle-tunnels.ts", String(server.agentPort), server.caFile, String(count)],
    { POSTERN_AUTHTOKEN: authtoken },
  );
  await new Promise<void>((resolve, reject) => {
    agents.stdout?.on("data", (line: Buffer) => line.includes("bound") && resolve());
    agents.once("exit", (code) => reject(new Error(`the idle tunnels ended with ${code}`)));
  });
  return agents;
}

const empty: number[] = [];
for (let round = 0; round < 5; round += 1) {
  const { server, ms } = await untilReady();
  empty.push(ms);
  await server.stop();
}
process.stdout.write(`\nStart-up to ready\n  empty            ${median(empty).toFixed(0)} ms\n`);
verdict("start-up when empty, s", median(empty) / 1000, { atMost: 0.6 });

const { server: first } = await untilReady();
const policy = await api<{ id: string }>(first.apiUrl, "POST", "/ip_policies", {});
await many(objects, (index) =>
  api(first.apiUrl, "POST", "/ip_policy_rules", {
    ip_policy_id: policy.id,
    cidr: `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}/32`,
    action: "allow",
  }),
);
await first.stop();
const full: number[] = [];
let bytes = 0;
for (let round = 0; round < 5; round += 1) {
  const { server, ms } = await untilReady(first.data);
  full.push(ms);
  bytes = residentBytes(server.pid);
  await server.stop();
}
process.stdout.write(`  ${objects} objects   ${median(full).toFixed(0)} ms, ${(bytes / 1e6).toFixed(0)} MB resident\n`);
verdict("start-up with 100,000 objects, s", median(full) / 1000, { atMost: 2 });

const { server } = await untilReady();
const few = await open(server, firstTunnels);
await new Promise((resolve) => setTimeout(resolve, settleMs));
const before = residentBytes(server.pid);
const more = await open(server, tunnels);
await new Promise((resolve) => setTimeout(resolve, settleMs));
const each = (residentBytes(server.pid) - before) / tunnels / 1024;
process.stdout.write(
  `\nIdle tunnels, each with a session of its own\n  ${each.toFixed(0)} KiB for each of ${tunnels} beyond the first ${firstTunnels}, ` +
    `${settleMs / 1000} s after the last\n`,
);
verdict("an idle tunnel, KiB at the server", each, { atMost: 64 });
await stop(few);
await stop(more);
await server.stop();
