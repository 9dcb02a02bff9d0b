import assert from "node:assert/strict";
import type { IncomingMessage, RequestListener, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { createServer } from "../../lib/http.ts";
import { makeManualClock } from "../../../test/support/clock.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import { openOutbound } from "../../outbound/outbound.ts";
import type { Outbound } from "../../outbound/outbound.ts";
import { newChain } from "../../traffic/http-calls.ts";
import type { CallAnswer, CallRequest } from "../../traffic/http-calls.ts";
import type { CallAttempt, HttpCall } from "../language/http-caller.ts";
import { internalNameIn } from "../language/internal-url.ts";
import { makeHttpCaller, maxAnswerBytes } from "./http-call.ts";

const connection = {
  source: "192.0.2.1",
  sourcePort: 50_000,
  local: { localAddress: "198.51.100.1" },
  localPort: 443,
  startedAt: 0,
  tls: undefined,
};
const originOf = (hops = 0, accountId = "ac_1"): HttpCall["origin"] => ({
  accountId,
  connection,
  chain: { ...newChain(), hops },
});

describe("requests of policies", () => {
  let server: Server;
  let origin: string;
  let other: string;
  const asked: { method: string; path: string; headers: IncomingMessage["headers"]; body: string }[] = [];
  const answers: Record<string, RequestListener> = {
    "/gzip": (_request, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("packed")),
    "/br": (_request, response) =>
      response.writeHead(200, { "content-encoding": "br" }).end(brotliCompressSync("packed")),
    "/bomb": (_request, response) =>
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(maxAnswerBytes + 1))),
    "/not-gzip": (_request, response) => response.writeHead(200, { "content-encoding": "gzip" }).end("plain"),
    "/full": (_request, response) => response.end(Buffer.alloc(maxAnswerBytes)),
    "/long": (_request, response) => response.end(Buffer.alloc(maxAnswerBytes + 1)),
    "/cookies": (_request, response) => response.writeHead(204, { "set-cookie": ["a=1", "b=2"] }).end(),
    "/500": (_request, response) => response.writeHead(500).end("no"),
    "/silent": () => {},
    "/cut": (_request, response) => void response.destroy(),
  };
  for (const status of [301, 302, 303, 307, 308]) {
    answers[`/${status}`] = (_request, response) => response.writeHead(status, { location: "/echo" }).end();
    answers[`/${status}/other`] = (_request, response) =>
      response.writeHead(status, { location: `${other}/echo` }).end();
  }
  for (const [name, location] of Object.entries({
    round: "/round",
    private: "http://10.0.0.1/",
    refused: "http://refused.example.test/",
    file: "file:///etc/passwd",
    internal: "http://a.internal/",
    "internal-dot": "http://a.internal./",
    nothing: "http://[",
  })) {
    answers[`/to/${name}`] = (_request, response) =>
      response.writeHead(302, { location: name === "round" ? "/to/round" : location }).end();
  }

  before(async () => {
    server = createServer((request, response) => {
      let body = "";
      request.on("data", (bytes) => (body += String(bytes)));
      request.on("end", () => {
        asked.push({ method: String(request.method), path: String(request.url), headers: request.headers, body });
        const answer = answers[String(request.url)];
        if (answer) answer(request, response);
        else response.end("echo");
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    origin = `http://127.0.0.1:${port}`;
    other = `http://localhost:${port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const outbound = (clock: Clock, reach: "any" | "public"): Outbound =>
    openOutbound({ purpose: "policy", clock, reach, maxAnswerBytes, keepsConnections: false });

  interface Setting {
    readonly clock?: Clock;
    readonly reach?: "any" | "public";
    readonly inside?: (request: CallRequest, hops: number) => Promise<CallAnswer>;
    readonly allows?: (host: string) => boolean;
  }

  async function call(change: Partial<HttpCall>, setting: Setting = {}): Promise<readonly CallAttempt[]> {
    const { clock = systemClock, reach = "any", inside } = setting;
    const caller = makeHttpCaller({
      clock,
      outside: outbound(clock, reach),
      inside: {
        send: (request, { chain }) => inside?.(request, chain.hops) ?? Promise.reject(new Error("offline")),
      },
      allows: setting.allows ?? ((host) => !host.startsWith("refused.")),
    });
    asked.length = 0;
    const url = `${origin}${change.url ?? "/echo"}`;
    return caller.call({
      method: "GET",
      headers: {},
      timeoutMs: 3000,
      maxRedirects: 0,
      origin: originOf(),
      ...change,
      url: change.url?.includes(":") ? change.url : url,
    });
  }
  const last = (attempts: readonly CallAttempt[]): CallAttempt => attempts.at(-1) as CallAttempt;
  const faultOf = async (change: Partial<HttpCall>, setting?: Setting) => last(await call(change, setting)).fault?.kind;

  it("requests of policies return the response, for every method, with the address that sent it", async () => {
    for (const method of ["GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "HEAD"] as const) {
      const { answer, fault } = last(await call({ method, body: method === "GET" ? undefined : "sent" }));
      assert.equal(fault, undefined);
      assert.deepEqual([answer?.status, answer?.address], [200, "127.0.0.1"]);
      assert.equal(answer?.body.toString(), method === "HEAD" ? "" : "echo");
      assert.deepEqual([asked[0]?.method, asked[0]?.body], [method, method === "GET" ? "" : "sent"]);
    }
  });

  it("requests of policies send the policy's fields, but none that frame the message or name another host", async () => {
    const headers: Record<string, string | readonly string[]> = {
      "X-Key": "k",
      "x-list": ["a", "b"],
      Host: "other",
      "Content-Length": "99",
      "Transfer-Encoding": "chunked",
      connection: "x-key",
      upgrade: "h2c",
      "User-Agent": "x",
    };
    await call({ method: "POST", headers, body: "sent" });
    const { headers: seen, body } = asked[0] as (typeof asked)[number];
    assert.deepEqual([seen["x-key"], seen["x-list"], seen.host, body], ["k", "a, b", origin.slice(7), "sent"]);
    assert.deepEqual([seen["transfer-encoding"], seen.upgrade, seen["user-agent"]], [undefined, undefined, "postern"]);
  });

  it("requests of policies fail with a reason for fields that cannot be sent", async () => {
    for (const headers of [{ "x-a": "a\r\nx-b: b" }, { "x a": "b" }, { "": "b" }, { "x-a": "\0" }]) {
      assert.equal(await faultOf({ headers: headers as Record<string, string> }), "failed");
      assert.equal(asked.length, 0);
    }
  });

  it("requests of policies decode responses, and limit their size before and after", async () => {
    assert.equal(last(await call({ url: "/gzip" })).answer?.body.toString(), "packed");
    assert.equal(last(await call({ url: "/br" })).answer?.body.toString(), "packed");
    assert.equal(last(await call({ url: "/full" })).answer?.body.length, maxAnswerBytes);
    for (const url of ["/bomb", "/long", "/not-gzip"]) assert.equal(await faultOf({ url }), "too_long", url);
    const { answer } = last(await call({ url: "/cookies" }));
    assert.deepEqual(answer?.headers["set-cookie"], ["a=1", "b=2"]);
    assert.equal(answer?.headers["constructor"], undefined);
  });

  it("requests of policies reach no host that the server does not allow, nor private addresses, nor other schemes", async () => {
    const nowhere = { allows: () => false };
    assert.equal(await faultOf({}, nowhere), "refused");
    const asks: string[] = [];
    const notes = { allows: (host: string) => asks.push(host) === 0 };
    assert.equal(await faultOf({ url: "http://API.Example.TEST./" }, notes), "refused");
    assert.deepEqual(asks, ["api.example.test"]);
    for (const url of ["file:///etc/passwd", "ftp://a.test/", "javascript:alert(1)", "http://[", "::", "data:,x"]) {
      assert.equal(await faultOf({ url }), "refused", url);
    }
    assert.equal(await faultOf({ url: "http://user:word@localhost/" }), "refused");
    const port = origin.split(":")[2];
    for (const host of [
      "127.0.0.1",
      "localhost",
      "[::1]",
      "0x7f.1",
      "2130706433",
      "[::ffff:127.0.0.1]",
      "10.0.0.1",
      "169.254.169.254",
      "[fe80::1]",
      "[64:ff9b::7f00:1]",
    ]) {
      const { fault } = last(await call({ url: `https://${host}:${port}/` }, { reach: "public" }));
      assert.match(fault?.message ?? "", /not public/, host);
      assert.equal(asked.length, 0);
    }
  });

  it("requests of policies follow the maximum number of redirects, and return the next one", async () => {
    assert.equal(last(await call({ url: "/302" })).answer?.status, 302);
    assert.equal(last(await call({ url: "/302", maxRedirects: 1 })).answer?.status, 200);
    const { answer } = last(await call({ url: "/to/round", maxRedirects: 5 }));
    assert.deepEqual([answer?.status, asked.length], [302, 6]);
  });

  it("requests of policies check each redirect like the first request", async () => {
    assert.equal(await faultOf({ url: "/to/refused", maxRedirects: 1 }), "refused");
    assert.equal(await faultOf({ url: "/to/file", maxRedirects: 1 }), "refused");
    assert.equal(last(await call({ url: "/to/nothing", maxRedirects: 1 })).answer?.status, 302);
    const allows = (host: string): boolean => host !== "10.0.0.1";
    assert.equal(await faultOf({ url: "/to/private", maxRedirects: 1 }, { allows }), "refused");
    assert.equal(asked.length, 1);
  });

  it("requests of policies are repeated by GET and without body if the redirect requires that", async () => {
    for (const [status, method] of [
      [301, "GET"],
      [302, "GET"],
      [303, "GET"],
      [307, "POST"],
      [308, "POST"],
    ] as const) {
      await call({
        url: `/${status}`,
        method: "POST",
        body: "sent",
        headers: { "content-type": "text/plain" },
        maxRedirects: 1,
      });
      const { body, headers, method: seen } = asked[1] as (typeof asked)[number];
      const type = method === "POST" ? "text/plain" : undefined;
      assert.deepEqual([seen, body, headers["content-type"]], [method, method === "POST" ? "sent" : "", type]);
    }
  });

  it("requests of policies send no secret to another origin", async () => {
    const headers = { authorization: "Bearer s", cookie: "a=b", "x-api-key": "s", accept: "text/plain" };
    await call({ url: "/307", headers, maxRedirects: 1 });
    assert.equal(asked[1]?.headers["x-api-key"], "s");
    await call({ url: "/307/other", headers, maxRedirects: 1 });
    const seen = asked[1]?.headers;
    assert.deepEqual(
      [seen?.authorization, seen?.cookie, seen?.["x-api-key"], seen?.accept],
      [undefined, undefined, undefined, "text/plain"],
    );
  });

  it("requests of policies are sent three times at most, if the policy retries", async () => {
    const failing = (attempts: readonly CallAttempt[]): boolean => (last(attempts).answer?.status ?? 500) >= 500;
    assert.equal((await call({ url: "/500" })).length, 1);
    assert.equal((await call({ url: "/500", retry: failing })).length, 3);
    assert.equal((await call({ url: "/cut", retry: failing })).length, 3);
    assert.equal((await call({ url: "/echo", retry: failing })).length, 1);
    assert.equal((await call({ url: "http://refused.example.test/", retry: failing })).length, 1);
    const broken = () => {
      throw new Error("broken");
    };
    assert.equal(last(await call({ retry: broken })).fault?.message, "broken");
  });

  it("requests of policies end after their total time, including retries and pauses", async () => {
    const clock = makeManualClock();
    const asking = call({ url: "/silent", timeoutMs: 3000, retry: () => true }, { clock });
    while (asked.length === 0) await new Promise(setImmediate);
    clock.pass(3000);
    const attempts = await asking;
    assert.deepEqual([attempts.length, last(attempts).fault?.kind, last(attempts).timeMs], [1, "timeout", 3000]);
    assert.equal(clock.pending, 0);
  });

  it("requests of policies reach internal endpoints through the policy's host process, and end if they form a loop", async () => {
    const seen: unknown[] = [];
    const inside = (request: CallRequest, hops: number): Promise<CallAnswer> => {
      seen.push([request.method, request.url.href, hops]);
      return Promise.resolve({ status: 200, headers: {}, body: Buffer.from("inside"), address: "" });
    };
    const url = "http://Check.INTERNAL/a?b=c";
    const setting = { inside, allows: () => false };
    assert.equal(last(await call({ url, origin: originOf(2) }, setting)).answer?.body.toString(), "inside");
    assert.deepEqual(seen, [["GET", "http://check.internal/a?b=c", 3]]);
    assert.equal(await faultOf({ url, origin: originOf(3) }, setting), "loop");
    assert.equal(await faultOf({ url }), "failed");
  });

  it("requests of policies have a maximum number", async () => {
    const clock = makeManualClock();
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const caller = makeHttpCaller({
      clock,
      outside: outbound(clock, "public"),
      allows: () => false,
      inside: {
        async send() {
          await held;
          return { status: 200, headers: {}, body: Buffer.alloc(0), address: "" };
        },
      },
    });
    const one: HttpCall = {
      method: "GET",
      url: "http://a.internal/",
      headers: {},
      timeoutMs: 3000,
      maxRedirects: 0,
      origin: originOf(),
    };
    const asked = (accountId: string, count: number) =>
      Array.from({ length: count }, () => caller.call({ ...one, origin: originOf(0, accountId) }));
    const ofOne = asked("ac_1", 70);
    const ofMany = [2, 3, 4, 5].flatMap((account) => asked(`ac_${account}`, 64));
    await Promise.resolve();
    release();
    const answered = async (calls: readonly Promise<readonly CallAttempt[]>[]): Promise<number> =>
      (await Promise.all(calls)).filter((attempts) => last(attempts).answer).length;
    assert.equal(await answered(ofOne), 64, "of one account");
    assert.equal(await answered(ofMany), 192, "of all");
    assert.equal(last(await caller.call(one)).answer?.status, 200);
  });

  it("requests of policies have a maximum number per client request, however its rules call each other", async () => {
    const answer = { status: 200, headers: {}, body: Buffer.alloc(0), address: "" };
    const origin = originOf();
    const setting = { inside: () => Promise.resolve(answer) };
    const kinds: (string | undefined)[] = [];
    for (let count = 0; count < 33; count += 1) {
      const chain = { ...origin.chain, hops: count % 3 };
      kinds.push(await faultOf({ url: "http://a.internal/", origin: { ...origin, chain } }, setting));
    }
    assert.deepEqual([kinds.indexOf("loop"), kinds.length], [32, 33]);
  });

  it("I7: requests of policies follow no redirect from outside to an internal address", async () => {
    const inside = () => Promise.reject(new Error("reached"));
    for (const url of ["/to/internal", "/to/internal-dot"]) {
      assert.equal(await faultOf({ url, maxRedirects: 1 }, { inside }), "refused", url);
    }
  });

  it("requests of policies to internal endpoints allow no user name or password, and any port", () => {
    for (const given of ["a:b@", "a@", ":b@", "@"]) {
      const name = internalNameIn(`https://${given}api.internal/x`);
      assert.equal(name, given === "@" ? "api.internal" : undefined, given);
    }
    assert.equal(internalNameIn("https://api.internal:8443"), "api.internal");
    assert.equal(internalNameIn("http://api.internal:8080"), "http://api.internal");
  });

  it("requests of policies reach internal endpoints by their plain names", async () => {
    const inside = () => Promise.reject(new Error("reached"));
    for (const url of ["http://u:p@a.internal/", "http://a.internal./"]) {
      assert.equal(await faultOf({ url }, { inside }), "refused", url);
    }
    for (const url of ["http://a.internal/", "http://a.internal:8080/"]) {
      assert.equal(last(await call({ url }, { inside })).fault?.message, "reached");
    }
  });
});
