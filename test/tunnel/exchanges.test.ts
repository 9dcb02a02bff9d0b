/** Questions to an agent about stored requests: our agent answers them, and hostile agents are limited. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { connect } from "node:tls";
import type { TLSSocket } from "node:tls";
import { systemClock } from "../../src/lib/clock.ts";
import { Refusal } from "../../src/lib/errors.ts";
import type { ExchangeCommand } from "../../src/routing/planes/messages.ts";
import { connectSession } from "../../src/tunnel/connect-session.ts";
import type { AnswerExchange } from "../../src/tunnel/exchange-question.ts";
import { maxExchangeBytes } from "../../src/tunnel/exchange-question.ts";
import type { AgentSession } from "../../src/tunnel/server-hooks.ts";
import { fin, frame, question, word } from "../support/raw-agent.ts";
import type { RawAgent } from "../support/raw-agent.ts";
import { useRawAgents } from "../support/raw-agents.ts";
import { makeAuthority, rightToken, startTunnelServer } from "../support/tunnel-server.ts";
import type { TunnelServer } from "../support/tunnel-server.ts";

const asked = { name: "exchange", requestId: "req_1", tunnelId: "tn_1", exchangeId: "" } as const;
const replay = { name: "replay", requestId: "req_1", tunnelId: "tn_1", replayId: "again" } as const;

describe("our own agent, asked for a stored request", { timeout: 30_000 }, () => {
  let server: TunnelServer;
  let socket: TLSSocket;
  let answer: AnswerExchange;
  const bugs: unknown[] = [];
  const questions: ExchangeCommand[] = [];
  const ask = (command: ExchangeCommand): Promise<string | undefined> =>
    (server.register.sessions[0] as AgentSession).command(command);

  before(async () => {
    const authority = await makeAuthority();
    server = await startTunnelServer({ authority });
    socket = connect({ port: server.port, host: "localhost", ca: authority.ca.certificatePem });
    await once(socket, "secureConnect");
    const nothing = { clientId: "", cookie: "", metadata: "", version: "1.2.3", os: "linux", arch: "x64" };
    await connectSession(
      socket,
      { clock: systemClock, token: rightToken, ...nothing, commands: [] },
      {
        proxied: (_tunnelId, _header, stream) => stream.abort(),
        command: () => Promise.resolve(),
        exchange(command) {
          questions.push(command);
          return answer(command);
        },
        stopped: () => {},
        bug: (error) => bugs.push(error),
        closed: () => {},
      },
    );
  });
  after(async () => {
    socket.destroy();
    await server.stop();
  });

  it("our own agent, asked for a stored request, returns any content that fits into a message, unchanged", async () => {
    const long = `{"exchange":"${"ü".repeat(maxExchangeBytes / 2 - 10)}"}`;
    answer = () => Promise.resolve(long);
    assert.equal(await ask(asked), long);
    answer = () => Promise.resolve("{}");
    assert.equal(await ask(replay), "{}");
    assert.deepEqual(questions, [asked, replay]);
  });

  it("our own agent, asked for a stored request, returns the reason for a rejection", async () => {
    answer = () => Promise.reject(new Refusal("exchange_management_off"));
    assert.deepEqual(JSON.parse(String(await ask(asked))), { refused: "exchange_management_off" });
  });

  it("G1: our own agent, asked for a stored request, is cut off if it sends too much or fails, and can be asked again", async () => {
    answer = () => Promise.resolve("x".repeat(maxExchangeBytes + 1));
    await assert.rejects(ask(asked), { reason: "command_failed" });
    answer = () => Promise.reject(new Error("secret-of-a-body"));
    await assert.rejects(ask(asked), (error: Error) => !error.message.includes("secret-of-a-body"));
    assert.equal(bugs.length, 1);
    // A question without a valid request is not counted as a bug of the agent.
    await assert.rejects(ask({ ...asked, requestId: "" }), { reason: "command_failed" });
    assert.equal(bugs.length, 1);
    answer = () => Promise.resolve("{}");
    assert.equal(await ask(asked), "{}");
  });
});

describe("an agent with stored requests", { timeout: 30_000 }, () => {
  const set = useRawAgents();
  const ours = { MuxWindow: 262_144, Exchanges: true };

  async function authenticated(extra: Record<string, unknown> = ours): Promise<[RawAgent, AgentSession]> {
    const agent = await set.connected();
    await agent.authenticate({}, extra);
    return [agent, set.server.register.sessions.at(-1) as AgentSession];
  }
  const questionOf = (agent: RawAgent, type = 12) =>
    agent.frame((one) => one.type === 1 && one.body.length > 4 && one.body.readUInt32BE() === type);
  const isThere = async (agent: RawAgent): Promise<void> => {
    agent.write(question(101, 8, {}));
    await agent.answer(101);
  };

  it("an agent with stored requests receives the ID of the request, and its response is read to the end", async () => {
    const [agent, session] = await authenticated();
    const answered = session.command(asked);
    const { streamId, body } = await questionOf(agent);
    assert.deepEqual(JSON.parse(body.subarray(4).toString()), { RequestId: "req_1", TunnelId: "tn_1", ExchangeId: "" });
    agent.write(frame(1, 0, streamId, '{"exchange":'), frame(1, fin, streamId, "1}"));
    assert.equal(await answered, '{"exchange":1}');
  });

  it("an agent with stored requests is never one of a public SDK, whatever the SDK claims", async () => {
    for (const extra of [{}, { Exchanges: true }, { MuxWindow: 262_144 }, { MuxWindow: 262_144, Exchanges: "yes" }]) {
      const [agent, session] = await authenticated(extra);
      const before = agent.frames.length;
      await assert.rejects(session.command(asked), { reason: "exchange_unsupported" });
      await assert.rejects(session.command(replay), { reason: "exchange_unsupported" });
      await isThere(agent);
      const types = agent.frames.slice(before).filter(({ type, body }) => type === 1 && body.length >= 4);
      assert.ok(!types.some(({ body }) => [12, 13].includes(body.readUInt32BE())));
    }
  });

  it("an agent with stored requests times out if it is too late, and its response is ignored", async () => {
    const [agent, session] = await authenticated();
    const late = assert.rejects(session.command(asked), { reason: "command_timeout" });
    const { streamId } = await questionOf(agent);
    set.clock.pass(11_999);
    set.clock.pass(1);
    await late;
    await agent.frame((one) => one.type === 0 && one.streamId === streamId);
    agent.write(frame(1, fin, streamId, "{}"));
    await isThere(agent);
  });

  it("an agent with stored requests may reset its response, or disconnect", async () => {
    const [agent, session] = await authenticated();
    const cut = session.command(asked);
    const { streamId } = await questionOf(agent);
    agent.write(frame(1, 0, streamId, "{"), frame(0, 0, streamId, word(0)));
    await assert.rejects(cut, { reason: "command_failed" });
    await isThere(agent);
    const left = session.command(replay);
    await questionOf(agent, 13);
    agent.socket.destroy();
    await assert.rejects(left, { reason: "exchange_agent_gone" });
    await assert.rejects(session.command(asked), { reason: "exchange_agent_gone" });
  });

  it("G1: an agent with stored requests changes nothing with unsolicited or doubled responses", async () => {
    const [agent, session] = await authenticated();
    // On the agent's own streams, as if the agent asked the server.
    for (const [streamId, type] of [
      [5, 12],
      [7, 13],
    ] as const) {
      agent.write(question(streamId, type, { exchange: {} }));
      await agent.frame((one) => one.streamId === streamId && (one.flags & fin) !== 0);
      assert.equal(agent.payload(streamId), "");
    }
    const answered = session.command(asked);
    const { streamId } = await questionOf(agent);
    agent.write(frame(1, fin, streamId, "{}"));
    assert.equal(await answered, "{}");
    const other = session.command({ ...asked, requestId: "req_2" });
    const next = await agent.frame((one) => one.body.includes("req_2"));
    agent.write(frame(1, fin, streamId, '{"again":true}'));
    agent.write(frame(1, fin, next.streamId, '{"own":true}'));
    assert.equal(await other.catch((error: Refusal) => error.reason), '{"own":true}');
  });
});
