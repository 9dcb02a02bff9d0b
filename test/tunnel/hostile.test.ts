/** Agents that violate the protocol: each one is limited and cut off, and others are not affected. */
import assert from "node:assert/strict";
import { connect as connectTcp } from "node:net";
import { describe, it } from "node:test";
import { connect } from "node:tls";
import { seededRandom } from "../support/random.ts";
import { auth, fin, frame, question, syn, word } from "../support/raw-agent.ts";
import type { RawAgent } from "../support/raw-agent.ts";
import { useRawAgents } from "../support/raw-agents.ts";
import { openProxy } from "../support/tunnel-server.ts";

describe("the agent listener", { timeout: 30_000 }, () => {
  const set = useRawAgents();

  async function authenticated(extra: Record<string, unknown> = {}): Promise<RawAgent> {
    const agent = await set.connected();
    await agent.authenticate({}, extra);
    return agent;
  }

  describe("before authentication", () => {
    it("G1: the agent listener before authentication closes connections that send garbage", async () => {
      const random = seededRandom(5);
      for (let round = 0; round < 20; round += 1) {
        const agent = await set.connected();
        const garbage = Buffer.from(Array.from({ length: 3000 }, () => random.below(256)));
        agent.write(garbage);
        if (round % 2 === 0) agent.socket.end();
        else set.clock.pass(10_000);
        await agent.closed;
      }
      assert.deepEqual(set.server.register.events, []);
    });

    it("G1: the agent listener before authentication closes an HTTP client's connection", async () => {
      const agent = await set.connected();
      agent.write(Buffer.from("GET / HTTP/1.1\r\nHost: connect.example.test\r\n\r\n"));
      set.clock.pass(10_000);
      await agent.closed;
    });

    it("A11: the agent listener before authentication closes connections that send nothing, or an incomplete message, for 10 s", async () => {
      const silent = await set.connected();
      const half = await set.connected();
      half.write(frame(1, syn, 3, Buffer.concat([word(0), Buffer.from('{"Version":["3"],')])));
      set.clock.pass(9999);
      assert.equal(silent.socket.closed, false);
      set.clock.pass(1);
      assert.equal(await silent.goodbye(), 1);
      await Promise.all([silent.closed, half.closed]);
    });

    it("G1: the agent listener before authentication rejects an Auth larger than 16 KiB", async () => {
      const agent = await set.connected();
      const answer = await agent.authenticate({}, { Metadata: "x".repeat(17_000) });
      assert.match(String(answer["Error"]), /larger than 16384 bytes[^]*ERR_NGROK_700\n$/);
      assert.equal(set.server.register.auths.length, 0);
    });

    it("A11: the agent listener before authentication rejects more streams than authentication needs", async () => {
      const agent = await set.connected();
      for (let id = 3; id < 23; id += 2) agent.write(frame(1, syn, id, ""));
      const refused = await agent.frame((one) => one.type === 0);
      assert.equal(refused.streamId, 19);
      assert.equal(refused.body.readUInt32BE(), 9);
    });

    for (const [what, bytes] of [
      ["binds", question(3, 1, { Id: "", Proto: "http", Opts: {}, Extra: {} })],
      ["authenticates on two streams", Buffer.concat([frame(1, syn, 3, word(0)), frame(1, syn, 5, word(0))])],
    ] as const) {
      it(`G1: the agent listener before authentication cuts off a client that ${what}`, async () => {
        const agent = await set.connected();
        agent.write(bytes);
        assert.equal(await agent.goodbye(), 1);
        await agent.closed;
        assert.deepEqual(set.server.register.events, []);
      });
    }

    for (const [what, message] of [
      ["is not JSON", "{]}"],
      ["is not an object", "[]"],
      ["has no version", "{}"],
      ["has only a future version", '{"Version":["9"]}'],
      ["has a token of another type", '{"Version":["3"],"Extra":{"AuthToken":5}}'],
      ["has an Extra of another type", '{"Version":["3"],"Extra":[]}'],
      ["has a negative heartbeat", '{"Version":["3"],"Extra":{"HeartbeatInterval":-1}}'],
      ["is nested too deeply", `{"Version":${"[".repeat(5000)}`],
    ] as const) {
      it(`the agent listener before authentication rejects an Auth that ${what}`, async () => {
        const agent = await set.connected();
        agent.write(frame(1, syn | fin, 3, Buffer.concat([word(0), Buffer.from(message)])));
        const answer = await agent.answer(3);
        assert.match(String(answer["Error"]), /\n\nERR_NGROK_700\n$/);
        set.clock.pass(2000);
        await agent.closed;
        assert.equal(set.server.register.auths.length, 0);
      });
    }

    it("the agent listener before authentication answers SrvInfo and heartbeats", async () => {
      const agent = await set.connected();
      agent.write(question(3, 8, {}), frame(1, syn, 5, word(0xffffffff)), frame(1, 0, 5, "beat"));
      assert.deepEqual(await agent.answer(3), { Region: "local" });
      await agent.until(() => agent.payload(5) === "beat");
    });

    it("D9: the agent listener before authentication blocks an address that keeps sending wrong tokens, for a minute", async () => {
      for (let at = 0; at < 60; at += 1) {
        const agent = await set.connected();
        const answer = await agent.authenticate({}, { AuthToken: `wrong-${at}` });
        assert.match(String(answer["Error"]), /ERR_NGROK_107/);
        agent.socket.destroy();
        await agent.closed;
      }
      assert.equal(set.server.agents.admits("127.0.0.1"), false);
      assert.equal(set.server.agents.admits("127.0.0.2"), true);
      const agent = await set.connected();
      await agent.closed;
      assert.equal(set.server.register.auths.length, 60);
      set.clock.pass(60_000);
      await (await set.connected()).authenticate();
    });

    it("D9: the agent listener before authentication limits the unauthenticated connections of one address", async () => {
      const open = await Promise.all(Array.from({ length: 64 }, () => set.connected()));
      const beyond = await set.connected();
      await beyond.closed;
      await open[0]?.authenticate();
      await (await set.connected()).authenticate();
    });

    it("the agent listener before authentication survives connections that are cut at any point of the handshake", async () => {
      for (const point of ["connect", "secureConnect"] as const) {
        const raw = connectTcp(set.server.port, "127.0.0.1");
        const socket = connect({ socket: raw, rejectUnauthorized: false });
        for (const one of [raw, socket]) one.on("error", () => {});
        const cut = (): void => void raw.resetAndDestroy();
        if (point === "connect") raw.once(point, cut);
        else socket.once(point, cut);
        await new Promise((resolve) => raw.once("close", resolve));
      }
      await (await set.connected()).authenticate();
    });
  });

  describe("after authentication", () => {
    it("A11: the agent listener after authentication ends a session that opens streams endlessly, and keeps the others", async () => {
      const other = await authenticated();
      const agent = await authenticated();
      for (let id = 5; id < 13_000; id += 2) {
        agent.write(Buffer.concat([frame(1, syn | fin, id, word(99)), frame(0, 0, id, word(1))]));
      }
      assert.equal(await agent.goodbye(), 10);
      await agent.closed;
      other.write(question(5, 2, { Id: "tn_none" }));
      assert.deepEqual(await other.answer(5), { Error: "" });
    });

    it("A11: the agent listener after authentication delays messages if there are too many, without losing one", async () => {
      await set.restart({ limits: { messageBurst: 11, messagesPerSecond: 10 } });
      const agent = await authenticated();
      const ids = Array.from({ length: 20 }, (_, at) => 5 + 2 * at);
      for (const id of ids) agent.write(question(id, 2, { Id: "tn_none" }));
      const answered = (): number => ids.filter((id) => agent.payload(id) !== "").length;
      await agent.until(() => answered() === 10);
      agent.write(frame(1, syn, 101, word(0xffffffff)), frame(1, 0, 101, "beat"));
      await agent.until(() => agent.payload(101) === "beat");
      assert.equal(answered(), 10);
      for (let second = 0; second < 10 && answered() < 20; second += 1) {
        set.clock.pass(1000);
        await new Promise(setImmediate);
      }
      await agent.until(() => answered() === 20);
    });

    it("A11: the agent listener after authentication rejects a message larger than 1 MiB", async () => {
      const agent = await authenticated();
      agent.write(frame(1, syn, 5, Buffer.concat([word(1), Buffer.from('{"Opts":{"x":"')])));
      let sent = 20;
      const part = Buffer.alloc(32_768, "x");
      while (sent < 1_100_000) {
        const credit = agent.frames
          .filter((one) => one.type === 2 && one.streamId === 5)
          .reduce((sum, one) => sum + one.body.readUInt32BE(), 262_144);
        if (sent + part.length > credit) {
          const heard = agent.frames.length;
          await agent.until(() => agent.frames.length > heard);
          continue;
        }
        agent.write(frame(1, 0, 5, part));
        sent += part.length;
      }
      assert.match(String((await agent.answer(5))["Error"]), /larger than 1048576 bytes/);
    });

    it("A11: the agent listener after authentication ends streams whose message is incomplete after 30 s", async () => {
      const agent = await authenticated();
      agent.write(frame(1, syn, 5, Buffer.concat([word(1), Buffer.from('{"Opts":')])), frame(1, syn, 7, "ab"));
      agent.write(question(9, 2, { Id: "tn_none" }));
      await agent.answer(9);
      set.clock.pass(29_999);
      agent.write(question(11, 2, { Id: "tn_none" }));
      await agent.answer(11);
      assert.deepEqual(
        agent.frames.filter(({ type }) => type === 0),
        [],
      );
      set.clock.pass(1);
      await agent.until(() => [5, 7].every((id) => agent.frames.some((one) => one.type === 0 && one.streamId === id)));
    });

    it("A11: the agent listener after authentication limits the total size of a session's incomplete messages", async () => {
      await set.restart({ limits: { maxWaitingMessages: 1000 } });
      const agent = await authenticated();
      const part = (id: number): Buffer =>
        frame(1, syn, id, Buffer.concat([word(1), Buffer.from(`{"x":"${"y".repeat(394)}`)]));
      agent.write(part(5), part(7), part(9));
      assert.match(String((await agent.answer(9))["Error"]), /larger than 1000 bytes together/);
      // Rejected and complete messages free their share.
      agent.write(frame(1, 0, 5, '"}'), frame(1, 0, 7, '"}'));
      await Promise.all([agent.answer(5), agent.answer(7)]);
      agent.write(part(11), frame(1, 0, 11, '"}'));
      assert.doesNotMatch(String((await agent.answer(11))["Error"]), /together/);
    });

    it("the agent listener after authentication answers streams of unknown types with an end", async () => {
      const agent = await authenticated();
      agent.write(frame(1, syn, 5, Buffer.concat([word(77), Buffer.from("whatever")])));
      const { flags } = await agent.frame((one) => one.streamId === 5 && one.type === 1);
      assert.equal(flags & fin, fin);
    });

    it("the agent listener after authentication limits answered streams that the agent leaves half open", async () => {
      const agent = await authenticated();
      for (let at = 0; at < 40; at += 1) agent.write(question(5 + 2 * at, 2, { Id: "tn_none" }));
      const { streamId } = await agent.frame((one) => one.type === 0);
      assert.equal(streamId, 3);
    });

    it("the agent listener after authentication rejects messages that it cannot parse, and continues", async () => {
      const agent = await authenticated();
      for (const [id, type, message, code] of [
        [5, 1, { Proto: "ssh" }, 721],
        [7, 1, { Proto: "http", Opts: { Hostname: 5 } }, 700],
        [9, 1, { Proto: "http", Opts: { URL: "https://a b" } }, 700],
        [11, 1, { Proto: "http", Opts: { ProxyProto: 3 } }, 721],
        [13, 7, { Labels: {} }, 6508],
        [15, 7, { Labels: { a: 5 } }, 6508],
        [17, 7, { Labels: { "a=b": "c" } }, 6508],
        [19, 7, { Labels: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`l${at}`, "v"])) }, 6508],
        [21, 7, { Labels: { a: "b".repeat(256) } }, 6508],
        [23, 1, { Proto: "http", Extra: { Metadata: "x".repeat(4097) } }, 700],
        [25, 2, { Id: 7 }, 700],
        [27, 10, { TunnelId: "tn_1" }, 700],
        [29, 10, { TunnelId: "tn_1", Unheard: "shop" }, 721],
      ] as const) {
        agent.write(question(id, type, message));
        assert.match(
          String((await agent.answer(id))["Error"]),
          new RegExp(`\\n\\nERR_NGROK_${code}\\n$`),
          `stream ${id}`,
        );
      }
      agent.write(question(31, 1, { Proto: "http" }));
      assert.equal((await agent.answer(31))["Error"], "");
      assert.equal(set.server.register.binds.length, 1);
    });

    it("the agent listener after authentication limits the tunnels of a session", async () => {
      await set.restart({ limits: { maxTunnels: 2 } });
      const agent = await authenticated();
      for (const id of [5, 7, 9]) agent.write(question(id, 1, { Proto: "http" }));
      assert.match(String((await agent.answer(9))["Error"]), /ERR_NGROK_725/);
      agent.write(question(11, 2, { Id: (await agent.answer(5))["Id"] }));
      await agent.answer(11);
      agent.write(question(13, 7, { Labels: { app: "web" } }));
      assert.equal((await agent.answer(13))["Error"], "");
    });

    it("A6: the agent listener after authentication destroys a session that falls silent, at the agent's own heartbeat", async () => {
      const agent = await authenticated({ HeartbeatInterval: 3e9, HeartbeatTolerance: 4e9 });
      agent.write(question(5, 1, { Proto: "http" }));
      await agent.answer(5);
      await agent.frame((one) => one.type === 1 && one.body.length === 8 && one.body.readUInt32BE() === 0xffffffff);
      set.clock.pass(3999);
      assert.equal(set.server.agents.sessions.size, 1);
      set.clock.pass(4001);
      await agent.closed;
      assert.equal(set.server.agents.sessions.size, 0);
      assert.match(set.server.register.events.at(-2) ?? "", /^unbind/);
      assert.match(set.server.register.events.at(-1) ?? "", /^closed/);
    });

    it("A6: the agent listener after authentication keeps a session that answers heartbeats", async () => {
      const agent = await authenticated();
      const stream = 2;
      await agent.until(() => agent.payload(stream).length > 0);
      for (let beats = 1; beats < 6; beats += 1) {
        await agent.until(() => bytesOf(agent, stream).length === 4 + 4 * beats);
        agent.write(frame(1, 0, stream, bytesOf(agent, stream).subarray(-4)));
        agent.write(frame(1, syn, 99 + 2 * beats, word(0xffffffff)), frame(1, 0, 99 + 2 * beats, "sync"));
        await agent.until(() => agent.payload(99 + 2 * beats) === "sync");
        set.clock.pass(11_252);
      }
      assert.equal(set.server.agents.sessions.size, 1);
    });

    // Silence is detected at most a quarter of a second late, and the tolerance is shorter by the same time: 25 s in
    // total.
    it("A6: the agent listener after authentication sends heartbeats only after an interval and a second of silence", async () => {
      const agent = await authenticated();
      const beats = (): number => bytesOf(agent, 2).length / 4;
      let streams = 99;
      const speaks = async (): Promise<void> => {
        agent.write(frame(1, syn, (streams += 2), word(0xffffffff)), frame(1, 0, streams, "sync"));
        await agent.until(() => agent.payload(streams) === "sync");
      };
      await agent.until(() => beats() === 2);
      agent.write(frame(1, 0, 2, bytesOf(agent, 2).subarray(-4)));
      for (let count = 0; count < 4; count += 1) {
        await speaks();
        set.clock.pass(10_900);
      }
      await speaks();
      assert.equal(beats(), 2);
      set.clock.pass(11_252);
      await agent.until(() => beats() === 3);
      set.clock.pass(13_747);
      assert.equal(set.server.agents.sessions.size, 1);
      set.clock.pass(1);
      await agent.closed;
    });

    it("D3: an agent that reads nothing holds a bounded amount of memory", async () => {
      const agent = await authenticated();
      agent.write(question(5, 1, { Proto: "tcp" }));
      const { Id } = await agent.answer(5);
      set.clock.pass(50);
      agent.socket.pause();
      const session = set.server.register.sessions[0];
      assert.ok(session);
      const streams = await Promise.all(Array.from({ length: 40 }, () => openProxy(session, String(Id), "tcp")));
      let taken = 0;
      for (const stream of streams) {
        while (stream.write(Buffer.alloc(16_384))) taken += 16_384;
      }
      assert.ok(taken < 40 * 200_000, `${taken} bytes were taken`);
      await new Promise(setImmediate);
      const waiting = set.server.sockets[0]?.writableLength ?? 0;
      assert.ok(waiting < 1024 * 1024, `${waiting} bytes wait in the socket`);
    });
  });

  function bytesOf(agent: RawAgent, streamId: number): Buffer {
    return Buffer.concat(
      agent.frames.filter((one) => one.type === 1 && one.streamId === streamId).map((one) => one.body),
    );
  }

  it("the agent listener never logs a token", async () => {
    const lines: string[] = [];
    const log = {
      debug: (event: string, fields?: object) => lines.push(event + JSON.stringify(fields)),
      info: (event: string, fields?: object) => lines.push(event + JSON.stringify(fields)),
      warn: (event: string, fields?: object) => lines.push(event + JSON.stringify(fields)),
      error: (event: string, fields?: object) => lines.push(event + JSON.stringify(fields)),
      with: () => log,
    };
    await set.restart({ log });
    const refused = await set.connected();
    await refused.authenticate({}, { AuthToken: "wrong-secret-token" });
    refused.write(question(5, 0, auth()));
    await refused.closed;
    const agent = await authenticated();
    agent.write(frame(1, syn, 6, "x"));
    await agent.closed;
    assert.ok(lines.length >= 2);
    assert.doesNotMatch(lines.join("\n"), /secret-token|right-token/);
  });
});
