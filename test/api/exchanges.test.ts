/** Captured requests of agents in the API, including agents that cannot be asked. The test plays the edge. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import type { AgentCommand, CommandFailure, Upward } from "../../src/routing/planes/messages.ts";
import { keepingLog } from "../storage/fixture.ts";
import { startApi } from "../support/api.ts";
import type { ApiResponse, TestApi } from "../support/api.ts";
import { edgeAnswers, keptExchange, servingTunnel } from "../support/other-calls.ts";
import { databases } from "../support/postgres.ts";

const canary = "captured-canary";
const withCanary = keptExchange.replace('"b2s="', JSON.stringify(btoa(canary))).replace("X-Kind", canary);

describe("captured requests of agents", () => {
  let api: TestApi;
  let accountId: string;
  const { log, lines } = keepingLog();
  let asked: AgentCommand[] = [];
  /** The agent's answer; an object stands for a failure of the edge. */
  let says: string | { readonly reason: CommandFailure; readonly message: string } = keptExchange;

  before(async () => {
    api = await startApi(databases[0] as (typeof databases)[number], { log });
    accountId = (await api.ok("GET", "/accounts")).accounts[0].id;
    const answers = edgeAnswers(() => accountId);
    api.edge.answer = (message) => {
      if (message.type !== "command") return answers(message);
      asked.push(message.command);
      const { call } = message;
      return { type: "command_result", call, ...(typeof says === "string" ? { text: says } : { error: says }) };
    };
  });
  after(() => api.stop());
  beforeEach(() => {
    api.edge.send({ type: "hello", edgeId: "edge" });
    asked = [];
    says = keptExchange;
  });

  const shared = { credentialId: "cr_1", metadata: "", region: "local", startedAt: "2026-01-01T00:00:00Z" };
  const connected = (id = servingTunnel.sessionId): Upward => {
    const agent = { agentVersion: "1", ip: "192.0.2.7", os: "linux", transport: "ngrok/2" };
    return { type: "session_opened", session: { ...shared, ...agent, id, accountId } };
  };
  const get = (query = ""): Promise<ApiResponse> => api.request("GET", `/requests/req_1/exchange${query}`);
  const replay = (key?: string): Promise<ApiResponse> =>
    api.request("POST", "/requests/req_1/replay", key === undefined ? {} : { headers: { "idempotency-key": key } });
  const codeOf = ({ body }: ApiResponse): unknown => body.error_code;

  it("captured requests of agents are requested from the session that served them, or from their tunnel's present one", async () => {
    assert.equal(codeOf(await get()), errorCode("exchange_agent_gone"));
    assert.equal(codeOf(await replay()), errorCode("exchange_agent_gone"));
    assert.deepEqual(asked, []);
    api.edge.send(connected());
    assert.equal((await get()).body.tunnel_session_id, servingTunnel.sessionId);
    const { id, forwardsTo } = servingTunnel;
    const sessionId = `ts_${"b".repeat(27)}`;
    api.edge.send(connected(sessionId));
    const tunnel = { ...shared, id, sessionId, forwardsTo, accountId, labels: { app: "web" } };
    api.edge.send({ type: "tunnel_opened", tunnel });
    assert.equal((await get("?exchange_id=548fb5c700000003")).body.tunnel_session_id, sessionId);
    const about = { name: "exchange", requestId: "req_1", tunnelId: id };
    assert.deepEqual(asked, [
      { ...about, exchangeId: "" },
      { ...about, exchangeId: "548fb5c700000003" },
    ]);
  });

  it("P7: captured requests of agents are replayed under one id per idempotency key, and under a new one without a key", async () => {
    api.edge.send(connected());
    for (const key of ["once", "once", "twice", undefined, undefined]) assert.equal((await replay(key)).status, 200);
    const ids = asked.map((one) => (one.name === "replay" ? one.replayId : ""));
    assert.equal(ids[0], ids[1]);
    assert.equal(new Set(ids).size, 4);
    assert.equal(codeOf(await replay("k".repeat(256))), errorCode("idempotency_key_invalid"));
    assert.equal(asked.length, 5);
  });

  it("captured requests of agents are refused with the agent's or edge's reason and its code", async () => {
    api.edge.send(connected());
    for (const reason of ["exchange_not_kept", "exchange_management_off", "exchange_forgotten"] as const) {
      says = JSON.stringify({ refused: reason, message: canary });
      const answer = await get();
      assert.equal(codeOf(answer), errorCode(reason));
      assert.doesNotMatch(answer.text, new RegExp(canary));
    }
    says = JSON.stringify({ refused: "replay_impossible" });
    assert.equal(codeOf(await get()), errorCode("command_failed"));
    assert.equal(codeOf(await replay()), errorCode("replay_impossible"));
    for (const reason of ["exchange_unsupported", "exchange_busy", "command_timeout", "exchange_agent_gone"] as const) {
      says = { reason, message: "as it is" };
      assert.equal(codeOf(await get()), errorCode(reason));
    }
  });

  it("G7: captured requests of agents are in no refusal, log or database of the server, and their readers are logged", async () => {
    api.edge.send(connected());
    const from = lines.length;
    says = withCanary;
    const told = await get();
    assert.match(told.text, new RegExp(canary));
    assert.equal((await replay("canary")).status, 200);
    for (const broken of [`${withCanary}x`, withCanary.slice(0, -9), withCanary.replace('"complete"', `"${canary}"`)]) {
      says = broken;
      const answer = await get();
      assert.equal(codeOf(answer), errorCode("command_failed"), answer.text);
      assert.doesNotMatch(answer.text, new RegExp(canary));
    }
    const logged = lines.slice(from);
    const [key] = (await api.ok("GET", "/api_keys")).keys;
    const notes = logged.map(({ fields }) => fields).filter(({ operation }) => operation !== undefined);
    const note = { request: "req_1", account: accountId, by: key.id, session: servingTunnel.sessionId };
    assert.deepEqual(notes, [
      { operation: "getRequestExchange", ...note },
      { operation: "replayRequest", ...note },
      ...Array.from({ length: 3 }, () => ({ operation: "getRequestExchange", ...note })),
    ]);
    const kept = new RegExp(`${canary}|${btoa(canary)}`);
    assert.doesNotMatch(JSON.stringify(logged), kept);
    const folder = dirname(api.databaseUrl);
    for (const file of readdirSync(folder)) assert.doesNotMatch(readFileSync(join(folder, file), "latin1"), kept);
  });
});
