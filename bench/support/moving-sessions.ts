/**
 * `node moving-sessions.ts PORT OTHER_PORT CA_FILE SESSIONS TUNNELS`: as many agent sessions with so many tunnels each. Says
 * `bound` when all are open; sessions that are lost are opened at the other port, and `back MS` says how long after the
 * first loss the last of them had its tunnels again.
 */
import { readFileSync } from "node:fs";
import { connectServer } from "../../src/agent/connect.ts";
import { connectSession } from "../../src/tunnel/client.ts";
import { sessionOptions } from "../../test/support/agents.ts";

const [port, otherPort, caFile, sessions, tunnels] = process.argv.slice(2) as [string, string, string, string, string];
const ca = readFileSync(caFile, "utf8");
const never = new AbortController().signal;
const atOnce = 64;

let lostAt = 0;
let lost: number[] = [];

async function open(index: number, at: string, closed: () => void): Promise<void> {
  const socket = await connectServer({ host: "localhost", port: Number(at) }, ca, never);
  const session = await connectSession(socket, sessionOptions(process.env["POSTERN_AUTHTOKEN"] as string), {
    proxied: (_tunnel, _header, stream) => stream.abort(),
    command: async () => {},
    stopped() {},
    closed,
  });
  const labelled = (tunnel: number): Promise<unknown> =>
    session.startLabelled({ labels: { bench: `${index} ${tunnel}` }, forwardsTo: "nothing" });
  await Promise.all(Array.from({ length: Number(tunnels) }, (_one, tunnel) => labelled(tunnel)));
}

async function openAll(indices: readonly number[], at: string, closed: (index: number) => void): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < indices.length) {
      const index = indices[next++] as number;
      let isOpen = false;
      // As agents do, until it is there.
      while (!isOpen) {
        isOpen = await open(index, at, () => isOpen && closed(index)).then(
          () => true,
          () => false,
        );
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

const all = Array.from({ length: Number(sessions) }, (_one, index) => index);
const gone = Promise.withResolvers<void>();
await openAll(all, port, (index) => {
  lostAt ||= performance.now();
  lost.push(index);
  if (lost.length === all.length) gone.resolve();
});
process.stdout.write("bound\n");
await gone.promise;
const again = lost;
lost = [];
await openAll(again, otherPort, () => process.exit(1));
process.stdout.write(`back ${Math.round(performance.now() - lostAt)}\n`);
