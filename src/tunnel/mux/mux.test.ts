import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { seededRandom } from "../../../test/support/random.ts";
import { systemClock } from "../../lib/clock.ts";
import { initialWindow, writeHeader, writeUint32 } from "./frame.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { logFailuresTo } from "../../lib/boundary.ts";
import { Mux } from "./mux.ts";
import type { MuxHandler } from "./mux.ts";
import type { MuxStream } from "./mux-stream.ts";

/** Collects the bytes of a stream. Default: reads them immediately. */
class Sink {
  readonly stream: MuxStream;
  bytes = 0;
  readonly parts: Buffer[] = [];
  hasEnded = false;
  drains = 0;
  closedWith: Error | undefined | null = null;
  takesOn = true;
  readonly #waiting: { readonly holds: () => boolean; readonly go: () => void }[] = [];

  constructor(stream: MuxStream) {
    this.stream = stream;
    stream.receiver = this;
  }

  get text(): string {
    return Buffer.concat(this.parts).toString("latin1");
  }

  data(bytes: Buffer): void {
    this.bytes += bytes.length;
    this.parts.push(bytes);
    if (this.takesOn) this.stream.consumed(bytes.length);
    this.#look();
  }

  ended(): void {
    this.hasEnded = true;
    this.#look();
  }

  drained(): void {
    this.drains += 1;
    this.#look();
  }

  closed(error: Error | undefined): void {
    assert.equal(this.closedWith, null, "closed is called once");
    this.closedWith = error;
    this.#look();
  }

  until(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve();
    return new Promise((go) => this.#waiting.push({ holds, go }));
  }

  #look(): void {
    for (const one of this.#waiting.filter((waiter) => waiter.holds())) {
      this.#waiting.splice(this.#waiting.indexOf(one), 1);
      one.go();
    }
  }
}

interface End extends MuxHandler {
  readonly mux: Mux;
  readonly incomingStreams: MuxStream[];
  readonly bugs: unknown[];
  readonly over: Promise<Error | undefined>;
  /** Resolves with the sink of the next incoming stream. */
  next(): Promise<Sink>;
}

describe("the multiplexer", { timeout: 30_000 }, () => {
  const listener = createServer();
  const sockets: Socket[] = [];

  before(async () => {
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  after(() => listener.close());

  async function socketPair(): Promise<[Socket, Socket]> {
    const accepted = once(listener, "connection") as Promise<[Socket]>;
    const client = connect((listener.address() as AddressInfo).port, "127.0.0.1");
    const [server] = await accepted;
    if (client.connecting) await once(client, "connect");
    sockets.push(client, server);
    for (const socket of [client, server]) socket.on("error", () => {});
    return [server, client];
  }

  function end(socket: Socket, side: "agent" | "server", options: { maxIncoming?: number; clock?: never } = {}): End {
    const over = Promise.withResolvers<Error | undefined>();
    const arrived: Sink[] = [];
    const wanted: ((sink: Sink) => void)[] = [];
    const incomingStreams: MuxStream[] = [];
    const bugs: unknown[] = [];
    const handler = {
      incoming(stream: MuxStream) {
        incomingStreams.push(stream);
        const sink = new Sink(stream);
        const want = wanted.shift();
        if (want) want(sink);
        else arrived.push(sink);
      },
      bug: (error: unknown) => bugs.push(error),
      closed: over.resolve,
    };
    const mux = new Mux(
      socket,
      { side, clock: systemClock, maxIncoming: options.maxIncoming ?? 1000, answersAtOnce: false },
      handler,
    );
    return {
      ...handler,
      mux,
      incomingStreams,
      bugs,
      over: over.promise,
      next() {
        const sink = arrived.shift();
        return sink ? Promise.resolve(sink) : new Promise((resolve) => wanted.push(resolve));
      },
    };
  }

  async function pair(): Promise<{ server: End; agent: End }> {
    const [left, right] = await socketPair();
    return { server: end(left, "server"), agent: end(right, "agent") };
  }

  function open(one: End): Sink {
    const stream = one.mux.open();
    assert.ok(stream);
    return new Sink(stream);
  }

  it("the multiplexer carries bytes both ways and closes a stream after both ends have ended", async () => {
    const { server, agent } = await pair();
    const near = open(server);
    near.stream.write(Buffer.from("ping"));
    const far = await agent.next();
    await far.until(() => far.text === "ping");
    far.stream.writeLatin1("pong");
    far.stream.end();
    await near.until(() => near.hasEnded);
    assert.equal(near.text, "pong");
    assert.equal(near.closedWith, null);
    near.stream.end();
    await Promise.all([near, far].map((sink) => sink.until(() => sink.closedWith !== null)));
    assert.deepEqual([near.closedWith, far.closedWith], [undefined, undefined]);
    assert.deepEqual([server.mux.streamCount, agent.mux.streamCount], [0, 0]);
  });

  it("the multiplexer opens odd streams from 3 as the agent and even streams from 2 as the server", async () => {
    const { server, agent } = await pair();
    assert.deepEqual([server.mux.open()?.id, server.mux.open()?.id, agent.mux.open()?.id], [2, 4, 3]);
  });

  it("the multiplexer sends the writes of one turn in one frame, including the stream's end", async () => {
    const [left, right] = await socketPair();
    const server = end(left, "server");
    const { stream } = open(server);
    stream.writeLatin1("head");
    stream.write(Buffer.from("body"));
    stream.end();
    const [bytes] = (await once(right, "data")) as [Buffer];
    assert.equal(bytes.toString("hex"), `0000081300000002${Buffer.from("headbody").toString("hex")}`);
  });

  it("the multiplexer delivers random writes on many streams unaltered and in order", async () => {
    const random = seededRandom(3);
    const { server, agent } = await pair();
    const content = Buffer.from(Array.from({ length: 300_000 }, () => random.below(256)));
    const sent = new Map<number, Buffer[]>();
    for (let at = 0; at < 40; at += 1) {
      const near = open(server);
      const parts: Buffer[] = [];
      sent.set(near.stream.id, parts);
      const total = 1 + random.below(20);
      let written = 0;
      const writeSome = (): void => {
        while (written < total) {
          written += 1;
          const size = random.pick([1, 10, 100, 4096, 4097, 20_000, 70_000, 250_000]);
          const from = random.below(content.length - size);
          const part = content.subarray(from, from + size);
          parts.push(part);
          if (!near.stream.write(part)) return;
        }
        near.stream.end();
      };
      near.drained = writeSome;
      writeSome();
    }
    for (let at = 0; at < 40; at += 1) {
      const far = await agent.next();
      await far.until(() => far.hasEnded);
      const wanted = Buffer.concat(sent.get(far.stream.id) ?? []);
      assert.ok(Buffer.concat(far.parts).equals(wanted), `stream ${far.stream.id}`);
    }
  });

  it("D3: a stalled reader blocks one window and no other stream of the multiplexer", async () => {
    const { server, agent } = await pair();
    const stalled = open(server);
    const flowing = open(server);
    const block = Buffer.alloc(60_000, 1);
    let pressure = 0;
    stalled.stream.write(Buffer.alloc(1));
    const held = await agent.next();
    held.takesOn = false;
    for (let at = 0; at < 64; at += 1) if (!stalled.stream.write(block)) pressure += 1;
    assert.ok(pressure > 0, "the writer is told to hold on");
    let left = 200;
    const pump = (): void => {
      while (left > 0) {
        left -= 1;
        if (!flowing.stream.write(block)) return;
      }
    };
    flowing.drained = pump;
    pump();
    const taken = await agent.next();
    await taken.until(() => taken.bytes === 200 * block.length);
    assert.equal(held.bytes, initialWindow);
    assert.equal(stalled.stream.queued, 1 + 64 * block.length - initialWindow);
    held.stream.consumed(held.bytes);
    await held.until(() => held.bytes === 2 * initialWindow);
  });

  it("the multiplexer serves a waiting stream between the frames of a busy one", async () => {
    const [left, right] = await socketPair();
    const server = end(left, "server");
    const busy = open(server);
    const quick = open(server);
    busy.stream.write(Buffer.alloc(200_000));
    quick.stream.write(Buffer.alloc(5000));
    const order: number[] = [];
    let header = Buffer.alloc(0);
    const seen = new Promise<void>((resolve) => {
      right.on("data", (bytes: Buffer) => {
        header = Buffer.concat([header, bytes]);
        while (header.length >= 8 && header.length >= 8 + header.readUIntBE(0, 3)) {
          order.push(header.readUInt32BE(4));
          header = header.subarray(8 + header.readUIntBE(0, 3));
        }
        if (order.length === 5) resolve();
      });
    });
    await seen;
    assert.deepEqual(order, [2, 4, 2, 2, 2]);
  });

  it("A4: the multiplexer aborts with FIN, RST and credit, in this order", async () => {
    const [left, right] = await socketPair();
    const server = end(left, "server");
    const near = open(server);
    near.stream.write(Buffer.from("x"));
    await once(right, "data");
    near.stream.abort();
    near.stream.abort();
    const [bytes] = (await once(right, "data")) as [Buffer];
    assert.equal(bytes.toString("hex"), "0000001100000002000004000000000200000006000004200000000200000001");
    assert.ok(near.closedWith instanceof Error);
    assert.equal(server.mux.streamCount, 0);
  });

  it("the multiplexer aborts a stream silently if the peer does not know it", async () => {
    const { server, agent } = await pair();
    open(server).stream.abort();
    open(server).stream.write(Buffer.from("next"));
    const far = await agent.next();
    assert.equal(far.stream.id, 4);
    assert.equal(agent.incomingStreams.length, 1);
  });

  it("the multiplexer drains frames in transit for an aborted stream", async () => {
    const { server, agent } = await pair();
    const near = open(server);
    near.stream.write(Buffer.from("go"));
    const far = await agent.next();
    for (let at = 0; at < 4; at += 1) far.stream.write(Buffer.alloc(65_536));
    near.stream.abort();
    await far.until(() => far.closedWith !== null);
    const again = open(server);
    again.stream.write(Buffer.from("still there"));
    const other = await agent.next();
    await other.until(() => other.text === "still there");
    assert.equal(near.bytes, 0);
  });

  it("the multiplexer refuses streams beyond the limit of open streams", async () => {
    const [left, right] = await socketPair();
    const server = end(left, "server", { maxIncoming: 2 });
    const agent = end(right, "agent");
    const sinks = [open(agent), open(agent), open(agent)];
    for (const sink of sinks) sink.stream.write(Buffer.from("x"));
    await sinks[2]?.until(() => sinks[2]?.closedWith !== null);
    assert.match(sinks[2]?.closedWith?.message ?? "", /code 9/);
    assert.equal(server.incomingStreams.length, 2);
    sinks[0]?.stream.abort();
    const fourth = open(agent);
    fourth.stream.write(Buffer.from("fits again"));
    while (server.incomingStreams.length < 3) await server.next();
  });

  it("the multiplexer closes every stream once with the reason if the connection breaks", async () => {
    const { server, agent } = await pair();
    const near = open(server);
    near.stream.write(Buffer.from("x"));
    const far = await agent.next();
    sockets.at(-1)?.destroy();
    await server.over;
    assert.ok(near.closedWith instanceof Error);
    await agent.over;
    assert.ok(far.closedWith instanceof Error);
    assert.equal(server.mux.open(), undefined);
  });

  it("the multiplexer sends GOAWAY, and the peer's streams end", async () => {
    const { server, agent } = await pair();
    const near = open(server);
    near.stream.write(Buffer.from("x"));
    const far = await agent.next();
    server.mux.close(0, "over");
    assert.equal(await server.over, undefined);
    assert.match((await agent.over)?.message ?? "", /goodbye/);
    assert.ok(far.closedWith instanceof Error);
  });

  for (const method of ["data", "ended", "drained", "closed"] as const) {
    it(`the multiplexer ends one stream and not the session if its receiver throws in ${method}`, async () => {
      const reported: unknown[] = [];
      logFailuresTo({ error: (_event, { error }) => void reported.push(error) });
      const { server, agent } = await pair();
      const near = open(server);
      const bug = new Error("a bug");
      near[method] = () => {
        near[method] = () => {};
        throw bug;
      };
      const isJammed = !near.stream.write(Buffer.alloc(method === "drained" ? 200_000 : 1));
      const far = await agent.next();
      if (method === "closed") far.stream.abort();
      else if (method === "ended") far.stream.end();
      else far.stream.write(Buffer.from("y"));
      await eventually(
        () => reported.length,
        (count) => count > 0,
      );
      assert.equal(isJammed, method === "drained");
      assert.deepEqual(reported, [bug]);
      const other = open(server);
      other.stream.write(Buffer.from("x"));
      const heard = await agent.next();
      await heard.until(() => heard.text === "x");
      assert.deepEqual(server.bugs, []);
    });
  }

  describe("cuts off a peer", () => {
    const frame = (type: number, flags: number, streamId: number, body: Buffer): Buffer => {
      const whole = Buffer.concat([Buffer.alloc(8), body]);
      writeHeader(whole, 0, body.length, (type << 4) | flags, streamId);
      return whole;
    };
    const word = (value: number): Buffer => {
      const bytes = Buffer.alloc(4);
      writeUint32(bytes, 0, value);
      return bytes;
    };
    const syn = frame(1, 2, 3, Buffer.from("x"));

    for (const [what, code, bytes] of [
      ["that sends more than its credit", 3, Buffer.concat([syn, frame(1, 0, 3, Buffer.alloc(initialWindow))])],
      ["that announces more than its credit", 3, Buffer.from("ffffff1200000003", "hex")],
      ["that opens a stream of the wrong parity", 1, frame(1, 2, 4, Buffer.from("x"))],
      ["that gives more credit than fits", 3, Buffer.concat([syn, frame(2, 0, 3, word(0x7fffffff))])],
      [
        "that floods with empty frames",
        10,
        Buffer.concat([syn, Buffer.concat(repeat(frame(1, 0, 3, Buffer.alloc(0)), 30_000))]),
      ],
      ["that floods with credit for nothing", 10, Buffer.concat(repeat(frame(2, 0, 9, word(1)), 30_000))],
      ["that floods with unknown frames", 10, Buffer.concat(repeat(frame(7, 0, 0, Buffer.alloc(20)), 30_000))],
      ["that floods with resets", 10, Buffer.concat(repeat(frame(0, 0, 9, word(1)), 30_000))],
      ["that talks on streams that never were", 10, Buffer.concat(repeat(frame(1, 0, 9, Buffer.from("x")), 3000))],
    ] as const) {
      it(what, async () => {
        const [left, right] = await socketPair();
        const server = end(left, "server");
        let heard = Buffer.alloc(0);
        right.on("data", (more: Buffer) => (heard = Buffer.concat([heard, more])));
        right.write(bytes);
        const error = await server.over;
        assert.equal((error as Error & { code?: number })?.code, code);
        await once(right, "end");
        const goAway = heard.indexOf("30000000000000", 0, "hex");
        assert.ok(goAway > 0, "GOAWAY is sent");
        assert.deepEqual(server.bugs, []);
      });
    }

    it("the multiplexer cuts off a peer that continues to open streams beyond its limit", async () => {
      const [left, right] = await socketPair();
      const server = end(left, "server", { maxIncoming: 10 });
      for (let id = 3; id < 30_000; id += 2) right.write(frame(1, 2, id, Buffer.from("x")));
      right.resume();
      assert.equal(((await server.over) as Error & { code?: number })?.code, 10);
      assert.equal(server.incomingStreams.length, 10);
    });
  });

  it("the multiplexer cuts off a peer that does not read its GOAWAY", async () => {
    const [left, right] = await socketPair();
    const clock = makeManualClock();
    right.pause();
    const mux = new Mux(
      left,
      { side: "server", clock, maxIncoming: 10, answersAtOnce: false },
      { incoming() {}, bug() {}, closed() {} },
    );
    const closed = once(left, "close");
    for (let at = 0; at < 80; at += 1) {
      const stream = mux.open();
      for (let part = 0; part < 4; part += 1) stream?.write(Buffer.alloc(65_536));
    }
    await new Promise(setImmediate);
    mux.close(0, "");
    clock.pass(1000);
    await closed;
  });
});

function repeat<T>(one: T, times: number): T[] {
  return Array.from({ length: times }, () => one);
}
