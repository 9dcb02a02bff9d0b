/** Harmful clients: each gets an error or is disconnected, and other clients are served meanwhile. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { connect as connectTcp } from "node:net";
import { after, before, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import type { Protocol } from "../support/http-client.ts";
import { block, codes, flags, frame, RawH2, settings, types, uint32 } from "../support/h2-frames.ts";
import { opcodes, openWebSocket } from "../support/websocket.ts";

const clients = 12;
const maxBodyBytes = 1_000_000;
const head = `POST / HTTP/1.1\r\nHost: ${host}\r\n`;
const slow = { helloTimeoutMs: 2000, handshakeTimeoutMs: 2000 };
let fixture: EdgeWithAgent;
const open = new Set<{ destroy(): void }>();

before(async () => {
  const limits = { http: { maxBodyBytes }, connections: slow };
  fixture = await startEdgeWithAgent({ limits, allowLocalUpstreams: true });
});
after(async () => {
  for (const one of open) one.destroy();
  await fixture.stop();
});

/** Somebody else, who has nothing to do with it. */
async function othersAreServed(): Promise<void> {
  for (const protocol of protocols) {
    const { status, body } = await fixture.ask(protocol, { source: "127.0.0.9", path: "/others" });
    assert.deepEqual([status, body.toString()], [200, "served"]);
  }
}

function all<Result>(one: (index: number) => Promise<Result>): Promise<Result[]> {
  return Promise.all(Array.from({ length: clients }, (_, index) => one(index)));
}

async function openHttp1(): Promise<{
  readonly socket: TLSSocket;
  readonly said: () => string;
  readonly ended: Promise<void>;
}> {
  const socket = await fixture.connect("h1");
  open.add(socket);
  let said = "";
  socket.on("data", (bytes: Buffer) => (said += bytes.toString("latin1")));
  socket.on("error", () => {});
  const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.once("end", () => socket.end());
  return { socket, said: () => said, ended };
}

async function openHttp2(): Promise<RawH2> {
  const { port } = fixture.edge.edge.https;
  const raw = await RawH2.open({ port, host, ca: fixture.edge.authority.certificatePem });
  open.add(raw);
  return raw;
}

/** Connections that send `bytes`, once with others in between, and are answered with `status` and closed. */
async function areRefused(bytes: string, status: number, wait: () => void = () => {}): Promise<void> {
  const attackers = await all(openHttp1);
  const reached = fixture.received.length;
  for (const { socket } of attackers) socket.write(bytes);
  await othersAreServed();
  wait();
  for (const { said, ended } of attackers) {
    await ended;
    assert.match(said(), new RegExp(`^HTTP/1\\.1 ${status} `));
  }
  await othersAreServed();
  assert.ok(fixture.received.slice(reached).every(({ url }) => url === "/others"));
}

describe("others are served, and nothing reaches the service, while HTTP/1.1 clients", () => {
  it("W7: others are served, and nothing reaches the service, while HTTP/1.1 clients send oversized headers: 431", () =>
    areRefused(`${head}X: ${"x".repeat(100_000)}`, 431));

  it("W7: others are served, and nothing reaches the service, while HTTP/1.1 clients send too many headers: 431", () =>
    areRefused(`${head}${"X: 1\r\n".repeat(200)}\r\n`, 431));

  it("W7: others are served, and nothing reaches the service, while HTTP/1.1 clients announce too large a body: 413", () =>
    areRefused(`${head}Content-Length: 1000001\r\n\r\n`, 413));

  it("W7: others are served, and nothing reaches the service, while HTTP/1.1 clients send a body without end: 413, and reading stops", async () => {
    const attackers = await all(openHttp1);
    const chunk = `4000\r\n${"x".repeat(16_384)}\r\n`;
    await Promise.all(
      attackers
        .map(async ({ socket, said, ended }) => {
          socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
          while (!socket.closed && socket.writable) {
            if (socket.write(chunk)) await turn();
            else await Promise.race([once(socket, "drain"), ended]);
          }
          await ended;
          assert.match(said(), /^HTTP\/1\.1 413 /);
        })
        .concat(othersAreServed(), othersAreServed()),
    );
    await othersAreServed();
  });

  it("D2: others are served, and nothing reaches the service, while HTTP/1.1 clients do not finish their headers: 408", () =>
    areRefused(`${head}X-Slow: `, 408, () => fixture.clock.move(11_000)));

  it("D2: others are served, and nothing reaches the service, while HTTP/1.1 clients do not finish their bodies: 408", () =>
    areRefused(`${head}Content-Length: 1000\r\n\r\nx`, 408, () => fixture.clock.move(11_000)));
});

describe("others are served while HTTP/2 clients", () => {
  const id = (index: number): number => 2 * index + 1;
  const fields: [string, string][] = [
    [":method", "GET"],
    [":scheme", "https"],
    [":authority", host],
    [":path", "/"],
  ];
  const request = (streamId: number): Buffer => frame(types.headers, flags.endHeaders | 1, streamId, block(fields));
  const floods: Record<string, (index: number) => Buffer> = {
    "reset what they ask for": (index) =>
      Buffer.concat([request(id(index)), frame(types.rstStream, 0, id(index), uint32(codes.cancel))]),
    "send CONTINUATION frames without end": (index) =>
      index === 0 ? frame(types.headers, flags.endStream, 1, block(fields)) : frame(types.continuation, 0, 1),
    "send SETTINGS without end": () => frame(types.settings, 0, 0, settings([3, 100])),
    "send PING without end": () => frame(types.ping, 0, 0, Buffer.alloc(8)),
  };
  for (const [what, make] of Object.entries(floods)) {
    it(`D1: others are served while HTTP/2 clients: ${what}: cut off`, async () => {
      const attackers = await all(openHttp2);
      const attacks = attackers.map(async (raw) => {
        for (let index = 0; index < 600 && !raw.socket.closed; index += 50) {
          raw.send(...Array.from({ length: 50 }, (_, at) => make(index + at)));
          await turn();
        }
        // A client that continues to send may be disconnected before it reads the reason.
        const code = await raw.goawayCode();
        assert.ok(code === undefined || code === codes.enhanceYourCalm);
        await raw.closed();
      });
      await othersAreServed();
      await Promise.all(attacks);
      await othersAreServed();
    });
  }

  it("D1: others are served while HTTP/2 clients send small blocks that decode to large headers: 431, on connections that continue", async () => {
    const attackers = await all(openHttp2);
    const bomb = Buffer.concat([block(fields), block([["x-bomb", "x".repeat(4000)]], 0x40), Buffer.alloc(8000, 0xbe)]);
    for (const raw of attackers) for (let at = 0; at < 10; at += 1) raw.send(frame(types.headers, 5, id(at), bomb));
    await othersAreServed();
    for (const raw of attackers) {
      // Indexed ":status", then the three digits.
      const answer = await raw.takeType(types.headers, id(9));
      assert.match(answer?.payload.toString("latin1") ?? "", /431/);
      raw.request(id(10));
      assert.equal((await raw.takeType(types.headers, id(10)))?.payload[0], 0x88);
      raw.destroy();
    }
  });

  it("W7: others are served while HTTP/2 clients send too many headers, too large ones, or too large a body: 431 and 413", async () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`x-${index}`, "1"]));
    const asked = [{ headers: many }, { headers: { "x-large": "x".repeat(40_000) } }];
    assert.deepEqual(
      (await Promise.all(asked.map((one) => fixture.ask("h2", one)))).map(({ status }) => status),
      [431, 431],
    );
    const bodies = all(() => fixture.ask("h2", { method: "POST", body: Buffer.alloc(maxBodyBytes + 1) }));
    await othersAreServed();
    for (const { status } of await bodies) assert.equal(status, 413);
  });

  it("D2: others are served while HTTP/2 clients do not finish their headers or their bodies: cut off, and 408", async () => {
    const halves = await all(openHttp2);
    const bodies = await all(openHttp2);
    for (const raw of halves) raw.send(frame(types.headers, flags.endStream, 1, block(fields)));
    for (const raw of bodies) {
      raw.request(1, [[":method", "POST"], ...fields.slice(1)], false);
      raw.send(frame(types.data, 0, 1, Buffer.from("x")));
      await raw.settled();
    }
    await othersAreServed();
    fixture.clock.move(11_000);
    fixture.clock.move(11_000);
    for (const raw of halves) await raw.closed();
    for (const raw of bodies) {
      assert.match((await raw.takeType(types.headers, 1))?.payload.toString("latin1") ?? "", /408/);
      raw.destroy();
    }
    await othersAreServed();
  });
});

describe("others are served while WebSocket clients", () => {
  const sockets = new Set<Socket>();
  const arrived = { bytes: 0 };
  const service = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => (arrived.bytes += bytes.length));
  });
  before(async () => {
    await once(service.listen(0, "127.0.0.1"), "listening");
    const address = `127.0.0.1:${(service.address() as AddressInfo).port}`;
    fixture.put("static_backend", "bkdsc_tcp", { address, tls: { enabled: false } });
    fixture.put("https_edge_route", "edghtsrt_ws", {
      edge_id: "edghts_1",
      match_type: "path_prefix",
      match: "/ws",
      websocket_tcp_converter: { enabled: true },
      backend: { enabled: true, backend_id: "bkdsc_tcp" },
    });
  });
  after(() => {
    for (const socket of sockets) socket.destroy();
    service.close();
  });

  const fragments = async (protocol: Protocol): Promise<void> => {
    const client = await openWebSocket(fixture, protocol, { path: "/ws" });
    open.add(client);
    arrived.bytes = 0;
    client.send(opcodes.binary, "x", false);
    for (let count = 0; count < 5000; count += 1) {
      client.send(opcodes.continuation, count % 2 === 0 ? "" : Buffer.alloc(2000), false);
      if (count % 500 === 0) await othersAreServed();
    }
    // A message without end is passed on as it arrives, without buffering.
    client.send(opcodes.ping, "still here");
    assert.equal((await client.next()).payload.toString(), "still here");
    while (arrived.bytes < 1 + 2500 * 2000) await turn();
    await othersAreServed();
    client.destroy();
  };
  for (const protocol of protocols) {
    it(`W6: others are served while WebSocket clients send endless fragments over ${protocol}: none are buffered`, () =>
      fragments(protocol));
  }
});

describe("others are served while TLS clients", () => {
  it("D4, K3: others are served while TLS clients begin handshakes and do not finish them: cut off", async () => {
    const hello = await new Promise<Buffer>((resolve) => {
      const catcher = createServer((socket) => {
        socket.once("data", (bytes: Buffer) => {
          resolve(bytes);
          socket.destroy();
          catcher.close();
        });
      }).listen(0, "127.0.0.1", () => {
        const { port } = catcher.address() as AddressInfo;
        void RawH2.connect({ port, host, ca: "" }).catch(() => {});
      });
    });
    const { port } = fixture.edge.edge.https;
    const attackers = Array.from({ length: 300 }, (_, index) => {
      const socket = connectTcp({ port, host: "127.0.0.1" });
      open.add(socket);
      socket.on("error", () => {});
      socket.resume();
      // Nothing, a part of the ClientHello, and all of it.
      socket.write(hello.subarray(0, [0, 40, hello.length][index % 3]));
      return once(socket, "close");
    });
    for (let count = 0; count < 5; count += 1) await othersAreServed();
    await Promise.all(attackers);
    await othersAreServed();
  });
});
