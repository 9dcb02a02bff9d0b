import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "../lib/clock.ts";
import { makeManualClock } from "../../test/support/clock.ts";
import { seededRandom } from "../../test/support/random.ts";
import { maxBodyBytes } from "./inspected-exchange.ts";
import { ExchangeFollower } from "./exchange-follower.ts";
import { renderExchange } from "./render-tunnel.ts";
import { timesLine } from "../tunnel/request-times.ts";
import type { InspectedExchange } from "./inspected-exchange.ts";
import { ExchangeStore } from "./exchange-store.ts";
import { ToldTimes } from "./told-times.ts";

const get = "GET /a?b=1 HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 192.0.2.7\r\n\r\n";
const post =
  "POST /b HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=1\r\nde\r\n0\r\nT: 1\r\n\r\n";
const found = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const streamed = "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";

function follower(hasPreamble = false) {
  const store = new ExchangeStore(systemClock);
  const one = new ExchangeFollower({ tunnel: "web", client: "192.0.2.1", hasPreamble, clock: systemClock, store });
  return { one, store, list: () => store.list(10, undefined).reverse() };
}

const upload = "POST /c HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\n012";
const noContent = "HTTP/1.1 204 No Content\r\n\r\n";

/** Splits the bytes into pieces of `size`. */
function* pieces(text: string, size: number): Generator<Buffer> {
  const bytes = Buffer.from(text, "latin1");
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe("captured traffic of a connection", () => {
  for (const size of [1, 2, 3, 7, 1000]) {
    for (const preamble of ["", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n"]) {
      it(`two requests and their responses are captured completely in pieces of ${size} bytes, after ${preamble.length} bytes of a PROXY header`, () => {
        const { one, list } = follower(preamble !== "");
        for (const piece of pieces(preamble + get, size)) one.fromServer(piece);
        for (const piece of pieces(found, size)) one.fromService(piece);
        for (const piece of pieces(post, size)) one.fromServer(piece);
        for (const piece of pieces(streamed, size)) one.fromService(piece);
        const seen = list().map(({ method, target, client, body, response, outcome }) => [
          `${method} ${target} ${client} ${body.bytes().toString()} ${body.ended}`,
          `${response?.status} ${response?.body.bytes().toString()} ${response?.body.ended}`,
          outcome,
        ]);
        assert.deepEqual(seen, [
          ["GET /a?b=1 192.0.2.7  true", "200 hello true", "complete"],
          ["POST /b 192.0.2.1 abcde true", "201 x true", "complete"],
        ]);
        assert.equal(list()[0]?.head.toString("latin1"), get);
      });
    }
  }

  it("a body is captured up to its bound, counted beyond, and marked as cut", () => {
    const { one, list } = follower();
    one.fromServer(Buffer.from(get));
    one.fromService(Buffer.from("HTTP/1.1 200 OK\r\n\r\n"));
    for (let at = 0; at < 5; at += 1) one.fromService(Buffer.alloc(100_000, at));
    const open = list()[0]?.response?.body;
    assert.deepEqual(
      [open?.total, open?.bytes().length, open?.isCut, open?.ended],
      [500_000, maxBodyBytes, true, false],
    );
    one.ended();
    assert.deepEqual([list()[0]?.outcome, open?.ended], ["complete", true]);
  });

  it("a response that ends early is distinguished from a complete one", () => {
    const { one, list } = follower();
    one.fromServer(Buffer.from(get));
    one.fromService(Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"));
    one.ended();
    assert.deepEqual([list()[0]?.outcome, list()[0]?.response?.body.ended], ["cut", false]);
  });

  it("a body that ends with the connection is cut if the connection was cut", () => {
    const { one, list } = follower();
    one.fromServer(Buffer.from(get));
    one.fromService(Buffer.from("HTTP/1.1 200 OK\r\n\r\nhello"));
    one.ended(new Error("reset"));
    assert.equal(list()[0]?.outcome, "cut");
  });

  it("a connection that switches protocols is counted", () => {
    const { one, list } = follower();
    one.fromServer(Buffer.from("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"));
    one.fromService(Buffer.from("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nxyz"));
    one.fromServer(Buffer.from("GET "));
    assert.equal(list()[0]?.outcome, "open");
    one.ended();
    const [seen] = list();
    assert.deepEqual([seen?.outcome, seen?.bytesIn, seen?.bytesOut, seen?.response?.status], ["upgraded", 4, 3, 101]);
  });

  for (const [what, request, answer, fault] of [
    ["a request that is none", "\x16\x03\x01 hello", "", "invalid method"],
    ["an answer that is none", get, "SSH-2.0", "not an HTTP/1 response"],
    ["a chunk that is none", post.replace("3\r\n", "zz\r\n"), "", "invalid chunk size"],
  ] as const) {
    it(`${what} is counted and marked as unreadable`, () => {
      const { one, list } = follower();
      for (const piece of pieces(request, 2)) one.fromServer(piece);
      for (const piece of pieces(answer, 2)) one.fromService(piece);
      one.fromServer(Buffer.from("more"));
      one.ended();
      const [seen, ...others] = list();
      assert.deepEqual([seen?.outcome, seen?.fault, others.length], ["unreadable", fault, 0]);
      if (seen?.method === "") assert.equal(seen.bytesIn, request.length + 4);
    });
  }
});

describe("captured traffic that is read on demand", () => {
  const heads = [get, post, `${upload}3456789`, upload, "GET / HTTP/1.1\r\nHost: a\r\nupgrade: x\r\n\r\n", "junk\r\n"];
  const answers = [found, streamed, noContent, "HTTP/1.1 101 x\r\n\r\nabc", "SSH"];

  it("connections look the same when they are read later as when they are read live", () => {
    const random = seededRandom(12);
    for (let round = 0; round < 1000; round += 1) {
      const clock = makeManualClock();
      const all = [false, true].map((isWatched) => {
        const store = new ExchangeStore(clock);
        if (isWatched) store.watch(() => {});
        return {
          store,
          one: new ExchangeFollower({ tunnel: "web", client: "192.0.2.1", hasPreamble: false, clock, store }),
        };
      });
      const pass = (way: "fromServer" | "fromService", text: string, size: number): void => {
        for (const piece of pieces(text, size)) {
          for (const { one } of all) one[way](piece);
          clock.pass(1);
        }
      };
      const count = 1 + random.below(4);
      for (let at = 0; at < count; at += 1) {
        pass("fromServer", heads[random.below(heads.length)] as string, 1 + random.below(300));
        if (random.below(8) === 0) continue;
        const big = random.below(6) === 0;
        const answer = big
          ? `HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n${"x".repeat(40_000)}`
          : (answers[random.below(answers.length)] as string);
        pass("fromService", answer, 1 + random.below(big ? 9000 : 60));
        if (random.below(5) === 0) all[0]?.store.list(random.below(5));
      }
      if (random.below(8) === 0) pass("fromServer", get, 500);
      if (random.below(8) === 0) pass("fromService", "HTTP/1.1 200 OK\r\n\r\nuntil the end", 50);
      const error = random.pick([undefined, new Error("reset")]);
      if (random.below(2) === 0) for (const { one } of all) one.ended(error);
      const [later, passing] = all.map(({ store }) =>
        store.list(100).map((one) => ({
          ...(renderExchange(one, { reveals: true }) as object),
          id: "",
          uri: "",
          // The precision of the response time depends on how its bytes arrived.
          duration: 0,
          first_byte: 0,
          timing: {},
        })),
      );
      assert.deepEqual(later, passing, `round ${round}`);
    }
  });

  for (const isWatched of [false, true]) {
    it(`the connect time is reported when the traffic is ${isWatched ? "read live" : "recorded"}`, () => {
      const clock = makeManualClock();
      const store = new ExchangeStore(clock);
      if (isWatched) store.watch(() => {});
      const one = new ExchangeFollower({ tunnel: "web", client: "", hasPreamble: false, clock, store });
      for (const isFresh of [true, false]) {
        one.fromServer(Buffer.from(get));
        clock.pass(7);
        if (isFresh) one.connected();
        clock.pass(5);
        one.fromService(Buffer.from("HTTP/1.1 204 No Content\r\n\r\n"));
      }
      const times = new ToldTimes(store);
      const read = store.list(2).map((seen) => renderExchange(seen, { times }) as { readonly timing: object });
      assert.deepEqual(
        read.map(({ timing }) => timing),
        [
          { edge: null, tunnel: null, connect: 0, upstream: 12e6, first_byte: null },
          { edge: null, tunnel: null, connect: 7e6, upstream: 5e6, first_byte: null },
        ],
      );
    });
  }

  it("times from the edge are joined with captured requests, for the most recent ones", () => {
    const clock = makeManualClock();
    const store = new ExchangeStore(clock);
    const times = new ToldTimes(store);
    const one = new ExchangeFollower({ tunnel: "web", client: "", hasPreamble: false, clock, store });
    const ask = (id: string): InspectedExchange => {
      // A visitor cannot set the fields that come from the edge.
      one.fromServer(
        Buffer.from(`GET / HTTP/1.1\r\nHost: a.test\r\nX-Request-Id: req_1\r\nX-Request-Id: ${id}\r\n\r\n`),
      );
      clock.pass(5);
      one.fromService(Buffer.from("HTTP/1.1 204 No Content\r\n\r\n"));
      return store.list(1)[0] as InspectedExchange;
    };
    const first = ask("req_2a");
    assert.equal(times.of(first), undefined);
    times.told(
      Buffer.from(timesLine("req_1", { edgeMs: 9, waitMs: 9 }) + timesLine("req_2a", { edgeMs: 2, waitMs: 8 })),
    );
    assert.deepEqual(times.of(first), { edgeMs: 2, waitMs: 8 });
    assert.deepEqual((renderExchange(first, { times }) as { readonly timing: object }).timing, {
      edge: 2e6,
      tunnel: 3e6,
      connect: 0,
      upstream: 5e6,
      first_byte: 10e6,
    });
    const told: (InspectedExchange | undefined)[] = [];
    store.watch((seen) => told.push(seen));
    const second = ask("req_2b");
    told.length = 0;
    times.told(Buffer.from(timesLine("req_2b", { edgeMs: 1, waitMs: 1 })));
    assert.deepEqual(told, [second]);
    const shownCountry = (exchange: InspectedExchange): unknown =>
      (renderExchange(exchange, { isBrief: true, times }) as { readonly remote_country: unknown }).remote_country;
    assert.equal(shownCountry(second), null);
    for (const country of ["<b", "de", "DEU", "D\n"]) {
      times.told(Buffer.from(timesLine("req_2b", { edgeMs: 1, waitMs: 1, country })));
      assert.equal(shownCountry(second), null);
    }
    times.told(Buffer.from(timesLine("req_2b", { edgeMs: 3, waitMs: 1, country: "DE" })));
    assert.equal(shownCountry(second), "DE");
    assert.deepEqual(times.of(second), { edgeMs: 3, waitMs: 1, country: "DE" });
    assert.equal(shownCountry(first), null);
    for (let batch = 0; batch < 600; batch += 1)
      times.told(Buffer.from(timesLine("req_3", { edgeMs: 1, waitMs: 1 }).repeat(50)));
    assert.equal(times.of(first), undefined);
    assert.deepEqual(times.of({ ...first, head: Buffer.from("GET / HTTP/1.1\r\n\r\n") }), undefined);
  });

  it("recorded times are those at which the bytes passed", () => {
    const clock = makeManualClock();
    const store = new ExchangeStore(clock);
    const one = new ExchangeFollower({ tunnel: "web", client: "", hasPreamble: false, clock, store });
    const at = clock.now();
    one.fromServer(Buffer.from(get));
    clock.pass(30);
    one.fromService(Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"));
    clock.pass(12);
    one.fromService(Buffer.from("llo"));
    clock.pass(5000);
    const [seen] = store.list(1);
    assert.deepEqual([seen?.at, seen?.response?.firstByteMs, seen?.durationMs], [at, 30, 42]);
  });
});

describe("the store", () => {
  it("the store holds the last 500 exchanges, and adds nothing to an evicted one", () => {
    const { one, store } = follower();
    for (let at = 0; at < 501; at += 1) {
      one.fromServer(Buffer.from(get));
      if (at < 500) one.fromService(Buffer.from("HTTP/1.1 204 No Content\r\n\r\n"));
    }
    assert.equal(store.list(1000, undefined).length, 500);
  });

  it("the store counts the memory of evicted exchanges, and captures no more of them", () => {
    const { one, store } = follower();
    one.fromServer(Buffer.from(get));
    const [seen] = store.list(1);
    assert.ok(seen && store.has(seen));
    store.clear();
    one.fromService(Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"));
    assert.deepEqual([store.has(seen), seen.response?.body.total, seen.response?.body.bytes().length], [false, 5, 0]);
    one.fromServer(Buffer.from(get));
    assert.equal(store.list(10).length, 1);
  });

  it("a recording that is evicted does not affect the connection's next request", () => {
    const { one: slow, store } = follower();
    const quick = new ExchangeFollower({ tunnel: "web", client: "", hasPreamble: false, clock: systemClock, store });
    slow.fromServer(Buffer.from(upload));
    for (let at = 0; at < 500; at += 1) {
      quick.fromServer(Buffer.from(get));
      quick.fromService(Buffer.from(noContent));
    }
    slow.fromServer(Buffer.from("3456789"));
    slow.fromService(Buffer.from(noContent));
    slow.fromServer(Buffer.from(upload));
    slow.fromServer(Buffer.from("3456789"));
    slow.fromService(Buffer.from(noContent));
    const [last, before] = store.list(1000);
    assert.deepEqual([store.list(1000).length, before?.method], [500, "GET"]);
    assert.deepEqual([last?.outcome, last?.body.bytes().toString()], ["complete", "0123456789"]);
  });

  it("the store holds at most 64 MiB and evicts the oldest exchanges first", () => {
    const { one, store } = follower();
    const body = "x".repeat(maxBodyBytes);
    for (let at = 0; at < 300; at += 1) {
      one.fromServer(Buffer.from(get));
      one.fromService(Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${maxBodyBytes}\r\n\r\n${body}`));
    }
    const kept = store.list(1000, undefined);
    assert.ok(kept.length > 250 && kept.length < 257, `${kept.length} are kept`);
    assert.ok(kept.every(({ response }) => response?.body.isCut === false));
  });
});
