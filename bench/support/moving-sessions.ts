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

/** Resolves with what its tunnels come to, once it is authenticated: no more than `atOnce` of one address may be waiting for that. */
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

/** Resolves when all have their tunnels. */
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
      // As agents do, until it is there.
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
