import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { discardingReceiver } from "../../lib/io/byte-stream.ts";
import type { ByteStream } from "../../lib/io/byte-stream.ts";
import { makeManualClock } from "../../../test/support/clock.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import { silentLog } from "../../lib/log.ts";
import { makeMetrics } from "../../lib/metrics.ts";
import type { NoStream, ProxyHeader } from "../../tunnel/server-hooks.ts";
import type { PeerHost } from "./arriving-stream.ts";
import type { PeerPlace } from "./peer-transport.ts";
import { makeDialledLines } from "./dialled-lines.ts";
import { makePeers } from "./peers.ts";
import type { PeerRequest } from "./peer-request.ts";
import { unixTransport } from "./unix-transport.ts";
import type { Peers } from "./peers.ts";

const header: ProxyHeader = {
  tunnelId: "tn_1",
  clientAddress: "192.0.2.1:1",
  proto: "https",
  edgeType: "endpoint",
  passthroughTls: false,
};
const watcher = { accepted() {}, released() {}, forgotten() {} };

describe("a line between edges", () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-peers-"));
  const open: { close(): void }[] = [];
  after(() => {
    for (const one of open) one.close();
    rmSync(directory, { recursive: true });
  });
  let places = 0;
  const newPath = (): string => join(directory, `${(places += 1)}.sock`);
  const placeOf = (path: string) => ({ edgeId: "edge_1", address: `unix:${path}` });
  const edge = (secret: number, path: string, host: Partial<PeerHost> = {}, clock: Clock = systemClock): Peers => {
    const none: PeerHost = {
      openProxy(_header, take) {
        take(undefined, "tunnel_gone");
        return undefined;
      },
      ask: (_id, done) => done(false),
      tellTimes: () => {},
      answer: async ({ call }) => ({ type: "answer", call, answer: undefined }),
    };
    const parts = { clock, log: silentLog, metrics: makeMetrics() };
    const beside = { path, secret: Buffer.alloc(32, secret) };
    const peers = makePeers({ ...parts, edgeId: "edge_1", beside, host: { ...none, ...host } });
    open.push(peers);
    return peers;
  };
  const ask = (from: Peers, place: PeerPlace): Promise<ByteStream | NoStream> =>
    new Promise((resolve) =>
      from.open(place, header, watcher, (stream, why) => resolve(stream ?? why ?? "tunnel_gone")),
    );

  it("a line between edges reports that a tunnel has closed, without a request to a third edge", async () => {
    const asked: string[] = [];
    const at = newPath();
    const other = edge(1, at, {
      openProxy({ tunnelId }, take) {
        asked.push(tunnelId);
        take(undefined, "tunnel_busy");
        return undefined;
      },
    });
    await other.listen();
    assert.equal(await ask(edge(1, newPath()), placeOf(at)), "tunnel_busy");
    assert.deepEqual(asked, ["tn_1"]);
  });

  it("a line between edges responds to requests of newer versions and continues", async () => {
    const at = newPath();
    const other = edge(1, at, { ask: (_id, done) => done(true) });
    await other.listen();
    const transport = unixTransport({ path: newPath(), secret: Buffer.alloc(32, 1) }, systemClock, silentLog);
    const lines = makeDialledLines([transport], systemClock, silentLog);
    open.push(lines);
    const answer = (request: object): Promise<boolean> =>
      new Promise((resolve) =>
        lines.ask(placeOf(at), request as PeerRequest, (stream) => resolve(stream !== undefined)),
      );
    assert.equal(await answer({ name: "ask", sessionId: "ts_1", colour: "unknown here" }), true);
    assert.equal(await answer({ name: "paint", colour: "unknown here" }), false);
    assert.equal(await answer({ name: "ask", sessionId: "ts_1" }), true);
  });

  it("a line between edges sends request durations to the other edge", async () => {
    const told = Promise.withResolvers<readonly string[]>();
    const at = newPath();
    await edge(1, at, { tellTimes: (...given) => told.resolve(given) }).listen();
    edge(1, newPath()).tellTimes(placeOf(at), "ts_1", "req_1 2 3\n");
    assert.deepEqual(await told.promise, ["ts_1", "req_1 2 3\n"]);
  });

  it("a line between edges is refused to a peer without the secret", async () => {
    const asked: string[] = [];
    const at = newPath();
    await edge(1, at, { ask: (id) => void asked.push(id) }).listen();
    assert.equal(await ask(edge(2, newPath()), placeOf(at)), "tunnel_gone");
    const stranger = connect({ path: at });
    stranger.on("error", () => {});
    stranger.write(Buffer.alloc(64));
    stranger.resume();
    await once(stranger, "close");
    assert.deepEqual(asked, []);
  });

  it("a line between edges sends no request to a listener without the secret", async () => {
    const at = newPath();
    let heard = 0;
    const impostor = createServer((socket: Socket) => {
      socket.on("error", () => {});
      socket.on("data", (bytes: Buffer) => (heard += bytes.length));
      socket.write(Buffer.alloc(64));
    }).listen({ path: at });
    await once(impostor, "listening");
    assert.equal(await ask(edge(1, newPath()), placeOf(at)), "tunnel_gone");
    impostor.close();
    await once(impostor, "close");
    assert.ok(heard <= 32, `${heard} bytes are more than a nonce`);
  });

  it("a line between edges reopens after a cut and reports an unreachable edge", async () => {
    const at = newPath();
    const clock = makeManualClock();
    const from = edge(1, newPath(), {}, clock);
    assert.equal(await ask(from, placeOf(at)), "tunnel_gone");
    const first = edge(1, at, { ask: (_id, done) => done(true) });
    await first.listen();
    const isThere = (): Promise<boolean> => new Promise((resolve) => from.ask(placeOf(at), "ts_1", resolve));
    assert.equal(await isThere(), false, "an edge that was not there a moment ago is not dialled again");
    clock.pass(250);
    assert.equal(await isThere(), true);
    first.close();
    await edge(1, at, { ask: (_id, done) => done(true) }).listen();
    // While the line breaks, each question is answered as if there were no agent.
    while (!(await isThere())) clock.pass(250);
  });

  it("a line between edges takes no requests while its other end is silent, and fails if that lasts", async () => {
    const at = newPath();
    const clock = makeManualClock();
    let isSilent = false;
    let greetings = 0;
    /** Of the first request. Later ones get no stream. */
    let agentStream: ByteStream | undefined = {
      receiver: discardingReceiver,
      write: () => true,
      writeLatin1: () => true,
      end() {},
      abort() {},
      consumed() {},
    };
    const there = edge(1, at, {
      ask(sessionId, done) {
        if (sessionId === "") greetings += 1;
        if (!isSilent) done(sessionId !== "");
      },
      openProxy(_header, take) {
        if (agentStream) take(agentStream);
        agentStream = undefined;
        return { withdraw: () => true };
      },
    });
    await there.listen();
    const from = edge(1, newPath(), {}, clock);
    const isThere = (): Promise<boolean> => new Promise((resolve) => from.ask(placeOf(at), "ts_1", resolve));
    assert.equal(await isThere(), true);
    let stalls = 0;
    const opened = (await ask(from, placeOf(at))) as ByteStream;
    opened.receiver = { ...discardingReceiver, stalled: () => void (stalls += 1) };
    let lost: NoStream | undefined;
    const losing = new Promise<void>((resolve) => {
      from.open(placeOf(at), header, watcher, (_stream, why) => {
        lost = why;
        resolve();
      });
    });
    for (let look = 1; look <= 8; look += 1) {
      // The second check has received nothing since the first and sends a question.
      clock.pass(500);
      clock.pass(500);
      assert.equal(await isThere(), true);
      assert.equal(greetings, look);
    }
    assert.equal(lost, undefined);
    isSilent = true;
    clock.pass(2_500);
    await losing;
    assert.equal(lost, "tunnel_gone");
    assert.equal(stalls, 1);
    assert.equal(await isThere(), false);
    isSilent = false;
    const answers = async (): Promise<void> => {
      while (!(await isThere())) clock.pass(500);
    };
    await answers();
    isSilent = true;
    clock.pass(30_000);
    isSilent = false;
    await answers();
  });

  it("a line between edges forgets a withdrawn opening at both ends", async () => {
    const at = newPath();
    const withdrawn = Promise.withResolvers<void>();
    const other = edge(1, at, {
      openProxy: () => ({
        withdraw() {
          withdrawn.resolve();
          return true;
        },
      }),
      ask: (_id, done) => done(true),
    });
    await other.listen();
    const from = edge(1, newPath());
    await new Promise<boolean>((resolve) => from.ask(placeOf(at), "ts_1", resolve));
    const opening = from.open(placeOf(at), header, watcher, () => assert.fail("it was withdrawn"));
    await new Promise<boolean>((resolve) => from.ask(placeOf(at), "ts_1", resolve));
    assert.equal(opening?.withdraw(), true);
    await withdrawn.promise;
  });
});
