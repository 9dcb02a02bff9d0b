/** Memory that a long exchange keeps from blocks that it shared with short ones. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { createServer } from "../../src/lib/http.ts";
import type { FieldTable } from "../../src/http1/field-table.ts";
import type { Exchange } from "../../src/traffic/exchange.ts";
import { passStep } from "../../src/traffic/step.ts";
import { RawH2, types } from "../support/h2-frames.ts";
import { withFront } from "../support/front.ts";
import type { Answerer } from "../support/front.ts";
import { startH2Server } from "../support/h2-server.ts";

it("D3: a request over HTTP/2 that lasts holds nothing of the block that short ones share with it", async () => {
  let fields: FieldTable | undefined;
  const seeing = {
    name: "ip_restriction",
    request(exchange: Exchange) {
      fields = exchange.request.headers as FieldTable;
      return passStep("ip_restriction", "seen");
    },
  } as const;
  const server = await startH2Server(
    createServer((_request, response) => void response.write("begun")),
    { request: [seeing] },
  );
  const raw = await RawH2.open(server);
  try {
    raw.request(1, [...raw.fields(), ["x-own", "yes"]]);
    assert.ok(await raw.takeType(types.data, 1));
    assert.ok((fields?.bytes.buffer.byteLength ?? 0) >= 64 * 1024);
    server.clock.pass(12_500);
    assert.ok(await raw.settled());
    assert.ok((fields?.bytes.buffer.byteLength ?? Infinity) < 1024);
    assert.deepEqual([fields?.get("host"), fields?.get("x-own")], [server.host, "yes"]);
  } finally {
    raw.destroy();
    await server.stop();
  }
});

it("D3: a request over HTTP/1.1 that lasts holds nothing of the block that it was read into", async () => {
  let fields: FieldTable | undefined;
  const seeing = {
    request(exchange: Exchange) {
      fields = exchange.request.headers as FieldTable;
      return passStep("ip_restriction", "seen");
    },
  };
  const answer: Answerer = ({ socket }) =>
    socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
  await withFront(answer, { modules: [seeing] }, async ({ clock, context }, client) => {
    client.send("GET / HTTP/1.1\r\nHost: a.example.com\r\nX-Own: yes\r\n\r\n");
    await client.until("\r\n\r\n1");
    const before = fields?.bytes;
    clock.pass(20_000);
    assert.equal(context.counters.openExchanges, 1, "the exchange goes on");
    assert.notEqual(fields?.bytes.buffer, before?.buffer);
    assert.ok((fields?.bytes.buffer.byteLength ?? Infinity) < 1024);
    assert.equal(fields?.get("x-own"), "yes");
  });
});
