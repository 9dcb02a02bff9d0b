/** Time from the start of the process to ready, and memory at that time, empty and with 100,000 objects. */
import { get } from "node:http";
import { api, many } from "./support/api-client.ts";
import { startServer } from "./support/postern.ts";
import type { PosternServer } from "./support/postern.ts";
import { median, verdict } from "./support/report.ts";
import { residentBytes } from "./support/system.ts";

const objects = 100_000;

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

/**
 * Starts the server several times.
 * @param data directory with data. Default: an empty one
 */
async function starts(data?: string): Promise<{ readonly seconds: number; readonly megabytes: number }> {
  const [times, sizes]: [number[], number[]] = [[], []];
  for (let round = 0; round < 5; round += 1) {
    const { server, ms } = await untilReady(data);
    times.push(ms / 1000);
    sizes.push(residentBytes(server.pid) / 1e6);
    await server.stop();
  }
  return { seconds: median(times), megabytes: median(sizes) };
}

const empty = await starts();
process.stdout.write("\nStart-up to ready\n");
verdict("start-up when empty, s", empty.seconds, { atMost: 0.6 });
verdict("memory when empty, MB", empty.megabytes, { atMost: 130 });

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
const full = await starts(first.data);
verdict(`start-up with ${objects} objects, s`, full.seconds, { atMost: 2 });
process.stdout.write(`  memory with them, MB         ${full.megabytes.toFixed(0)}\n`);
