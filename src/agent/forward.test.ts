import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { systemClock } from "../lib/clock.ts";
import { socketStream } from "../lib/io/socket-stream.ts";
import { forward } from "./forward.ts";
import { parseUpstream } from "./upstream.ts";
import { discardingReceiver } from "../lib/io/byte-stream.ts";

/** A forwarded connection. `visitor` is the far end of the socket that stands for the tunnel stream. */
async function open(tunnels: Server, upstream: string, http = true) {
  const accepted = once(tunnels, "connection") as Promise<[Socket]>;
  const visitor = connect({ port: (tunnels.address() as AddressInfo).port, allowHalfOpen: true });
  const [socket] = await accepted;
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  let failure: Error | undefined;
  forward(socketStream(socket, discardingReceiver), {
    upstream: parseUpstream(upstream),
    clock: systemClock,
    http,
    watch: undefined,
    unreachable: (error) => (failure = error),
  });
  visitor.on("error", () => {});
  return { visitor, closed, failure: () => failure };
}

/** Reads everything up to the peer's end. Unlike with `for await`, the socket can still be written afterwards. */
async function readAll(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  if (!socket.readableEnded) await once(socket, "end");
  return text;
}

/** Whether the socket drains before all transfers stall. */
async function drainedSoon(socket: Socket): Promise<boolean> {
  for (let turns = 0, left = socket.writableLength; turns < 200; turns += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    if (socket.writableLength === 0) return true;
    if (socket.writableLength < left) [turns, left] = [0, socket.writableLength];
  }
  return false;
}

describe("forwarding", () => {
  const tunnels = createServer({ allowHalfOpen: true });
  const services = createServer({ allowHalfOpen: true });
  let service: string;

  before(async () => {
    tunnels.listen(0, "127.0.0.1");
    services.listen(0, "127.0.0.1");
    await Promise.all([once(tunnels, "listening"), once(services, "listening")]);
    service = `127.0.0.1:${(services.address() as AddressInfo).port}`;
  });
  after(() => {
    tunnels.close();
    services.close();
  });
  const accept = async (): Promise<Socket> => ((await once(services, "connection")) as [Socket])[0];

  it("forwarding passes bytes both ways and preserves half-closes", async () => {
    const accepting = accept();
    const { visitor, closed } = await open(tunnels, service);
    const local = await accepting;
    visitor.end("question");
    assert.equal(await readAll(local), "question");
    local.end("answer, after the visitor's end");
    assert.equal(await readAll(visitor), "answer, after the visitor's end");
    await closed;
  });

  it("forwarding passes on a cut by the service", async () => {
    const accepting = accept();
    const { visitor, closed } = await open(tunnels, service);
    const local = await accepting;
    visitor.write("x");
    await once(local, "data");
    local.resetAndDestroy();
    await closed;
    assert.equal(await readAll(visitor), "");
    visitor.destroy();
  });

  it("forwarding passes on a cut by the visitor", async () => {
    const accepting = accept();
    const { visitor, closed } = await open(tunnels, service);
    const local = await accepting;
    const failed = once(local.resume(), "close").catch((error: NodeJS.ErrnoException) => error.code);
    visitor.resetAndDestroy();
    await closed;
    assert.equal(await failed, "ECONNRESET");
  });

  it("D3: a service that does not read slows the visitor down, and everything arrives once it reads", async () => {
    const accepting = accept();
    const { visitor, closed } = await open(tunnels, service);
    const local = await accepting;
    // Only as much as the socket buffers hold is accepted before the visitor has to wait.
    const block = Buffer.alloc(1 << 20, "x");
    let sent = 1;
    while (visitor.write(block) || (await drainedSoon(visitor))) sent += 1;
    assert(sent < 64, `the visitor could send ${sent} MiB to a service that reads nothing`);
    let received = 0;
    local.on("data", (chunk: Buffer) => (received += chunk.length));
    visitor.end();
    await once(local, "end");
    assert.equal(received, sent << 20);
    local.end();
    visitor.resume();
    await closed;
  });

  it("forwarding answers 502 with the agent's error code when the service cannot be reached", async () => {
    const unused = createServer();
    unused.listen(0, "127.0.0.1");
    await once(unused, "listening");
    const { port } = unused.address() as AddressInfo;
    unused.close();
    await once(unused, "close");
    const { visitor, closed, failure } = await open(tunnels, `127.0.0.1:${port}`);
    visitor.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    visitor.end();
    const answer = await readAll(visitor);
    assert.match(answer, /^HTTP\/1\.1 502 /);
    assert.match(answer, /\r\npostern-agent-error: 8012\r\n/);
    assert.match(answer, new RegExp(`127\\.0\\.0\\.1:${port} \\(ECONNREFUSED\\)`));
    assert.equal((failure() as NodeJS.ErrnoException).code, "ECONNREFUSED");
    await closed;
  });

  it("forwarding sends no HTTP error on a connection that is not HTTP", async () => {
    const { visitor, closed } = await open(tunnels, "127.0.0.1:1", false);
    visitor.end();
    assert.equal(await readAll(visitor), "");
    await closed;
  });
});
