/** Memory of idle TCP connections through a tcp tunnel: at the server, and at the agent. */
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { many } from "./support/api-client.ts";
import { authtoken, startServer } from "./support/postern.ts";
import { verdict } from "./support/report.ts";
import { freePort, listening, residentBytes, start, stop } from "./support/system.ts";

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
  // what opening them left behind is collected
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
const middle = (side: "server" | "agent"): number =>
  all.map((one) => one[side]).sort((a, b) => a - b)[rounds >> 1] as number;
process.stdout.write(
  `\n${count} idle TCP connections through one tunnel\n  ${middle("server").toFixed(1)} KiB each at the server, ${middle("agent").toFixed(1)} KiB each at the agent\n`,
);
verdict("an idle TCP connection, KiB at the server", middle("server"), { atMost: 16 });
verdict("an idle TCP connection, KiB at the agent", middle("agent"), { atMost: 24 });
