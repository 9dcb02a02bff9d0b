import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { systemClock } from "../lib/clock.ts";
import { Inspector } from "./inspector.ts";
import { startLocalApi } from "./local-api.ts";

async function localApi(deadlines?: { head: number; request: number; idle: number }) {
  return await startLocalApi({
    inspector: new Inspector(systemClock),
    status: () => ({}),
    control: () => undefined,
    host: "127.0.0.1",
    isAllowed: () => false,
    ports: [0],
    ...(deadlines && { deadlines }),
  });
}

/** Resolves with all bytes that the API sent before it closed the connection. */
async function untilClosed(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (part) => (text += String(part)));
  socket.on("error", () => {});
  await new Promise<void>((resolve) => socket.once("close", () => resolve()));
  return text;
}

const tunnelHead = "POST /api/tunnels HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

describe("an agent's local API that closes", { timeout: 30_000 }, () => {
  it("the local API closes each connection with its next response once it drains, and ends event streams", async () => {
    const api = await localApi();
    const port = Number(new URL(api.url).port);
    const ask = "GET /api HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const kept = connect(port, "127.0.0.1");
    kept.write(ask);
    assert.doesNotMatch(String((await once(kept, "data"))[0]), /connection: close/i);
    const events = connect(port, "127.0.0.1");
    events.write("GET /api/requests/http/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const rest = untilClosed(events);
    await once(events, "data");
    api.drain();
    kept.write(ask);
    assert.match(await untilClosed(kept), /^HTTP\/1\.1 200 [^]*\r\nconnection: close\r\n/i);
    await api.close();
    assert.match(await rest, /0\r\n\r\n$/);
  });

  it("the local API answers a request in flight when it closes", async () => {
    const api = await localApi();
    const socket = connect(Number(new URL(api.url).port), "127.0.0.1");
    const sent = `${tunnelHead}Content-Length: 2\r\nExpect: 100-continue\r\n\r\n`;
    socket.write(sent);
    assert.match(String((await once(socket, "data"))[0]), /^HTTP\/1\.1 100 /);
    const closed = api.close();
    socket.write("{}");
    assert.match(await untilClosed(socket), /^HTTP\/1\.1 \d+ [^]*connection: close/i);
    await closed;
  });
});

describe("G11: the bounds of an agent's local API", { timeout: 30_000 }, () => {
  for (const [what, sent, deadlines] of [
    ["a head that never ends", "GET /api HTTP/1.1\r\nHost:", { head: 50, request: 20_000, idle: 20_000 }],
    ["a body that never ends", `${tunnelHead}Content-Length: 10\r\n\r\n{`, { head: 50, request: 100, idle: 20_000 }],
    ["an idle connection", "", { head: 20_000, request: 20_000, idle: 50 }],
  ] as const) {
    it(`the local API closes ${what}`, async () => {
      const api = await localApi(deadlines);
      const socket = connect(Number(new URL(api.url).port), "127.0.0.1");
      socket.write(sent);
      assert.doesNotMatch(await untilClosed(socket), /^HTTP\/1\.1 20/);
      await api.close();
    });
  }

  it("the local API refuses a body of more than 1 MiB without reading the rest", async () => {
    const api = await localApi();
    const socket = connect(Number(new URL(api.url).port), "127.0.0.1");
    socket.write(`${tunnelHead}Transfer-Encoding: chunked\r\n\r\n`);
    const piece = `10000\r\n${"x".repeat(65_536)}\r\n`;
    for (let at = 0; at < 17; at += 1) socket.write(piece);
    assert.match(await untilClosed(socket), /^HTTP\/1\.1 413 /);
    await api.close();
  });

  it("the local API serves at most 128 connections at a time", async () => {
    const api = await localApi();
    const port = Number(new URL(api.url).port);
    const sockets = await Promise.all(
      Array.from({ length: 128 }, async () => {
        const socket = connect(port, "127.0.0.1");
        await once(socket, "connect");
        return socket;
      }),
    );
    const further = connect(port, "127.0.0.1");
    further.write("GET /api HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert.equal(await untilClosed(further), "");
    for (const socket of sockets) socket.destroy();
    await api.close();
  });
});
