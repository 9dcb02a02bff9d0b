import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import type { Socket } from "node:net";
import { after, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { connect } from "node:tls";
import type { ConnectionOptions, TLSSocket } from "node:tls";
import { makeManualClock } from "../../../test/support/clock.ts";
import { Register, secret } from "../../../test/support/tunnel-server.ts";
import { silentLog } from "../../lib/log.ts";
import { makeMetrics } from "../../lib/metrics.ts";
import { createAuthority } from "../../lib/certificates/x509.ts";
import { makeAgentServer } from "../../tunnel/agent-server.ts";
import { startAgentListener } from "./agent-listener.ts";
import { makeTicketSecret } from "../tls/ticket-secret.ts";
import { defaultListenerLimits } from "./listener-limits.ts";

const clock = makeManualClock();
const metrics = makeMetrics();
const authority = await createAuthority({ commonName: "Own", now: clock.now() });
const agents = makeAgentServer(new Register(), {
  clock,
  log: silentLog,
  secret,
  region: "test",
  serverVersion: "0.0.0",
});
const options = {
  at: { host: "127.0.0.1", port: 0 },
  ready: Promise.resolve(),
  authority,
  names: ["agents.example.com", "127.0.0.1", "agents.example.com"],
  agents,
  tickets: makeTicketSecret(clock),
  limits: { ...defaultListenerLimits, connections: 20 },
  clock,
  log: silentLog,
  metrics,
};
const listener = await startAgentListener(options);
const opened: Socket[] = [];
after(() => {
  for (const socket of opened) socket.destroy();
  agents.close("the test is over");
  listener.destroy();
});

const at = { host: "127.0.0.1", port: listener.port };

async function open(options: ConnectionOptions): Promise<TLSSocket> {
  const socket = connect({ ...at, ca: authority.certificatePem, ...options });
  opened.push(socket);
  await once(socket, "secureConnect");
  return socket.on("error", () => undefined);
}

async function openTcp(): Promise<Socket> {
  const socket = connectTcp(at).on("error", () => undefined);
  opened.push(socket);
  await once(socket, "connect");
  return socket;
}

function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.resume().on("close", () => resolve()));
}

function accepted(): string | undefined {
  return /^postern_connections_total\{listener="agent"\} (\d+)$/m.exec(metrics.render())?.[1];
}

describe("the agent listener", () => {
  it("G3: the agent listener proves itself to agents by address and by any name", async () => {
    for (const options of [{}, { servername: "agents.example.com" }, { servername: "behind-nat.example.org" }]) {
      const socket = await open(options);
      assert.equal(socket.authorized, true);
      socket.destroy();
    }
  });

  it("D2: the agent listener issues certificates for agents at other addresses while one address invents names", async () => {
    let served = 0;
    for (let made = 0; made < 70; made += 1) {
      const socket = connect({ ...at, servername: `made-up-${made}.example.org`, ca: authority.certificatePem });
      opened.push(socket);
      socket.on("error", () => undefined);
      await Promise.race([once(socket, "secureConnect"), closeOf(socket)]).catch(() => undefined);
      if (socket.authorized) served += 1;
      socket.destroy();
    }
    assert.ok(served <= 10, `${served}`);
    const honest = await open({ servername: "agents.example.net", localAddress: "127.0.0.2" } as ConnectionOptions);
    assert.equal(honest.authorized, true);
    // The name is known now, for any source.
    const again = await open({ servername: "agents.example.net" });
    assert.equal(again.authorized, true);
    honest.destroy();
    again.destroy();
  });

  it("K1: the agent listener accepts only TLS 1.2 and 1.3", async () => {
    assert.equal((await open({ maxVersion: "TLSv1.2" })).getProtocol(), "TLSv1.2");
    assert.equal((await open({})).getProtocol(), "TLSv1.3");
    const ancient: ConnectionOptions = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" };
    await assert.rejects(open(ancient), /protocol version/);
  });

  it("G1: the agent listener drops other protocols and slow handshakes, and continues to serve", async () => {
    const garbage = await openTcp();
    garbage.write("GET / HTTP/1.1\r\n\r\n");
    await closeOf(garbage);
    const before = accepted();
    const silent = await openTcp();
    while (accepted() === before) await turn();
    clock.pass(defaultListenerLimits.handshakeTimeoutMs);
    await closeOf(silent);
    assert.equal((await open({})).authorized, true);
  });

  it("D2: the agent listener limits its number of connections", async () => {
    const sockets = await Promise.all(Array.from({ length: 30 }, openTcp));
    await Promise.any(sockets.map(closeOf));
    assert.match(metrics.render(), /refused_total\{listener="agent",reason="connections"\} [1-9]/);
    for (const socket of sockets) socket.destroy();
  });

  it("K6: the agent listener resumes sessions with the secret of the tickets, until the secret or the authority changes", async () => {
    const later = makeManualClock(clock.now());
    const tickets = makeTicketSecret(later);
    const own = await startAgentListener({ ...options, tickets, clock: later, metrics: makeMetrics() });
    const there = { ...at, port: own.port };
    const visit = async (session?: Buffer): Promise<{ readonly isResumed: boolean; readonly session: Buffer }> => {
      const socket = connect({ ...there, ca: authority.certificatePem, ...(session && { session }) }).resume();
      opened.push(socket);
      const made = session ? undefined : (once(socket, "session") as Promise<[Buffer]>);
      await once(socket, "secureConnect");
      const seen = { isResumed: socket.isSessionReused(), session: (await made)?.[0] ?? Buffer.alloc(0) };
      socket.destroy();
      return seen;
    };
    tickets.take(Buffer.alloc(32, 1));
    const { session } = await visit();
    assert.equal((await visit(session)).isResumed, true);
    tickets.take(Buffer.alloc(32, 2));
    assert.equal((await visit(session)).isResumed, false);
    tickets.take(Buffer.alloc(32, 1));
    assert.equal((await visit(session)).isResumed, true);
    later.pass(9 * 60 * 60 * 1000);
    assert.equal((await visit(session)).isResumed, false);
    tickets.take(Buffer.alloc(32, 1));
    own.replaceAuthority(await createAuthority({ commonName: "Next", now: later.now() }));
    const last = connect({ ...there, rejectUnauthorized: false, session });
    opened.push(last);
    await once(last, "secureConnect");
    assert.equal(last.isSessionReused(), false);
    last.destroy();
    own.destroy();
    tickets.stop();
  });
});
