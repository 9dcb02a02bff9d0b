import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:http2";
import type { ClientHttp2Session, Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { duplexPair } from "node:stream";
import { after, before, describe, it } from "node:test";
import { Http2RequestWatch } from "../agent/http2-request-watch.ts";
import { combineWatches } from "../agent/stream-watch.ts";
import type { StreamWatch } from "../agent/stream-watch.ts";
import { systemClock } from "../lib/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { startFollowed } from "../../test/support/followed.ts";
import type { Followed } from "../../test/support/followed.ts";
import type { ApiBody } from "../../test/support/platform.ts";
import type { InspectedExchange } from "./inspected-exchange.ts";
import { Http2Reader } from "./http2-reader.ts";
import { renderExchange } from "./render-tunnel.ts";
import { ExchangeStore } from "./exchange-store.ts";

/** Encodes a gRPC message. */
function grpc(text: string, flag = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(text.length, 1);
  return Buffer.concat([prefix, Buffer.from(text)]);
}

describe("captured traffic of an HTTP/2 connection", () => {
  const store = new ExchangeStore(systemClock);
  const told: string[] = [];
  let server: Http2Server;
  let way: Followed;
  let session: ClientHttp2Session;
  const follow = { tunnel: "rpc", client: "192.0.2.1", hasPreamble: false, clock: systemClock, store };
  const watch = (): StreamWatch =>
    combineWatches(
      new Http2Reader(follow),
      new Http2RequestWatch(
        () => systemClock.monotonic(),
        false,
        ({ method, target, status }) => void told.push(`${method} ${target} ${status}`),
      ),
    );
  before(async () => {
    server = createServer((request, response) => {
      if (request.url === "/reset") return response.stream.close(8);
      if (request.url === "/plain") {
        response.writeContinue();
        return response.end("plain");
      }
      response.writeHead(200, { "content-type": "application/grpc+proto", "x-long": "v".repeat(300) });
      response.write(grpc("one"));
      response.addTrailers({ "grpc-status": "5", "grpc-message": "no such%20thing" });
      response.end(grpc("two"));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    way = await startFollowed((server.address() as AddressInfo).port, watch);
    session = connect(`http://127.0.0.1:${way.port}`);
  });
  after(async () => {
    session.close();
    await way.stop();
    server.close();
  });
  async function call(path: string, body?: Buffer, headers: Record<string, string> = {}): Promise<void> {
    const stream = session.request({ ":path": path, ":method": body ? "POST" : "GET", ...headers });
    stream.on("error", () => {});
    stream.resume().end(body);
    await once(stream, "close");
  }
  const shown = async (path: string): Promise<ApiBody> => {
    const exchange = await eventually(
      () => of(path),
      (one) => one !== undefined && one.outcome !== "open",
    );
    return renderExchange(exchange, {});
  };
  const of = (path: string) => store.list(10).find(({ target }) => target === path) as InspectedExchange;

  it("gRPC calls are shown with messages, trailers and status, one connection after another", async () => {
    const body = Buffer.concat([grpc("question"), grpc("packed", 1)]);
    // Repeated fields refer to the dynamic table of the connection.
    for (const path of ["/shop.Orders/First", "/shop.Orders/Second"]) {
      await call(path, body, {
        "content-type": "application/grpc",
        authorization: "Bearer hidden",
        "x-forwarded-for": "192.0.2.9",
      });
      const { request, response, outcome, remote_addr } = await shown(path);
      assert.deepEqual(
        [request.method, request.uri, request.proto, outcome, remote_addr],
        ["POST", path, "HTTP/2.0", "complete", "192.0.2.9"],
      );
      assert.deepEqual(request.headers.authorization, ["(hidden)"]);
      assert.deepEqual(request.headers.host, [`127.0.0.1:${way.port}`]);
      assert.deepEqual(request.grpc, {
        messages: [
          { bytes: 8, compressed: false, base64: btoa("question") },
          { bytes: 6, compressed: true, base64: btoa("packed") },
        ],
        cut: false,
      });
      assert.equal(response.status_code, 200);
      assert.deepEqual({ ...response.trailers }, { "grpc-status": ["5"], "grpc-message": ["no such%20thing"] });
      assert.deepEqual(response.grpc, {
        messages: ["one", "two"].map((text) => ({ bytes: 3, compressed: false, base64: btoa(text) })),
        cut: false,
        status: 5,
        status_name: "NOT_FOUND",
        message: "no such thing",
      });
      assert.ok(told.includes(`POST ${path} 200`));
    }
  });

  it("an interim response is not the response, and a reset stream was cut", async () => {
    await call("/plain");
    const { response } = await shown("/plain");
    assert.equal(Buffer.from(response.raw, "base64").toString().split("\r\n\r\n")[1], "plain");
    await call("/reset");
    const cut = await shown("/reset");
    assert.deepEqual([cut.outcome, cut.response, told.at(-1)], ["cut", null, "GET /reset 0"]);
  });

  it("the agent's own response in place of an unreachable service is shown as the response", async () => {
    const reader = watch();
    const [visitor, agent] = duplexPair();
    agent.on("data", (bytes: Buffer) => reader.fromServer(bytes));
    const lone = connect("http://127.0.0.1", { createConnection: () => visitor });
    lone.on("error", () => {});
    const stream = lone.request({ ":path": "/unreachable" });
    stream.on("error", () => {});
    await eventually(() => of("/unreachable"), Boolean);
    reader.fromService(Buffer.from("HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/plain\r\n\r\nno service"));
    const { response, outcome } = await shown("/unreachable");
    assert.deepEqual([response.status, outcome, response.body.bytes], ["502 Bad Gateway", "complete", 10]);
    assert.equal(told.at(-1), "GET /unreachable 502");
    lone.destroy();
  });

  it("bytes that are not HTTP/2 are skipped", () => {
    const reader = watch();
    reader.fromServer(Buffer.from("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"));
    reader.fromService(Buffer.from("HTTP/1.1 200 OK\r\n\r\n"));
    reader.ended();
    assert.equal(store.list(100).filter(({ target }) => target === "/").length, 0);
  });
});
