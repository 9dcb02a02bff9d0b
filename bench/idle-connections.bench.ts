/** Memory of idle connections: TCP through a tcp tunnel, at the server and at the agent; public TLS, at the server. */
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { many } from "./support/api-client.ts";
import { startHaproxy } from "./support/peers.ts";
import { authtoken, startAgent, startServer, startService } from "./support/postern.ts";
import { interleave, median, table, verdict } from "./support/report.ts";
import { freePort, listening, residentBytes, says, start, stop } from "./support/system.ts";

const count = 10_000;
const rounds = 3;

async function round(): Promise<{ readonly server: number; readonly agent: number }> {
  const port = await freePort();
  const service = start(process.execPath, ["bench/support/hold.ts", String(port), String(count + 1)]);
  await listening(port);
  const server = await startServer();
  const agent = start(
    process.execPath,
    ["bin/postern.js", "tcp", String(port), "--server", `localhost:${server.agentPort}`, "--ca", server.caFile],
    { POSTERN_AUTHTOKEN: authtoken },
  );
  const url = await new Promise<string>((resolve) => {
    agent.stdout?.on("data", (bytes: Buffer) => {
      const found = /tcp:\/\/localhost:(\d+)/.exec(bytes.toString());
      if (found) resolve(found[1] as string);
    });
  });
  const before = { server: residentBytes(server.pid), agent: residentBytes(agent.pid as number) };
  const held = new Promise<void>((resolve) => service.stdout?.on("data", () => resolve()));
  const sockets: Socket[] = [];
  await many(count, async () => {
    const socket = connect({ port: Number(url), host: "127.0.0.1" });
    socket.on("error", () => {});
    await once(socket, "connect");
    sockets.push(socket);
  });
  await held;
  // Wait for the garbage of the opening to be collected.
  await new Promise((resolve) => setTimeout(resolve, 5000));
  const lost = sockets.filter((socket) => socket.destroyed).length;
  if (lost > 0) throw new Error(`${lost} of ${count} connections were not held`);
  const each = {
    server: (residentBytes(server.pid) - before.server) / count / 1024,
    agent: (residentBytes(agent.pid as number) - before.agent) / count / 1024,
  };
  for (const socket of sockets) socket.destroy();
  await stop(agent);
  await server.stop();
  await stop(service);
  return each;
}

const all: { server: number; agent: number }[] = [];
for (let at = 0; at < rounds; at += 1) all.push(await round());
const middle = (side: "server" | "agent"): number => median(all.map((one) => one[side]));
process.stdout.write(
  `\n${count} idle TCP connections through one tunnel\n  ${middle("server").toFixed(1)} KiB each at the server, ${middle("agent").toFixed(1)} KiB each at the agent\n`,
);
verdict("an idle TCP connection, KiB at the server", middle("server"), { atMost: 16 });
verdict("an idle TCP connection, KiB at the agent", middle("agent"), { atMost: 24 });

const visitors = 2000;
/** Number of connections before the measurement, for memory that grows once for all of them. */
const firstVisitors = 1000;
/** Time in which the garbage of the opening is collected, milliseconds. */
const settleMs = 10_000;

/** Returns the KiB per additional visitor with one past request. */
async function idleVisitor(pid: number, port: number): Promise<{ readonly "KiB each": number }> {
  const open = async (count: number): Promise<ReturnType<typeof start>> => {
    const child = start(process.execPath, ["bench/support/idle-visitors.ts", String(port), String(count)]);
    await says(child, "held");
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    return child;
  };
  const few = await open(firstVisitors);
  const before = residentBytes(pid);
  const more = await open(visitors);
  const each = (residentBytes(pid) - before) / visitors / 1024;
  await stop(few);
  await stop(more);
  return { "KiB each": each };
}

const service = await startService();
const contenders = ["postern", "haproxy (no tunnel)"].map((name) => ({
  name,
  // A new server each time, because memory that a process had before is not allocated again.
  async measure() {
    if (name !== "postern") {
      const haproxy = await startHaproxy(service.port);
      const each = await idleVisitor(haproxy.pid, haproxy.port);
      await stop(haproxy.child);
      return each;
    }
    const server = await startServer();
    const agent = await startAgent(server, service.port, "bench");
    const each = await idleVisitor(server.pid, server.httpsPort);
    await stop(agent);
    await server.stop();
    return each;
  },
}));
const samples = await interleave(contenders, rounds);
table(`${visitors} idle TLS connections of visitors beyond the first ${firstVisitors}`, samples);
const ours = (samples.get("postern") ?? []).map((row) => row["KiB each"]);
verdict("an idle TLS connection, KiB at the server", median(ours), { atMost: 48 });
await stop(service.child);
