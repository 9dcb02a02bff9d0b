import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import type { Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import { systemClock } from "../../lib/clock.ts";
import { silentLog } from "../../lib/log.ts";
import { makeMetrics } from "../../lib/metrics.ts";
import { createAuthority, createSelfSigned, issueLeaf } from "../../lib/certificates/x509.ts";
import type { KeyedCertificate, LeafOptions } from "../../lib/certificates/x509.ts";
import type { ByteStream } from "../../lib/io/byte-stream.ts";
import type { NoStream } from "../../tunnel/server-hooks.ts";
import { makePeers } from "./peers.ts";
import type { Peers } from "./peers.ts";
import type { PeerPlace } from "./peer-transport.ts";
import { dayMs } from "../../lib/durations.ts";

const now = Date.now();
const leaf: LeafOptions = {
  names: ["peer.postern.internal"],
  commonName: "edge_stranger",
  usages: ["serverAuth", "clientAuth"],
  now,
  days: 1,
};

describe("a line between nodes", () => {
  const open: { close(): void }[] = [];
  let authority: KeyedCertificate;
  let other: KeyedCertificate;
  /** Requests that the listening edge received. */
  const asked: string[] = [];
  let port = 0;

  const edge = (edgeId: string, by: KeyedCertificate, ids: string[] = []): Peers => {
    const peers = makePeers({
      edgeId,
      nodes: { listen: { host: "127.0.0.1", port: 0 }, authority: by },
      host: {
        openProxy({ tunnelId }, take) {
          ids.push(tunnelId);
          take(undefined, "tunnel_busy");
          return undefined;
        },
        ask: (_id, done) => done(true),
        tellTimes: () => {},
        answer: async ({ call }) => ({ type: "answer", call, answer: { name: "reached", isReached: true } }),
      },
      clock: systemClock,
      log: silentLog,
      metrics: makeMetrics(),
    });
    open.push(peers);
    return peers;
  };
  const listening = async (
    edgeId: string,
    by: KeyedCertificate,
    ids: string[] = [],
  ): Promise<PeerPlace & { peers: Peers }> => {
    const peers = edge(edgeId, by, ids);
    return { edgeId, address: `tls:127.0.0.1:${(await peers.listen()).port}`, peers };
  };
  const ask = (from: Peers, place: PeerPlace): Promise<ByteStream | NoStream> =>
    new Promise((resolve) =>
      from.open(
        place,
        { tunnelId: "tn_1", clientAddress: "192.0.2.1:1", proto: "https", edgeType: "endpoint", passthroughTls: false },
        { accepted() {}, released() {}, forgotten() {} },
        (stream, why) => resolve(stream ?? why ?? "tunnel_gone"),
      ),
    );
  /** Resolves with true when the other end has closed, and with false if it accepted our first bytes. */
  const isRefused = async (socket: Socket, bytes?: Buffer): Promise<boolean> => {
    socket.on("error", () => {});
    socket.resume();
    if (bytes) socket.write(bytes);
    if (!socket.closed) await new Promise<void>((resolve) => socket.once("close", () => resolve()));
    return asked.length === 0;
  };

  before(async () => {
    authority = await createAuthority({ commonName: "nodes", now });
    other = await createAuthority({ commonName: "nodes", now });
    port = Number((await listening("edge_target", authority, asked)).address.split(":").at(-1));
  });
  after(() => {
    for (const one of open) one.close();
  });

  it("a line between nodes carries streams and questions to the intended edge", async () => {
    const ids: string[] = [];
    const there = await listening("edge_1", authority, ids);
    const { peers: here } = await listening("edge_2", authority);
    assert.equal(await ask(here, there), "tunnel_busy");
    assert.deepEqual(ids, ["tn_1"]);
    const question = { name: "reached" as const, revision: 1, change: 1, timeoutMs: 1 };
    const answer = await here.relay(there, { type: "question", call: 7, question });
    assert.deepEqual(answer, { type: "answer", call: 7, answer: { name: "reached", isReached: true } });
  });

  it("G6: a line between nodes is not opened to another edge at the same address", async () => {
    const ids: string[] = [];
    const there = await listening("edge_3", authority, ids);
    const { peers: here } = await listening("edge_4", authority);
    assert.equal(await ask(here, { ...there, edgeId: "edge_before" }), "tunnel_gone");
    assert.deepEqual(ids, []);
  });

  it("G6: a line between nodes is not opened to or from another cluster's edge", async () => {
    const ids: string[] = [];
    const there = await listening("edge_5", other, ids);
    const { peers: here } = await listening("edge_6", authority);
    assert.equal(await ask(here, there), "tunnel_gone");
    const stranger = await listening("edge_7", other);
    assert.equal(await ask(stranger.peers, { edgeId: "edge_target", address: `tls:127.0.0.1:${port}` }), "tunnel_gone");
    assert.deepEqual([...ids, ...asked], []);
  });

  const credentials: readonly (readonly [string, () => Promise<KeyedCertificate | undefined>])[] = [
    ["no certificate", async () => undefined],
    ["a certificate that vouches for itself", () => createSelfSigned(leaf)],
    ["a certificate of another cluster", () => issueLeaf(other, leaf)],
    ["a certificate that has expired", () => issueLeaf(authority, { ...leaf, now: now - 3 * dayMs })],
    ["a certificate that is not valid yet", () => issueLeaf(authority, { ...leaf, now: now + 3 * dayMs })],
    ["a certificate for servers alone", () => issueLeaf(authority, { ...leaf, usages: ["serverAuth"] })],
  ];
  for (const [what, make] of credentials) {
    it(`G6: a line between nodes is refused to a peer with ${what}`, async () => {
      const made = await make();
      const socket = connectTls({
        host: "127.0.0.1",
        port,
        rejectUnauthorized: false,
        ALPNProtocols: ["postern-peer/1"],
        ...(made && { cert: made.certificatePem, key: made.keyPem }),
      });
      assert.ok(await isRefused(socket, Buffer.alloc(64)));
    });
  }

  it("G6: a line between nodes is refused to a peer with another protocol or none", async () => {
    const made = await issueLeaf(authority, leaf);
    const material = { cert: made.certificatePem, key: made.keyPem, rejectUnauthorized: false };
    for (const ALPNProtocols of [["h2"], []]) {
      assert.ok(await isRefused(connectTls({ host: "127.0.0.1", port, ...material, ALPNProtocols })));
    }
    assert.ok(await isRefused(connectTcp(port, "127.0.0.1"), Buffer.from("GET / HTTP/1.1\r\n\r\n")));
  });

  it("G6: a line between nodes ends at the first invalid frame or request", async () => {
    const made = await issueLeaf(authority, leaf);
    /** DATA with SYN, of the given number of bytes. */
    const opening = (streamId: number, text: string): Buffer => {
      const frame = Buffer.from(`000000000000000000000000${Buffer.from(text).toString("hex")}`, "hex");
      frame.writeUInt32BE(((text.length + 4) << 8) | 0x12);
      frame.writeUInt32BE(streamId, 4);
      frame.writeUInt32BE(text.length, 8);
      return frame;
    };
    const tooLong = opening(3, "x");
    tooLong.writeUInt32BE(0xffff_ffff, 8);
    for (const bytes of [opening(2, "of the wrong side"), tooLong, opening(3, "no JSON"), opening(3, "[]")]) {
      const socket = connectTls({
        host: "127.0.0.1",
        port,
        cert: made.certificatePem,
        key: made.keyPem,
        rejectUnauthorized: false,
        ALPNProtocols: ["postern-peer/1"],
      });
      await once(socket, "secureConnect");
      assert.ok(await isRefused(socket, bytes));
    }
  });
});
