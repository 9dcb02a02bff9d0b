import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import type { ByteStream } from "../../lib/io/byte-stream.ts";
import { silentLog } from "../../lib/log.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import { defaultLimits } from "../http/http-context.ts";
import { Deadlines } from "../../lib/deadlines.ts";
import type { UpstreamConnection } from "./upstream-connection.ts";
import type { UpstreamUser } from "./upstream-user.ts";
import { UpstreamPool } from "./upstream-pool.ts";

/** A request that starts as soon as it has a stream and records its result. */
class Request implements UpstreamUser {
  readonly exchange = {} as Exchange;
  isRepeatable = true;
  readonly told: string[] = [];

  upstreamReady(connection: UpstreamConnection, warm: boolean): void {
    this.told.push(warm ? "warm" : "new");
    connection.begin(this, Buffer.from("GET / HTTP/1.1\r\n\r\n"), {
      isHead: false,
      chunked: false,
      complete: true,
    });
  }

  upstreamEnd(): void {
    this.told.push("answered");
  }

  upstreamFailed(reason: string): void {
    this.told.push(reason);
  }

  upstreamInterim(): void {}
  upstreamHead(): void {}
  upstreamBody(): void {}
  upstreamDrained(): void {}
  upstreamBroke(error: unknown): void {
    throw error;
  }
}

describe("the streams of a tunnel", () => {
  const clock = makeManualClock();
  let deadlines: Deadlines;
  beforeEach(() => {
    deadlines = new Deadlines(clock);
  });
  afterEach(() => deadlines.stop());

  /** A pool whose openings wait until `open` is called. `pending` contains the openings that were not withdrawn. */
  function make() {
    const pending: ((stream: ByteStream | undefined, why?: "tunnel_busy") => void)[] = [];
    const pool = new UpstreamPool({
      open(_exchange, take) {
        pending.push(take);
        return {
          withdraw() {
            const at = pending.indexOf(take);
            if (at >= 0) pending.splice(at, 1);
            return at >= 0;
          },
        };
      },
      context: { clock, deadlines, limits: defaultLimits, log: silentLog },
      isAgent: true,
      reuse: true,
    });
    const request = (): Request => {
      const one = new Request();
      pool.request(one);
      return one;
    };
    const open = (): ByteStream => {
      const stream = silentStream();
      pending.shift()?.(stream);
      return stream;
    };
    return { pool, pending, request, open };
  }

  it("R3: the pool opens no more streams of a tunnel than waiting requests need after warm ones became free", () => {
    const { pending, request, open } = make();
    const requests = Array.from({ length: 5 }, request);
    assert.equal(pending.length, 5);
    const stream = open();
    for (const left of [3, 2, 1, 0]) {
      answer(stream);
      assert.equal(pending.length, left);
    }
    answer(stream);
    assert.deepEqual(
      requests.map(({ told }) => told.join(" ")),
      ["new answered", ...Array<string>(4).fill("warm answered")],
    );
  });

  it("the streams of a tunnel whose other end is silent take no more requests, and those without an answer go elsewhere", () => {
    const { pool, pending, request, open } = make();
    const [idle, waiting, once] = [request(), request(), request()];
    const streams = [open(), open(), open()];
    once.isRepeatable = false;
    answer(streams[0] as ByteStream);
    for (const stream of streams) stream.receiver.stalled?.();
    assert.deepEqual(
      [idle, waiting, once].map(({ told }) => told.join(" ")),
      ["new answered", "new tunnel_gone", "new"],
    );
    const next = request();
    assert.deepEqual([pending.length, next.told], [1, []]);
    pool.withdraw(next);
  });

  it("R3: the pool opens no stream of a tunnel for a client that has disconnected, and each waiting client keeps one", () => {
    const { pool, pending, request, open } = make();
    const [first, second, third] = [request(), request(), request()];
    pool.withdraw(second);
    assert.equal(pending.length, 2);
    open();
    open();
    assert.deepEqual([first.told, second.told, third.told], [["new"], [], ["new"]]);
  });

  it("the request that has waited longest for a stream gets the error that the agent is full", () => {
    const { pending, request, open } = make();
    const [first, second] = [request(), request()];
    pending.shift()?.(undefined, "tunnel_busy");
    open();
    assert.deepEqual([first.told, second.told], [["tunnel_busy"], ["new"]]);
  });

  it("a service that is silent after slowing an upload gets the full response time and no more", () => {
    const { request, open } = make();
    const one = request();
    const stream = open();
    stream.receiver.drained();
    clock.pass(defaultLimits.upstreamTimeoutMs + 1000);
    assert.deepEqual(one.told, ["new", "upstream_timeout"]);
  });

  it("D1: requests that wait for a dead address each have a constant cost", () => {
    const cost = (count: number): number => {
      const { pending, request } = make();
      const requests = Array.from({ length: count }, request);
      const before = process.cpuUsage();
      for (const take of pending.splice(0)) take(undefined);
      const { user, system } = process.cpuUsage(before);
      assert.ok(requests.every(({ told }) => told[0] === "tunnel_gone"));
      return (user + system) / count;
    };
    cost(1000);
    assert.ok(cost(40_000) < 20 * cost(2_000));
  });
});

function silentStream(): ByteStream {
  const receiver = { data() {}, ended() {}, drained() {}, closed() {} };
  return { receiver, write: () => true, writeLatin1: () => true, end() {}, abort() {}, consumed() {} };
}

function answer(stream: ByteStream): void {
  stream.receiver.data(Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
}
