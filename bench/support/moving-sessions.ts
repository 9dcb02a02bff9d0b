/**
 * `node moving-sessions.ts PORT OTHER_PORT CA_FILE SESSIONS TUNNELS`: as many agent sessions with so many named tunnels each. Says
 * `bound` when all are open; sessions that are lost are opened at the other port, and `back MS` says how long after the
 * first loss the last of them had its tunnels again.
 */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { pauseMs } from "../../src/agent/backoff.ts";
import { connectServer } from "../../src/agent/connect.ts";
import { connectSession } from "../../src/tunnel/client.ts";
import type { BoundTunnel } from "../../src/tunnel/client-hooks.ts";
import { sessionOptions } from "../../test/support/agents.ts";

const [port, otherPort, caFile, sessions, tunnels] = process.argv.slice(2) as [string, string, string, string, string];
const ca = readFileSync(caFile, "utf8");
const never = new AbortController().signal;
const atOnce = 64;
/** Whether they bring nothing back, as agents that were started anew. */
const isAnew = process.env["BENCH_ANEW"] === "1";

let lostAt = 0;
let lost: number[] = [];

/** What each session brings back. */
const kept = new Map<number, { readonly clientId: string; readonly cookie: string; readonly tunnels: BoundTunnel[] }>();

async function open(index: number, at: string, closed: () => void): Promise<void> {
  const socket = await connectServer({ host: "localhost", port: Number(at) }, ca, never);
  const before = kept.get(index);
  const { clientId = "", cookie = "" } = isAnew ? {} : (before ?? {});
  const options = { ...sessionOptions(process.env["POSTERN_AUTHTOKEN"] as string), clientId, cookie };
  const session = await connectSession(socket, options, {
    proxied: (_tunnel, _header, stream) => stream.abort(),
    command: async () => {},
    stopped() {},
    closed,
  });
  const bind = (tunnel: number): Promise<BoundTunnel> => {
    const resume = isAnew ? undefined : before?.tunnels[tunnel];
    const asked = { proto: "https", subdomain: `bench-${index}-${tunnel}`, forwardsTo: "nothing" } as const;
    return session.bind({ ...asked, ...(resume && { resume }) });
  };
  const binds = Array.from({ length: Number(tunnels) }, (_one, tunnel) => bind(tunnel));
  const bound = await Promise.all(binds).catch((error: unknown) => {
    session.close();
    throw error;
  });
  kept.set(index, { clientId: session.clientId, cookie: session.cookie, tunnels: bound });
}

async function openAll(indices: readonly number[], at: string, closed: (index: number) => void): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < indices.length) {
      const index = indices[next++] as number;
      let isOpen = false;
      // As agents do, until it is there.
      for (let failures = 1; !isOpen; failures += 1) {
        isOpen = await open(index, at, () => isOpen && closed(index)).then(
          () => true,
          () => false,
        );
        if (!isOpen) await delay(pauseMs(failures, Math.random));
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
process.stdout.write(`bound ${Math.round(performance.now())}\n`);
await gone.promise;
const again = lost;
lost = [];
await openAll(again, otherPort, () => process.exit(1));
process.stdout.write(`back ${Math.round(performance.now() - lostAt)}\n`);
