/** Sessions of agents with one tunnel each: CPU to open one, memory of one, and CPU of 1,100 idle ones. */
import type { ChildProcess } from "node:child_process";
import { authtoken, startServer } from "./support/postern.ts";
import type { PosternServer } from "./support/postern.ts";
import { verdict } from "./support/report.ts";
import { cpuMicros, residentBytes, says, start, stop } from "./support/system.ts";

/** Number of sessions that are open before the measurement. They make V8 grow its young generation to its full size. */
const firstSessions = 2500;
const sessions = 2000;
const idleSessions = 1100;
/** Time for V8 to free the garbage of the handshakes, which is not a cost of a session, milliseconds. */
const settleMs = 15_000;
const idleMs = 30_000;

async function open(server: PosternServer, count: number): Promise<ChildProcess> {
  const args = ["bench/support/idle-tunnels.ts", String(server.agentPort), server.caFile, String(count)];
  const agents = start(process.execPath, args, { POSTERN_AUTHTOKEN: authtoken });
  await says(agents, "bound");
  return agents;
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, settleMs));

const quiet = await startServer();
const staying = await open(quiet, idleSessions);
await settled();
const resting = cpuMicros(quiet.pid);
await new Promise((resolve) => setTimeout(resolve, idleMs));
const perSecond = (cpuMicros(quiet.pid) - resting) / idleMs;
await stop(staying);
await quiet.stop();

const server = await startServer();
const few = await open(server, firstSessions);
await settled();
const [cpu, bytes] = [cpuMicros(server.pid), residentBytes(server.pid)];
const more = await open(server, sessions);
const opening = (cpuMicros(server.pid) - cpu) / 1000 / sessions;
await settled();
const each = (residentBytes(server.pid) - bytes) / 1024 / sessions;
process.stdout.write(`\n${sessions} sessions beyond the first ${firstSessions}, and ${idleSessions} by themselves\n`);
verdict("opening a session, ms of the server's CPU", opening, { atMost: 1.2 });
verdict(`an idle session ${settleMs / 1000} s later, KiB at the server`, each, { atMost: 64 });
verdict(`${idleSessions} idle sessions, ms of the server's CPU a second`, perSecond, { atMost: 8 });
await stop(few);
await stop(more);
await server.stop();
