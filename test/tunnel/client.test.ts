/** Our own agent's side of the protocol, against our server. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { afterEach, before, beforeEach, describe, it } from "node:test";
import { connect } from "node:tls";
import type { TLSSocket } from "node:tls";
import type { ByteStream } from "../../src/lib/io/byte-stream.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { connectSession } from "../../src/tunnel/connect-session.ts";
import type { ClientHandlers, ClientOptions, ClientSession } from "../../src/tunnel/client-hooks.ts";
import type { ProxiedHeader } from "../../src/tunnel/proxy-header.ts";
import { makeManualClock } from "../support/clock.ts";
import { fin, frame, RawAgent, syn, word } from "../support/raw-agent.ts";
import { makeAuthority, openProxy, rightToken, startTunnelServer } from "../support/tunnel-server.ts";
import type { Authority, TunnelServer } from "../support/tunnel-server.ts";

interface Agent {
  readonly session: ClientSession;
  readonly socket: TLSSocket;
  readonly closed: Promise<Error | undefined>;
  /** Proxied connections, by tunnel. */
  readonly proxied: { readonly tunnelId: string; readonly header: ProxiedHeader }[];
  readonly commands: unknown[];
  readonly stopped: unknown[][];
}

describe("our own agent", { timeout: 30_000 }, () => {
  let authority: Authority;
  let server: TunnelServer;
  const sockets: TLSSocket[] = [];

  before(async () => {
    authority = await makeAuthority();
  });
  beforeEach(async () => {
    server = await startTunnelServer({ authority });
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await server.stop();
  });

  async function dial(port = server.port): Promise<TLSSocket> {
    const socket = connect({ port, host: "localhost", ca: authority.ca.certificatePem });
    sockets.push(socket);
    await once(socket, "secureConnect");
    return socket;
  }

  async function start(changes: Partial<ClientOptions> = {}, handlers: Partial<ClientHandlers> = {}): Promise<Agent> {
    const socket = await dial();
    const over = Promise.withResolvers<Error | undefined>();
    const agent = { socket, closed: over.promise, proxied: [], commands: [], stopped: [] } as unknown as Agent;
    const session = await connectSession(socket, clientOptions(changes), {
      proxied(tunnelId, header, stream) {
        agent.proxied.push({ tunnelId, header });
        echo(stream);
      },
      command: async (command) => void agent.commands.push(command),
      stopped: (...what) => void agent.stopped.push(what),
      closed: over.resolve,
      ...handlers,
    });
    return { ...agent, session };
  }

  it("our own agent binds, serves, and unbinds", async () => {
    const { session, proxied } = await start({ metadata: "mine", os: "plan9" });
    assert.deepEqual([session.region, session.accountName, session.serverVersion], ["local", "Test", "0.1.0"]);
    assert.deepEqual([server.register.sessions[0]?.metadata, server.register.sessions[0]?.os], ["mine", "plan9"]);
    const tunnel = await session.bind({ proto: "https", hostname: "a.example.test", forwardsTo: "http://localhost:1" });
    assert.equal(tunnel.url, "https://a.example.test");
    assert.equal(tunnel.hostname, "a.example.test");
    assert.equal(await through(server, tunnel.id, "hello"), "hello");
    assert.deepEqual(proxied, [
      {
        tunnelId: tunnel.id,
        header: {
          tunnelId: tunnel.id,
          clientAddress: "192.0.2.1:4711",
          proto: "http",
          edgeType: "endpoint",
          passthroughTls: false,
        },
      },
    ]);
    await session.unbind(tunnel.id);
    assert.equal(server.register.tunnels.size, 0);
  });

  it("our own agent serves connections that the server sent before it learned of the tunnel's removal", async () => {
    const { session } = await start();
    const { id } = await session.bind({ proto: "https", forwardsTo: "x" });
    const unbound = session.unbind(id);
    const served = through(server, id, "hello");
    await unbound;
    assert.equal(await served, "hello");
  });

  it("our own agent reconnects to the same session, tunnel and labelled tunnel", async () => {
    const first = await start();
    const bound = await first.session.bind({ proto: "http", forwardsTo: "x" });
    const labelled = await first.session.startLabelled({ labels: { app: "web" }, forwardsTo: "x" });
    first.session.close();
    assert.equal(await first.closed, undefined);
    const { clientId, cookie } = first.session;
    const second = await start({ clientId, cookie });
    assert.equal(second.session.clientId, clientId);
    const again = await second.session.bind({
      proto: "http",
      hostname: bound.hostname,
      forwardsTo: "x",
      resume: { id: bound.id, token: bound.token },
    });
    assert.deepEqual(again, bound);
    assert.equal(await second.session.startLabelled({ labels: { app: "web" }, forwardsTo: "x" }), labelled);
  });

  it("our own agent receives the catalogue's reason for a rejection", async () => {
    await assert.rejects(start({ token: "wrong" }), {
      reason: "agent_token_unknown",
      code: errorCode("agent_token_unknown"),
    });
    const { session } = await start();
    await assert.rejects(session.bind({ proto: "https", hostname: "taken.example.test", forwardsTo: "x" }), {
      reason: "agent_name_taken",
    });
  });

  it("our own agent handles commands and the end of a tunnel", async () => {
    const { session, commands, stopped } = await start({ commands: ["stop", "update"] });
    const { id } = await session.bind({ proto: "http", forwardsTo: "x" });
    const [other] = server.register.sessions;
    await other?.command({ name: "stop" });
    await other?.command({ name: "update", version: "2.0" });
    await assert.rejects(other?.command({ name: "restart" }) ?? Promise.resolve(), { reason: "command_unsupported" });
    other?.stopTunnel(id, "gone", "agent_denied");
    await session.unbind("tn_sync");
    assert.deepEqual(commands, [{ name: "stop" }, { name: "update", version: "2.0" }]);
    assert.deepEqual(stopped, [[id, "gone", "ERR_NGROK_720"]]);
  });

  it("our own agent reports to the server why a command failed", async () => {
    await start({ commands: ["restart"] }, { command: () => Promise.reject(new Error("no supervisor")) });
    await assert.rejects(server.register.sessions[0]?.command({ name: "restart" }) ?? Promise.resolve(), {
      reason: "command_failed",
      message: "The agent answered: no supervisor",
    });
  });

  it("our own agent transfers large data both ways unchanged", async () => {
    const { session } = await start();
    const { id } = await session.bind({ proto: "tcp", forwardsTo: "x" });
    const content = Buffer.alloc(3_000_000, "abcdefghijk");
    assert.ok(Buffer.from(await through(server, id, content)).equals(content));
  });

  it("D3: our own agent continues to serve while one visitor reads nothing", async () => {
    const { session } = await start();
    const { id } = await session.bind({ proto: "tcp", forwardsTo: "x" });
    const stalled = await openProxy(server.register.tunnels.get(id) ?? assert.fail(), id, "tcp");
    let held = 0;
    stalled.receiver = { data: (bytes) => void (held += bytes.length), ended() {}, drained() {}, closed() {} };
    for (let at = 0; at < 100; at += 1) stalled.write(Buffer.alloc(65_536));
    const content = Buffer.alloc(2_000_000, "x");
    assert.equal((await through(server, id, content)).length, content.length);
    assert.ok(held <= 262_144, `${held} bytes for a reader that takes nothing`);
  });

  it("our own agent fails if the server does not answer the authentication", async () => {
    const clock = makeManualClock();
    await withSilentServer(async (port) => {
      const connecting = connectRaw(port, clock);
      await new Promise(setImmediate);
      clock.pass(30_000);
      await assert.rejects(connecting, /no answer within 30000 ms/);
    });
  });

  it("our own agent ends the session when the server falls silent", async () => {
    const clock = makeManualClock();
    const { session, socket, closed } = await start({ clock });
    await session.unbind("tn_sync");
    socket.removeAllListeners("data");
    clock.pass(14_999);
    clock.pass(15_001);
    assert.match((await closed)?.message ?? "", /no longer answers/);
  });

  describe("when the server is hostile", () => {
    /** The session's peer is handmade: it accepts any authentication, and sends what the test defines. */
    async function startAgainst(handlers: Partial<ClientHandlers> = {}): Promise<[RawAgent, string[]]> {
      const proxied: string[] = [];
      const accepted = once(listener(), "connection");
      const socket = (await import("node:net")).connect((listener().address() as AddressInfo).port, "127.0.0.1");
      const connecting = connectSession(socket as TLSSocket, clientOptions({}), {
        proxied: (id, _header, stream) => {
          proxied.push(id);
          echo(stream);
        },
        command: async () => {},
        stopped() {},
        closed() {},
        ...handlers,
      });
      const [peer] = (await accepted) as [TLSSocket];
      const raw = new RawAgent(peer);
      await raw.frame((one) => one.streamId === 3);
      raw.write(frame(1, 1, 3, JSON.stringify({ Version: "3", ClientId: "c", Error: "", Extra: {} })));
      const session = await connecting;
      const labelled = session.startLabelled({ labels: { a: "b" }, forwardsTo: "x" });
      const asked = await raw.frame((one) => one.body.length > 4 && one.body.readUInt32BE() === 7);
      raw.write(frame(1, 1, asked.streamId, JSON.stringify({ Id: "tn_mine", Error: "" })));
      await labelled;
      return [raw, proxied];
    }
    const servers: ReturnType<typeof createServer>[] = [];
    const listener = (): ReturnType<typeof createServer> => servers.at(-1) ?? assert.fail();
    beforeEach(async () => {
      const one = createServer({ noDelay: true }).listen(0, "127.0.0.1");
      servers.push(one);
      await once(one, "listening");
    });
    afterEach(() => void servers.pop()?.close());

    const header = (fields: object): Buffer => {
      const text = Buffer.from(JSON.stringify(fields));
      const length = Buffer.alloc(8);
      length.writeBigInt64LE(BigInt(text.length));
      return Buffer.concat([word(3), length, text]);
    };
    const mine = header({ Id: "tn_mine", ClientAddr: "1.2.3.4:5", Proto: "tcp", EdgeType: "1", PassthroughTLS: false });

    it("our own agent when the server is hostile reads a proxied stream's header in any fragments", async () => {
      const [raw, proxied] = await startAgainst();
      for (let cut = 1; cut < mine.length; cut += 1) {
        const id = 2 * cut;
        raw.write(frame(1, syn, id, mine.subarray(0, cut)));
        raw.write(frame(1, 0, id, Buffer.concat([mine.subarray(cut), Buffer.from("echo me")])));
        await raw.until(() => raw.payload(id) === "echo me");
      }
      assert.equal(proxied.length, mine.length - 1);
      raw.socket.destroy();
    });

    for (const [what, bytes] of [
      [
        "for a tunnel that is not ours",
        header({ Id: "tn_other", ClientAddr: "1.2.3.4:5", Proto: "tcp", EdgeType: "1" }),
      ],
      ["without JSON", Buffer.concat([word(3), Buffer.from("0400000000000000", "hex"), Buffer.from("{{{{")])],
      ["with an endless header", Buffer.concat([word(3), Buffer.from("ffffffffffffff7f", "hex")])],
      ["with a header of members of other types", header({ Id: 5 })],
    ] as const) {
      it(`G4: our own agent when the server is hostile accepts no stream ${what}`, async () => {
        const [raw, proxied] = await startAgainst();
        raw.write(frame(1, syn, 2, bytes));
        await raw.frame((one) => one.type === 0 && one.streamId === 2);
        raw.write(frame(1, syn, 4, Buffer.concat([mine, Buffer.from("x")])));
        await raw.until(() => raw.payload(4) === "x");
        assert.deepEqual(proxied, ["tn_mine"]);
        raw.socket.destroy();
      });
    }

    it("our own agent when the server is hostile limits the number and the length of messages about request times", async () => {
      const [raw] = await startAgainst();
      const opened = (id: number, text: string): Buffer =>
        frame(1, syn, id, Buffer.concat([word(11), Buffer.from(text)]));
      raw.write(opened(2, "r".repeat(70_000)));
      await raw.frame(({ type, streamId }) => type === 0 && streamId === 2);
      for (let id = 4; id <= 4 + 2 * 32; id += 2) raw.write(opened(id, "req_1 1 1\n"));
      await raw.frame(({ type, streamId }) => type === 0 && streamId === 4);
      raw.socket.destroy();
    });

    it("G4: our own agent when the server is hostile accepts no message with an address to connect to", async () => {
      const [raw, proxied] = await startAgainst();
      for (let type = 10; type < 40; type += 1) {
        raw.write(frame(1, syn | fin, 2 * type, Buffer.concat([word(type), Buffer.from('{"Addr":"127.0.0.1:1"}')])));
        await raw.frame((one) => one.type === 1 && one.streamId === 2 * type && one.flags === 1);
      }
      assert.deepEqual(proxied, []);
      raw.socket.destroy();
    });
  });

  async function connectRaw(port: number, clock: Clock): Promise<ClientSession> {
    const socket = (await import("node:net")).connect(port, "127.0.0.1");
    return connectSession(socket as TLSSocket, clientOptions({ clock }), {
      proxied() {},
      command: async () => {},
      stopped() {},
      closed() {},
    });
  }
});

function clientOptions(changes: Partial<ClientOptions>): ClientOptions {
  return {
    clock: systemClock,
    token: rightToken,
    clientId: "",
    cookie: "",
    metadata: "",
    version: "0.1.0",
    os: "linux",
    arch: "x64",
    commands: [],
    ...changes,
  };
}

/** Runs with a listener that accepts connections and never sends anything. */
async function withSilentServer(run: (port: number) => Promise<void>): Promise<void> {
  const silent = createServer((socket) => void socket.on("error", () => {}).resume()).listen(0, "127.0.0.1");
  await once(silent, "listening");
  try {
    await run((silent.address() as AddressInfo).port);
  } finally {
    silent.close();
  }
}

function echo(stream: ByteStream): void {
  let owed = 0;
  stream.receiver = {
    data(bytes) {
      if (stream.write(bytes)) stream.consumed(bytes.length);
      else owed += bytes.length;
    },
    ended: () => stream.end(),
    drained() {
      stream.consumed(owed);
      owed = 0;
    },
    closed() {},
  };
}

/** Returns the response to data that was sent to a tunnel. */
async function through(server: TunnelServer, tunnelId: string, sent: Buffer | string): Promise<string> {
  const session = server.register.tunnels.get(tunnelId);
  assert.ok(session);
  const stream = await openProxy(session, tunnelId);
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    stream.receiver = {
      data(bytes) {
        stream.consumed(bytes.length);
        parts.push(bytes);
      },
      ended: () => resolve(Buffer.concat(parts).toString()),
      drained() {},
      closed: (error) => error && reject(error),
    };
    stream.write(Buffer.from(sent as string));
    stream.end();
  });
}
