/** An error in our code ends only its own exchange, stream or connection. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, request as requestHttps } from "node:https";
import { connect as connectHttp2 } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { connect as connectTcp } from "node:net";
import type { Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { SplicedConnection } from "../../src/edge/connections/spliced-connection.ts";
import { ExchangeRecord } from "../../src/edge/http/exchange-record.ts";
import { HttpExchange } from "../../src/edge/http/http-exchange.ts";
import { UpstreamSide } from "../../src/edge/http/upstream-side.ts";
import { DataReceiver } from "../../src/edge/http2/data-receiver.ts";
import { HeaderReceiver } from "../../src/edge/http2/header-receiver.ts";
import { Http2Stream } from "../../src/edge/http2/http2-stream.ts";
import { UpstreamConnection } from "../../src/edge/upstreams/upstream-connection.ts";
import { UpstreamPool } from "../../src/edge/upstreams/upstream-pool.ts";
import { Http1Reader } from "../../src/edge/http/http1-reader.ts";
import { makeLog } from "../../src/lib/log.ts";
import { makeMetrics } from "../../src/lib/metrics.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { eventually } from "../support/eventually.ts";
import { planted, throwOnce } from "../support/faults-in-code.ts";
import { protocols, readBody } from "../support/http-client.ts";
import type { Protocol } from "../support/http-client.ts";
import { flowKeyObject } from "../support/logins.ts";
import { freePort, portIs } from "../support/connections.ts";
import { metricSum } from "../support/metrics.ts";

/** A method of ours, the protocols whose requests call it, and the outcomes that the visitor may see. */
interface Fault {
  readonly of: object;
  readonly method: string;
  readonly over?: Protocol;
  /** Statuses; 0: the connection or stream was cut. */
  readonly seen: readonly number[];
}

const faults: readonly Fault[] = [
  { of: Http1Reader.prototype, method: "read", over: "h1", seen: [0] },
  { of: HeaderReceiver.prototype, method: "headers", over: "h2", seen: [0] },
  { of: HttpExchange.prototype, method: "start", seen: [500] },
  { of: HttpExchange.prototype, method: "forward", seen: [500] },
  { of: HttpExchange.prototype, method: "requestBody", seen: [500] },
  { of: HttpExchange.prototype, method: "requestEnded", seen: [500] },
  { of: DataReceiver.prototype, method: "take", over: "h2", seen: [500] },
  { of: DataReceiver.prototype, method: "end", over: "h2", seen: [500] },
  { of: Http2Stream.prototype, method: "receive", over: "h2", seen: [500] },
  { of: UpstreamPool.prototype, method: "request", seen: [500] },
  { of: UpstreamConnection.prototype, method: "begin", seen: [500] },
  { of: UpstreamConnection.prototype, method: "data", seen: [500] },
  { of: UpstreamSide.prototype, method: "upstreamReady", seen: [500] },
  { of: UpstreamSide.prototype, method: "upstreamHead", seen: [500] },
  { of: UpstreamSide.prototype, method: "upstreamBody", seen: [0, 200] },
  { of: UpstreamSide.prototype, method: "upstreamEnd", seen: [0, 200] },
  { of: HttpExchange.prototype, method: "responseHead", seen: [500] },
  { of: HttpExchange.prototype, method: "sendBody", seen: [0, 200] },
  { of: ExchangeRecord.prototype, method: "conclude", seen: [0, 200] },
];

for (const protocol of protocols) {
  describe(`a fault in our code, over ${protocol}`, { timeout: 60_000 }, () => {
    let fixture: EdgeWithAgent;
    let bystanders: Bystanders;
    const lines: string[] = [];
    const metrics = makeMetrics();
    before(async () => {
      const log = makeLog({
        level: "error",
        format: "json",
        now: Date.now,
        monotonic: () => performance.now(),
        write: (text) => void lines.push(text),
      });
      fixture = await startEdgeWithAgent({ log, metrics, tcpBind: "127.0.0.1" });
      const { clock, put, route } = fixture;
      const key = flowKeyObject(clock.now());
      put(key.kind, key.id, key.doc);
      guard(route);
      bystanders = await startBystanders(fixture);
    });
    after(async () => {
      await bystanders.stop();
      await fixture.stop();
    });

    for (const { of, method, over, seen } of faults) {
      if (over !== undefined && over !== protocol) continue;
      const name = `${of.constructor.name}.${method}`;
      it(`a fault in ${name}, over ${protocol}, ends one request alone, is counted and logged with its stack`, async () => {
        const isCounted = failures(metrics);
        lines.length = 0;
        const fault = throwOnce(of, method);
        const status = await fixture
          .ask(protocol, { method: "POST", path: "/open", body: "x".repeat(1000) })
          .then((answer) => answer.status)
          .catch(() => 0);
        fault.remove();
        assert.ok(fault.hasThrown);
        assert.ok(seen.includes(status), `${status}`);
        await bystanders.goOn();
        assert.equal(failures(metrics), isCounted + 1);
        await eventually(
          () => lines.join(""),
          (text) => text.includes(planted),
        );
        const told = lines
          .join("")
          .trim()
          .split("\n")
          .filter((line) => line.includes(planted));
        assert.equal(told.length, 1, told.join("\n"));
        assert.match((JSON.parse(told[0] as string) as { stack: string }).stack, /faults-in-code/);
      });
    }

    it(`a fault in a forwarded connection does not affect requests over ${protocol}`, async () => {
      for (const method of ["start", "forth", "back"]) {
        const isCounted = failures(metrics);
        const fault = throwOnce(SplicedConnection.prototype, method);
        const socket = connectTcp({ host: "127.0.0.1", port: bystanders.tcpPort });
        socket.on("error", () => {});
        socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
        socket.resume();
        await new Promise((closed) => socket.once("close", closed));
        fault.remove();
        assert.ok(fault.hasThrown, method);
        await bystanders.goOn();
        assert.equal(failures(metrics), isCounted + 1, method);
      }
    });
  });
}

/** Sets rules on all routes of the host. One of them requires a login. */
function guard(route: EdgeWithAgent["route"]): void {
  const added = { enabled: true, add: { "x-added": "1" }, remove: [] };
  route({ request_headers: added, response_headers: added });
}

function failures(metrics: ReturnType<typeof makeMetrics>): number {
  return metricSum(metrics.render(), "postern_failed_units_total");
}

interface Bystanders {
  readonly tcpPort: number;
  /** Sends one more request on each original connection. */
  goOn(): Promise<void>;
  stop(): Promise<void>;
}

/** Honest visitors with connections that stay open: over both versions of HTTP, and one forwarded connection. */
async function startBystanders(fixture: EdgeWithAgent): Promise<Bystanders> {
  const { edge, put } = fixture;
  const ca = edge.authority.certificatePem;
  const http1 = new Agent({ keepAlive: true, maxSockets: 1 });
  const socket = await fixture.connect("h2");
  const http2 = connectHttp2(`https://${host}`, { createConnection: () => socket });
  const tcpPort = await freePort();
  const backend = { enabled: true, backend_id: "bkdtg_1" };
  put("tcp_edge", "edgtcp_1", { hostports: [`${host}:${tcpPort}`], backend });
  await portIs("open", tcpPort);
  const splice = connectTcp({ host: "127.0.0.1", port: tcpPort });
  const connections = new Set<Socket>();
  const overHttp1 = async (): Promise<void> => {
    const sent = requestHttps({
      agent: http1,
      host: "127.0.0.1",
      port: edge.edge.https.port,
      servername: host,
      ca,
      headers: { host },
    });
    sent.on("socket", (one: Socket) => void connections.add(one));
    sent.end();
    const [response] = await once(sent, "response");
    assert.equal(response.statusCode, 200);
    await readBody(response);
  };
  const goOn = async (): Promise<void> => {
    await overHttp1();
    await overHttp2(http2);
    splice.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const [bytes] = (await once(splice, "data")) as [Buffer];
    assert.match(String(bytes), /^HTTP\/1\.1 200 /);
    assert.ok(!http2.destroyed && !http2.closed);
    assert.equal(connections.size, 1, "the connection of HTTP/1.1 is the one that it began with");
  };
  await goOn();
  return {
    tcpPort,
    goOn,
    async stop() {
      http1.destroy();
      http2.destroy();
      splice.destroy();
    },
  };
}

async function overHttp2(session: ClientHttp2Session): Promise<void> {
  const stream = session.request({ ":path": "/", ":authority": host });
  const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
  assert.equal(headers[":status"], 200);
  stream.resume();
  await once(stream, "end");
}
