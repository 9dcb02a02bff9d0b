/**
 * `node moving-sessions.ts PORT OTHER_PORT CA_FILE SESSIONS TUNNELS`: opens SESSIONS agent sessions with TUNNELS named
 * tunnels each. Prints `bound` when all are open. Lost sessions are opened at the other port. `back MS` is the time
 * from the first loss until the last session had its tunnels again.
 */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { pauseMs } from "../../src/agent/backoff.ts";
import { connectServer } from "../../src/agent/connect.ts";
import { connectSession } from "../../src/tunnel/connect-session.ts";
import type { BoundTunnel } from "../../src/tunnel/client-hooks.ts";
import { sessionOptions } from "../../test/support/agents.ts";

const [port, otherPort, caFile, sessions, tunnels] = process.argv.slice(2) as [string, string, string, string, string];
const ca = readFileSync(caFile, "utf8");
const never = new AbortController().signal;
const atOnce = 64;
/** Whether sessions start without stored ids, like restarted agents. */
const isAnew = process.env["BENCH_ANEW"] === "1";

let lostAt = 0;
let lost: number[] = [];

/** Stored ids and tokens that each session sends again. */
const kept = new Map<number, { readonly clientId: string; readonly cookie: string; readonly tunnels: BoundTunnel[] }>();

/**
 * Resolves with the promise of its tunnels after authentication, because at most `atOnce` sessions of one address may
 * authenticate at a time.
 */
async function open(index: number, at: string, closed: () => void): Promise<{ readonly bound: Promise<void> }> {
  const socket = await connectServer({ host: "localhost", port: Number(at) }, ca, never);
  const before = kept.get(index);
  const { clientId = "", cookie = "" } = isAnew ? {} : (before ?? {});
  const options = { ...sessionOptions(process.env["POSTERN_AUTHTOKEN"] as string), clientId, cookie };
  let isBound = false;
  const session = await connectSession(socket, options, {
    proxied: (_tunnel, _header, stream) => stream.abort(),
    command: async () => {},
    stopped() {},
    closed: () => isBound && closed(),
  });
  const bind = (tunnel: number): Promise<BoundTunnel> => {
    const resume = isAnew ? undefined : before?.tunnels[tunnel];
    const asked = { proto: "https", subdomain: `bench-${index}-${tunnel}`, forwardsTo: "nothing" } as const;
    return session.bind({ ...asked, ...(resume && { resume }) });
  };
  const bindAll = async (): Promise<void> => {
    try {
      const bound = await Promise.all(Array.from({ length: Number(tunnels) }, (_one, tunnel) => bind(tunnel)));
      kept.set(index, { clientId: session.clientId, cookie: session.cookie, tunnels: bound });
      isBound = true;
    } catch (error) {
      session.close();
      throw error;
    }
  };
  return { bound: bindAll() };
}

/** Resolves when all sessions have their tunnels. */
async function openAll(indices: readonly number[], at: string, closed: (index: number) => void): Promise<void> {
  const free: (() => void)[] = [];
  let connecting = 0;
  const connect = async (index: number): Promise<{ readonly bound: Promise<void> }> => {
    if (connecting >= atOnce) await new Promise<void>((go) => free.push(go));
    connecting += 1;
    try {
      return await open(index, at, () => closed(index));
    } finally {
      connecting -= 1;
      free.shift()?.();
    }
  };
  await Promise.all(
    indices.map(async (index) => {
      // Retries like an agent until the server is back.
      for (let failures = 1; ; failures += 1) {
        const isOpen = await connect(index)
          .then(({ bound }) => bound)
          .then(
            () => true,
            () => false,
          );
        if (isOpen) return;
        await delay(pauseMs(failures, Math.random));
      }
    }),
  );
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
