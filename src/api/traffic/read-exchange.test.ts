import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RefusalName } from "../../lib/errors.ts";
import { agentRefusals } from "../../lib/errors/agents.ts";
import { readExchange } from "./read-exchange.ts";

const body = { base64: "b2s=", bytes: 2, cut: false, ended: true };
const request = { method: "GET", target: "/", protocol: "HTTP/1.1", fields: [["Host", "a.example.com"]], body };
const response = { status: 200, protocol: "HTTP/1.1", fields: [["X-Kind", "kept"]], trailers: [], body };
const exchange = {
  id: "548fb5c700000002",
  replay_of: null,
  started_at: 1_767_225_600_000,
  outcome: "complete",
  duration_ms: 1.5,
  connected_ms: null,
  first_byte_ms: 1,
  edge_ms: 0,
  wait_ms: 2,
  request,
  response,
};
const replays = [{ id: "548fb5c700000003", started_at: 1, status: null }];

const read = (changes: object = {}, more: object = { replays }): ReturnType<typeof readExchange> =>
  readExchange(JSON.stringify({ exchange: { ...exchange, ...changes }, ...more }), "exchange");

const refusedAs = (text: string, asked: "exchange" | "replay" = "exchange"): RefusalName | undefined => {
  try {
    readExchange(text, asked);
  } catch (error) {
    const { reason, message } = error as { readonly reason?: RefusalName; readonly message: string };
    assert.doesNotMatch(message, /captured/, "what an agent says is in no refusal");
    return reason;
  }
  return undefined;
};

describe("agent's answer about a request", () => {
  it("agent's answer about a request is read with all valid fields, without any others", () => {
    const kept = read({ extra: "captured", request: { ...request, extra: "captured" } });
    assert.deepEqual(kept.request, { ...request, fields: [{ name: "Host", value: "a.example.com" }] });
    assert.deepEqual([kept.id, kept.replayOf, kept.outcome, kept.edgeMs], [exchange.id, undefined, "complete", 0]);
    assert.deepEqual(kept.replays, [{ id: "548fb5c700000003", startedAt: 1, status: undefined }]);
    assert.equal(read({ response: null }).response, undefined);
    assert.doesNotMatch(JSON.stringify(kept), /captured/);
  });

  it("agent's answer about a request may be a refusal from the list only", () => {
    for (const name of agentRefusals) {
      const text = JSON.stringify({ refused: name, why: "captured" });
      assert.equal(refusedAs(text, "replay"), name);
      assert.equal(refusedAs(text), name.startsWith("replay_") ? "command_failed" : name);
    }
    for (const name of ["operator_only", "internal", "not_found", "captured", 7, null, ["exchange_busy"]]) {
      assert.equal(refusedAs(JSON.stringify({ refused: name })), "command_failed");
    }
  });

  it("G1: agent's answer about a request that is hostile is rejected, and no message contains it", () => {
    const long = "c".repeat(131_073);
    const many = Array.from({ length: 513 }, () => ["a", "b"]);
    const changes: readonly object[] = [
      { id: "captured" },
      { id: 7 },
      { id: "../../captured" },
      { replay_of: "captured" },
      { started_at: -1 },
      { started_at: 1e17 },
      { started_at: "2026" },
      { outcome: "captured" },
      { duration_ms: -1 },
      { duration_ms: "1" },
      { first_byte_ms: undefined },
      { request: null },
      { request: [] },
      { request: { ...request, method: 7 } },
      { request: { ...request, target: long } },
      { request: { ...request, fields: many } },
      { request: { ...request, fields: [["a"]] } },
      { request: { ...request, fields: [["a", "b", "c"]] } },
      { request: { ...request, fields: [["a", { toString: "captured" }]] } },
      { request: { ...request, fields: { a: "b" } } },
      { request: { ...request, body: { ...body, base64: "not base64: captured" } } },
      { request: { ...request, body: { ...body, base64: Buffer.alloc(262_145).toString("base64") } } },
      { request: { ...request, body: { ...body, bytes: -1 } } },
      { request: { ...request, body: { ...body, cut: "yes" } } },
      { request: { ...request, body: undefined } },
      { response: "captured" },
      { response: { ...response, status: 1000 } },
      { response: { ...response, status: 20.5 } },
      { response: { ...response, trailers: null } },
    ];
    for (const change of changes) {
      assert.equal(
        refusedAs(JSON.stringify({ exchange: { ...exchange, ...change }, replays })),
        "command_failed",
        JSON.stringify(change).slice(0, 80),
      );
    }
    for (const wrong of [undefined, null, {}, Array.from({ length: 21 }, () => replays[0]), [{ id: 1 }]]) {
      assert.equal(refusedAs(JSON.stringify({ exchange, replays: wrong })), "command_failed");
    }
    const nested = `${"[".repeat(5000)}${"]".repeat(5000)}`;
    for (const text of [
      "",
      "captured",
      "null",
      "[]",
      "{}",
      '{"exchange":',
      `{"exchange":${nested}}`,
      '{"__proto__":{"refused":"exchange_busy"}}',
    ]) {
      assert.equal(refusedAs(text), "command_failed", text.slice(0, 40));
    }
  });
});
