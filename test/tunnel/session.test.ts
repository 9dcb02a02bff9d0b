/** State that a session stores, returns and forwards: ids, cookies, options, commands, slots. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ByteStream } from "../../src/lib/io/byte-stream.ts";
import type { AgentSession, PendingStream, TakeStream } from "../../src/tunnel/server-hooks.ts";
import { fin, frame, question, word } from "../support/raw-agent.ts";
import type { RawAgent } from "../support/raw-agent.ts";
import { useRawAgents } from "../support/raw-agents.ts";
import { openProxy } from "../support/tunnel-server.ts";

const goAgent = { UserAgent: "ngrok-go/1.12.1" };

describe("a session", { timeout: 30_000 }, () => {
  const set = useRawAgents();

  async function authenticated(extra: Record<string, unknown> = {}): Promise<[RawAgent, AgentSession]> {
    const agent = await set.connected();
    await agent.authenticate({}, extra);
    return [agent, set.server.register.sessions.at(-1) as AgentSession];
  }

  /** Binds a tunnel and ends the question, as Rust agents do after the response. */
  async function bound(agent: RawAgent, streamId: number, message: object): Promise<Record<string, unknown>> {
    agent.write(question(streamId, 1, { Id: "", Proto: "http", Opts: {}, Extra: {}, ...message }));
    const answer = await agent.answer(streamId);
    agent.write(frame(1, fin, streamId, ""));
    return answer;
  }

  async function resume(
    auth: Record<string, unknown>,
    extra: Record<string, unknown> = {},
  ): Promise<[RawAgent, Record<string, unknown>]> {
    const agent = await set.connected();
    const { ClientId, Extra } = auth as { ClientId: string; Extra: Record<string, unknown> };
    return [agent, await agent.authenticate({ ClientId }, { Cookie: Extra["Cookie"], ...extra })];
  }

  it("a session is opened with the agent's properties, in any spelling", async () => {
    const agent = await set.connected();
    const extra = { os: "plan9", Authtoken: "right-token", VERSION: "9.9", metadata: "m", heartbeatinterval: 1e9 };
    agent.write(question(3, 0, { version: ["2"], CLIENTID: "", extra }));
    const answer = await agent.answer(3);
    assert.equal(answer["Version"], "2");
    const [session] = set.server.register.sessions;
    assert.equal(session?.id, answer["ClientId"]);
    assert.deepEqual(
      [session?.os, session?.agentVersion, session?.metadata, session?.accountId, session?.ip],
      ["plan9", "9.9", "m", "ac_1", "127.0.0.1"],
    );
  });

  it("A8, A9: a session is resumed by its cookie, and replaces the old connection", async () => {
    const agent = await set.connected();
    const first = await agent.authenticate();
    const id = String(first["ClientId"]);
    const tunnelId = String((await bound(agent, 5, {}))["Id"]);
    const [, second] = await resume(first);
    assert.equal(second["ClientId"], id);
    await agent.closed;
    assert.deepEqual(set.server.register.events.slice(1), [
      `opened ${id}`,
      `bind ${tunnelId}`,
      "authenticate",
      `unbind ${tunnelId}`,
      `closed ${id}`,
      `opened ${id}`,
    ]);
    assert.equal(set.server.agents.sessions.size, 1);
  });

  for (const [what, extra] of [
    ["a wrong cookie", { Cookie: "AAAA" }],
    ["another account's token", { AuthToken: "right-token-2" }],
  ] as const) {
    it(`A9: a session is not replaced by a client with ${what}`, async () => {
      const agent = await set.connected();
      const first = await agent.authenticate();
      const [, second] = await resume(first, extra);
      assert.notEqual(second["ClientId"], first["ClientId"]);
      assert.equal(set.server.agents.sessions.size, 2);
      assert.equal(agent.socket.closed, false);
    });
  }

  it("A9: a session remains when the same client opens another leg", async () => {
    const agent = await set.connected();
    const first = await agent.authenticate({}, goAgent);
    const [, second] = await resume(first, { ...goAgent, LegNumber: 1 });
    assert.equal(second["ClientId"], first["ClientId"]);
    assert.equal(set.server.agents.sessions.size, 2);
    assert.notEqual(set.server.register.sessions[0]?.id, set.server.register.sessions[1]?.id);
  });

  it("A8: a session adopts a tunnel's id if its token proves it, and no other id", async () => {
    const [agent] = await authenticated();
    const first = await bound(agent, 5, {});
    const token = (first["Extra"] as { Token: string }).Token;
    const id = String(first["Id"]);
    agent.socket.destroy();
    const [again] = await authenticated();
    assert.equal((await bound(again, 5, { Id: id, Extra: { Token: token } }))["Id"], id);
    assert.equal(set.server.register.binds.at(-1)?.request.id, id);
    for (const [streamId, claim] of [
      [7, { Id: id, Extra: { Token: token } }],
      [9, { Id: "tn_another", Extra: { Token: token } }],
      [11, { Id: "../../etc", Extra: { Token: token } }],
      [13, { Id: id, Extra: {} }],
    ] as const) {
      assert.notEqual((await bound(again, streamId, claim))["Id"], claim.Id);
      assert.equal(set.server.register.binds.at(-1)?.request.id, "");
    }
    const [stranger] = await authenticated({ AuthToken: "right-token-2" });
    assert.notEqual((await bound(stranger, 5, { Id: id, Extra: { Token: token } }))["Id"], id);
  });

  it("A8: a session derives the ids of labelled tunnels from the request", async () => {
    const label = async (agent: RawAgent, streamId: number, labels: object): Promise<unknown> => {
      agent.write(question(streamId, 7, { Labels: labels, ForwardsTo: "x", Metadata: "" }));
      return (await agent.answer(streamId))["Id"];
    };
    const agent = await set.connected();
    const auth = await agent.authenticate();
    const ids = [
      await label(agent, 5, { a: "1", b: "2" }),
      await label(agent, 7, { b: "2", a: "1" }),
      await label(agent, 9, { a: "1" }),
    ];
    assert.equal(new Set(ids).size, 3);
    const [again] = await resume(auth);
    assert.deepEqual(
      [await label(again, 5, { b: "2", a: "1" }), await label(again, 7, { a: "1", b: "2" })],
      ids.slice(0, 2),
    );
    const [other] = await authenticated();
    assert.notEqual(await label(other, 5, { a: "1", b: "2" }), ids[0]);
  });

  it("A7: a session echoes options with the assigned name, and secrets only sealed", async () => {
    const [agent] = await authenticated();
    const Opts = {
      Hostname: "",
      Subdomain: "blue",
      Auth: "",
      ProxyProto: 2,
      Compression: {},
      BasicAuth: { credentials: [{ username: "u", cleartext_password: "pass-1" }] },
      OAuth: { provider: "google", client_id: "c", client_secret: "secret-2" },
      WebhookVerification: { provider: "slack", secret: "secret-3" },
      TLSTermination: { cert: "AAAA", key: "c2VjcmV0LTQ=" },
    };
    const answer = await bound(agent, 5, { Opts });
    const echoed = answer["Opts"] as Record<string, unknown>;
    assert.equal(answer["URL"], "http://blue.example.test");
    assert.equal(echoed["Hostname"], "blue.example.test");
    assert.equal(echoed["ProxyProto"], 2);
    assert.deepEqual(echoed["Compression"], {});
    assert.doesNotMatch(JSON.stringify(echoed), /pass-1|secret-2|secret-3|c2VjcmV0LTQ/);
    await bound(agent, 7, { Opts: echoed });
    const { request } = set.server.register.binds.at(-1) ?? {};
    assert.equal(request?.hostname, "blue.example.test");
    assert.equal(request?.subdomain, "");
    assert.equal(request?.proxyProtocol, 2);
    assert.deepEqual(request?.options["BasicAuth"], Opts.BasicAuth);
    assert.deepEqual(request?.options["OAuth"], Opts.OAuth);
    assert.deepEqual(request?.options["WebhookVerification"], Opts.WebhookVerification);
    assert.deepEqual(request?.options["TLSTermination"], Opts.TLSTermination);
    const [stranger] = await authenticated({ AuthToken: "right-token-2" });
    await bound(stranger, 5, { Opts: echoed });
    assert.doesNotMatch(JSON.stringify(set.server.register.binds.at(-1)?.request.options), /pass-1|secret-2/);
  });

  it("a session echoes a tcp address, and a URL if the agent requests a URL", async () => {
    const [agent] = await authenticated(goAgent);
    const tcp = await bound(agent, 5, {
      Proto: "tcp",
      Opts: { URL: "tcp://t.example.test:2222", Addr: "", ProxyProto: 0 },
    });
    assert.deepEqual(tcp["Opts"], { URL: "tcp://t.example.test:2222", Addr: "t.example.test:2222", ProxyProto: 0 });
    const tls = await bound(agent, 7, { Proto: "tls", Opts: { URL: "" } });
    assert.deepEqual(tls["Opts"], { URL: tls["URL"], Hostname: String(tls["URL"]).slice("tls://".length) });
  });

  describe("carries commands", () => {
    const asked = (agent: RawAgent, type: number) =>
      agent.frame((one) => one.type === 1 && one.body.length > 4 && one.body.readUInt32BE() === type);

    it("a session carries commands to the agent, and waits for its response", async () => {
      const [agent, session] = await authenticated({ UpdateUnsupportedError: "" });
      const updated = session.command({ name: "update", version: "1.2.3" });
      const { streamId, body, flags } = await asked(agent, 6);
      assert.deepEqual(JSON.parse(body.subarray(4).toString()), { Version: "1.2.3", PermitMajorVersion: false });
      assert.equal(flags & fin, 0);
      agent.write(frame(1, fin, streamId, "{}"));
      await updated;
    });

    it("a session carries commands and reports the agent's failure", async () => {
      const [agent, session] = await authenticated();
      const stopped = session.command({ name: "stop" });
      const { streamId } = await asked(agent, 5);
      agent.write(frame(1, fin, streamId, '{"Error":"not now"}\n'));
      await assert.rejects(stopped, { reason: "command_failed", message: "The agent answered: not now" });
    });

    it("a session carries commands only to agents that support them", async () => {
      const [, session] = await authenticated();
      await assert.rejects(session.command({ name: "restart" }), {
        reason: "command_unsupported",
        message: "no restarts here",
      });
      await assert.rejects(session.command({ name: "update", version: "" }), { reason: "command_unsupported" });
    });

    it("a session carries commands and gives up on an agent that never answers", async () => {
      const [agent, session] = await authenticated();
      const stopped = assert.rejects(session.command({ name: "stop" }), { reason: "command_timeout" });
      await asked(agent, 5);
      set.clock.pass(10_000);
      await stopped;
    });

    it("a session carries commands and fails when the session ends", async () => {
      const [agent, session] = await authenticated();
      const stopped = session.command({ name: "stop" });
      agent.socket.destroy();
      await assert.rejects(stopped, { reason: "command_failed" });
    });
  });

  it("a session reports the agent's last message, and the round-trip time of a heartbeat", async () => {
    const [agent, session] = await authenticated();
    const pulse = async (): Promise<unknown> => JSON.parse((await session.command({ name: "pulse" })) ?? "");
    const beats = (): Buffer =>
      Buffer.concat(agent.frames.filter(({ streamId }) => streamId === 2).map(({ body }) => body));
    const answered = pulse();
    await agent.until(() => beats().length === 8);
    set.clock.pass(7);
    const heardAt = set.clock.now();
    agent.write(frame(1, 0, 2, beats().subarray(-4)));
    assert.deepEqual(await answered, { latencyMs: 7, heardAt });
    const silent = pulse();
    await agent.until(() => beats().length === 12);
    set.clock.pass(10_000);
    assert.deepEqual(await silent, { latencyMs: null, heardAt });
    const cut = pulse();
    agent.socket.destroy();
    assert.deepEqual(await cut, { latencyMs: null, heardAt });
  });

  it("a session notifies agents of version 3, and only those, that a tunnel has ended", async () => {
    const [agent, session] = await authenticated();
    const { Id } = await bound(agent, 5, {});
    session.stopTunnel("tn_unknown", "no", "agent_denied");
    session.stopTunnel(String(Id), "gone", "agent_name_taken");
    const { body, flags } = await agent.frame((one) => one.body.length > 4 && one.body.readUInt32BE() === 9);
    assert.deepEqual(JSON.parse(body.subarray(4).toString()), { Id, Message: "gone", ErrorCode: "ERR_NGROK_334" });
    assert.equal(flags & fin, fin);
    const old = await set.connected();
    await old.authenticate({ Version: ["2"] });
    const second = await bound(old, 5, {});
    set.server.register.sessions.at(-1)?.stopTunnel(String(second["Id"]), "gone", "agent_denied");
    old.write(question(7, 2, { Id: "sync" }));
    await old.answer(7);
    assert.equal(old.frames.filter((one) => one.body.length > 4 && one.body.readUInt32BE() === 9).length, 0);
  });

  it("a session sends request times on separate streams, and ends those that the agent does not read", async () => {
    const [agent, session] = await authenticated({ MuxWindow: 1_048_576 });
    for (let batch = 0; batch < 9; batch += 1) session.tellTimes(`req_${batch} 1 2\n`);
    const told = (): typeof agent.frames =>
      agent.frames.filter(({ type, body }) => type === 1 && body.length > 4 && body.readUInt32BE() === 11);
    await agent.until(() => told().length === 9);
    assert.deepEqual(
      told().map(({ body, flags }) => `${body.subarray(4).toString()}${flags}`),
      Array.from({ length: 9 }, (_, batch) => `req_${batch} 1 2\n${fin | 2}`),
    );
    await agent.until(() => agent.frames.some(({ type }) => type === 0));
    assert.equal(agent.frames.find(({ type }) => type === 0)?.streamId, told()[0]?.streamId);
  });

  it("a session offers request times to our agents, and to no SDK", async () => {
    for (const [extra, offered] of [
      [{ MuxWindow: 1_048_576 }, true],
      [{}, undefined],
    ] as const) {
      const agent = await set.connected();
      const { Extra } = (await agent.authenticate({}, extra)) as { Extra: Record<string, unknown> };
      assert.equal(Extra["RequestTimes"], offered);
    }
  });

  describe("opens proxied streams", () => {
    it("a session opens proxied streams with type, header and preamble in one frame", async () => {
      const [agent, session] = await authenticated();
      const { Id } = await bound(agent, 5, {});
      set.clock.pass(50);
      session.openProxy(
        {
          tunnelId: String(Id),
          clientAddress: "[2001:db8::1]:5",
          proto: "tls",
          edgeType: "tls_edge",
          passthroughTls: true,
          preamble: Buffer.from("PROXY "),
        },
        (stream) => stream?.writeLatin1("bytes"),
      );
      const { body, flags } = await agent.frame((one) => one.body.length > 50 && one.body.readUInt32BE() === 3);
      assert.equal(flags, 2);
      assert.equal(body.readUInt32BE(), 3);
      const length = Number(body.readBigInt64LE(4));
      assert.deepEqual(JSON.parse(body.subarray(12, 12 + length).toString()), {
        Id,
        ClientAddr: "[2001:db8::1]:5",
        Proto: "tls",
        EdgeType: "2",
        PassthroughTLS: true,
      });
      assert.equal(body.subarray(12 + length).toString(), "PROXY bytes");
    });

    it("G2: a session never opens proxied streams for another session's tunnel", async () => {
      const [agent, session] = await authenticated();
      const [other] = await authenticated();
      const { Id } = await bound(other, 5, {});
      await assert.rejects(openProxy(session, String(Id)), /no stream/);
      await bound(agent, 5, {});
      await assert.rejects(openProxy(session, String(Id)), /no stream/);
    });

    it("a session opens proxied streams only after a Rust agent has had time to register the tunnel", async () => {
      const [agent, session] = await authenticated();
      agent.write(question(5, 1, { Proto: "http" }));
      const { Id } = await agent.answer(5);
      let opened = 0;
      void openProxy(session, String(Id)).then(() => (opened += 1));
      await new Promise(setImmediate);
      assert.equal(opened, 0);
      agent.write(frame(1, fin, 5, ""));
      await agent.frame((one) => one.body.length > 50 && one.body.readUInt32BE() === 3);
      assert.equal(opened, 1);
    });

    it("A3: a session opens proxied streams up to the cap, then when others end, then none", async () => {
      const limits = { maxStreams: { rust: 3, go: 3, postern: 3 }, maxWaiting: 2, maxWaitMs: 5000 };
      await set.restart({ limits });
      const [agent, session] = await authenticated();
      const { Id } = await bound(agent, 5, {});
      set.clock.pass(50);
      const taken: (ByteStream | undefined)[] = [];
      for (let at = 0; at < 6; at += 1) open(session, String(Id), (stream) => taken.push(stream));
      assert.equal(taken.filter(Boolean).length, 3);
      assert.equal(taken.length, 4, "the sixth is refused at once");
      taken[0]?.abort();
      assert.equal(taken.filter(Boolean).length, 4);
      assert.equal(session.openStreams, 3);
      set.clock.pass(5500);
      assert.equal(taken.length, 6, "waiting has an end");
      open(session, String(Id), (stream) => taken.push(stream));
      agent.write(question(7, 2, { Id }));
      await agent.answer(7);
      assert.deepEqual([taken.length, taken.at(-1)], [7, undefined]);
    });

    it("A5: a session opens proxied streams, at most 48 that the agent has not accepted, and no fewer for other tunnels", async () => {
      const [agent, session] = await authenticated();
      const slow = String((await bound(agent, 5, {}))["Id"]);
      const quick = String((await bound(agent, 7, {}))["Id"]);
      set.clock.pass(50);
      const taken: ByteStream[] = [];
      const take = (stream: ByteStream | undefined): void => {
        assert.ok(stream);
        stream.writeLatin1("GET /");
        taken.push(stream);
      };
      for (let at = 0; at < 60; at += 1) open(session, slow, take);
      assert.equal(taken.length, 48);
      open(session, quick, take);
      assert.equal(taken.length, 49);
      const isProxy = (one: { body: Buffer }): boolean => one.body.length > 50 && one.body.readUInt32BE() === 3;
      await agent.until(() => agent.frames.filter(isProxy).length === 49);
      const [first, second, third] = agent.frames.filter(isProxy);
      assert.ok(first && second && third);
      const headerLength = first.body.length - "GET /".length;
      agent.write(frame(2, 0, first.streamId, word(headerLength)));
      agent.write(question(9, 2, { Id: "sync" }));
      await agent.answer(9);
      assert.equal(taken.length, 49, "credit for the header alone is the session's reading");
      agent.write(
        frame(2, 0, first.streamId, word(1)),
        frame(1, 0, second.streamId, "HTTP"),
        frame(1, fin, third.streamId, ""),
      );
      agent.write(question(11, 2, { Id: "sync" }));
      await agent.answer(11);
      assert.equal(taken.length, 52);
      for (const stream of taken.slice(0, 12)) stream.abort();
      agent.write(question(13, 2, { Id: "sync" }));
      await agent.answer(13);
      assert.equal(taken.length, 52, "what was given up still waits at the agent");
      for (const { streamId } of agent.frames.filter(isProxy).slice(3, 12)) agent.write(frame(1, fin, streamId, ""));
      agent.write(question(15, 2, { Id: "sync" }));
      await agent.answer(15);
      assert.equal(taken.length, 61);
    });

    it("A3: a session opens proxied streams and counts those that the agent has not closed, including abandoned ones", async () => {
      const limits = {
        maxStreams: { rust: 3, go: 3, postern: 3 },
        maxHeld: { rust: 5, go: Infinity, postern: Infinity },
        maxWaitMs: 60_000,
      };
      await set.restart({ limits });
      const [agent, session] = await authenticated();
      const { Id } = await bound(agent, 5, {});
      set.clock.pass(50);
      const taken: ByteStream[] = [];
      const take = (stream: ByteStream | undefined): void => void (stream && taken.push(stream));
      const giveUp = (): void => taken.at(-1)?.abort();
      const opened = async (count: number): Promise<string[]> => {
        const proxied = (): { streamId: number }[] =>
          agent.frames.filter((one) => one.body.length > 50 && one.body.readUInt32BE() === 3);
        await agent.until(() => proxied().length === count);
        return proxied().map(({ streamId }) => String(streamId));
      };
      for (let at = 0; at < 5; at += 1) {
        open(session, String(Id), take);
        giveUp();
      }
      const streams = (await opened(5)).map(Number);
      assert.equal(session.openStreams, 0);
      open(session, String(Id), take);
      assert.equal(taken.length, 5);
      assert.equal(agent.frames.filter(({ type }) => type === 0).length, 0, "a reset would not be answered");
      agent.write(frame(1, fin, streams[0] as number, ""));
      agent.write(question(7, 2, { Id: "sync" }));
      await agent.answer(7);
      set.clock.pass(50);
      assert.equal(taken.length, 6, "its end says that it has dropped one");
      giveUp();
      open(session, String(Id), take);
      agent.write(frame(1, 0, streams[1] as number, Buffer.alloc(200_000)));
      await agent.frame(({ type, streamId }) => type === 0 && streamId === streams[1]);
      assert.equal(taken.length, 6);
      set.clock.pass(1000);
      assert.equal(taken.length, 7, "one that was reset it drops with its next write");
      giveUp();
      open(session, String(Id), take);
      set.clock.pass(4000);
      agent.write(frame(1, 0, streams[2] as number, "slow"));
      await agent.frame(({ type, streamId }) => type === 0 && streamId === streams[2]);
      set.clock.pass(5000);
      assert.equal(taken.length, 7);
      set.clock.pass(3000);
      assert.equal(taken.length, 8, "a service that writes seldom takes its time");
    });

    it("A3: a session opens no proxied streams for cancelled requests", async () => {
      const limits = { maxStreams: { rust: 1, go: 1, postern: 1 }, maxWaiting: 2 };
      await set.restart({ limits });
      const [agent, session] = await authenticated();
      const { Id } = await bound(agent, 5, {});
      set.clock.pass(50);
      const taken: (ByteStream | undefined)[] = [];
      const ask = () => open(session, String(Id), (stream) => taken.push(stream));
      assert.equal(ask(), undefined);
      const pending = [ask(), ask()];
      assert.deepEqual([pending[0]?.withdraw(), pending[0]?.withdraw()], [true, false]);
      ask();
      assert.equal(taken.length, 1, "there is room in the queue again");
      taken[0]?.abort();
      taken[1]?.abort();
      assert.equal(taken.length, 3);
      assert.equal(pending[1]?.withdraw(), false);
      assert.equal(agent.frames.filter(({ body }) => body.length > 50 && body.readUInt32BE() === 3).length <= 3, true);
    });

    it("A5: a session opens proxied streams even if visitors and service are silent on the open ones", async () => {
      const [agent, session] = await authenticated();
      const { Id } = await bound(agent, 5, { Proto: "tcp" });
      set.clock.pass(50);
      let taken = 0;
      for (let at = 0; at < 60; at += 1) open(session, String(Id), () => (taken += 1));
      assert.equal(taken, 48);
      set.clock.pass(2500);
      assert.equal(taken, 60);
    });

    it("a session opens no proxied streams after its end", async () => {
      const [agent, session] = await authenticated();
      const { Id } = await bound(agent, 5, {});
      set.clock.pass(50);
      const stream = await openProxy(session, String(Id));
      const closed = new Promise((resolve) => {
        stream.receiver = { data() {}, ended() {}, drained() {}, closed: resolve };
      });
      session.close("enough");
      assert.ok((await closed) instanceof Error);
      assert.equal(stream.write(Buffer.from("x")), false);
      await assert.rejects(openProxy(session, String(Id)), /no stream/);
      assert.equal(await agent.goodbye(), 0);
    });
  });

  it("a session accepts no more agents after the server is closed", async () => {
    const [agent] = await authenticated();
    set.server.agents.close("shutting down");
    await agent.closed;
    assert.equal(set.server.agents.sessions.size, 0);
    assert.equal(set.server.agents.admits("127.0.0.1"), false);
    assert.match(set.server.register.events.at(-1) ?? "", /^closed/);
  });
});

function open(session: AgentSession, tunnelId: string, take: TakeStream): PendingStream | undefined {
  return session.openProxy(
    { tunnelId, clientAddress: "192.0.2.1:1", proto: "http", edgeType: "endpoint", passthroughTls: false },
    take,
  );
}
