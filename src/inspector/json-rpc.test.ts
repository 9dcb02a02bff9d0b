import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BodyCopy } from "./inspected-exchange.ts";
import type { InspectedExchange } from "./inspected-exchange.ts";
import { rpcCallsOf } from "./json-rpc.ts";

function copyOf(text: string): BodyCopy {
  const body = new BodyCopy();
  body.add(Buffer.from(text), 0, Buffer.byteLength(text), true);
  return body;
}

interface Given {
  readonly method?: string;
  readonly type?: string;
  readonly answerType?: string;
}

function exchangeOf(
  asked: unknown,
  answer: string,
  { method = "POST", type, answerType }: Given = {},
): InspectedExchange {
  const body = typeof asked === "string" ? asked : JSON.stringify(asked);
  const head = `${method} /mcp HTTP/1.1\r\ncontent-type: ${type ?? "application/json"}\r\n\r\n`;
  const answered = `HTTP/1.1 200 OK\r\ncontent-type: ${answerType ?? "application/json"}\r\n\r\n`;
  const response = { status: 200, head: Buffer.from(answered), body: copyOf(answer), firstByteMs: 1 };
  const parts = { id: "", number: 1, tunnel: "", client: "", at: 0, since: 0, method, target: "/mcp" };
  const ends = { replayOf: undefined, outcome: "complete" as const, fault: undefined, connectedMs: 0, durationMs: 1 };
  const more = { bytesIn: 0, bytesOut: 0, webSocket: undefined };
  return { ...parts, ...ends, ...more, head: Buffer.from(head), body: copyOf(body), response };
}

const call = (id: number, name: string) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: { city: "Köln" } },
});
const events = (...messages: readonly object[]): string =>
  messages.map((one) => `event: message\ndata: ${JSON.stringify(one)}\n\n`).join("");

describe("JSON-RPC calls of an exchange", () => {
  it("a tool call has its tool, arguments and result", () => {
    const result = { content: [{ type: "text", text: "12 °C" }] };
    assert.deepEqual(rpcCallsOf(exchangeOf(call(1, "weather"), JSON.stringify({ jsonrpc: "2.0", id: 1, result }))), [
      {
        kind: "call",
        from: "client",
        method: "tools/call",
        name: "weather",
        params: { city: "Köln" },
        result,
        answered: true,
      },
    ]);
  });

  it("a batch that is answered in an event stream has each call with its answer, and the messages of the server", () => {
    const stream = events(
      { jsonrpc: "2.0", method: "notifications/progress", params: { progress: 1 } },
      { jsonrpc: "2.0", id: 2, error: { code: -32602, message: "unknown tool" } },
      { jsonrpc: "2.0", id: 1, result: { isError: true, content: [] } },
    );
    const found = rpcCallsOf(
      exchangeOf([call(1, "a"), call(2, "b"), call(3, "c")], stream, {
        answerType: "text/event-stream; charset=utf-8",
      }),
    );
    assert.deepEqual(
      found.map(({ method, name, failed, error, answered }) => [method, name, failed, error?.code, answered]),
      [
        ["tools/call", "a", true, undefined, true],
        ["tools/call", "b", undefined, -32602, true],
        ["tools/call", "c", undefined, undefined, false],
        ["notifications/progress", undefined, undefined, undefined, false],
      ],
    );
  });

  it("the stream of the older transport has the answers to calls of other requests", () => {
    const stream = `event: endpoint\ndata: /messages\n\n${events({ jsonrpc: "2.0", id: 7, result: { tools: [] } })}`;
    const found = rpcCallsOf(exchangeOf("", stream, { method: "GET", answerType: "text/event-stream" }));
    assert.deepEqual(
      found.map(({ kind, from, result }) => [kind, from, result]),
      [["answer", "server", { tools: [] }]],
    );
  });

  it("other bodies have no calls, and long or many values are cut", () => {
    for (const [body, type] of [
      ['{"a":1}', undefined],
      ['{"jsonrpc":"2.0"', undefined],
      [JSON.stringify(call(1, "a")), "text/plain"],
      ['["jsonrpc", null, 1]', undefined],
      ['{"jsonrpc":"2.0","id":1,"method":{}}', undefined],
    ] as const) {
      assert.deepEqual(rpcCallsOf(exchangeOf(body, "", type === undefined ? {} : { type })), [], body);
    }
    const long = { ...call(1, "a"), params: { name: "a", arguments: { text: "x".repeat(100_000) } } };
    const [cut] = rpcCallsOf(exchangeOf(long, ""));
    assert.equal(String(cut?.params).length, 20_001);
    const many = Array.from({ length: 200 }, (_, at) => call(at, "a"));
    assert.equal(rpcCallsOf(exchangeOf(many, "")).length, 50);
  });
});
