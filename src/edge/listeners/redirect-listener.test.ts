import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { after, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { makeManualClock } from "../../../test/support/clock.ts";
import { skipWithout } from "../../../test/support/programs.ts";
import { uploadRefused } from "../../../test/support/refused-upload.ts";
import { silentLog } from "../../lib/log.ts";
import { makeMetrics } from "../../lib/metrics.ts";
import { defaultListenerLimits } from "./listener-limits.ts";
import { startRedirectListener } from "./redirect-listener.ts";

const clock = makeManualClock();
const metrics = makeMetrics();
const challengeAt = "shop.example.com/.well-known/acme-challenge/token";
const start = (advertisedHttpsPort: number) =>
  startRedirectListener({
    at: { host: "127.0.0.1", port: 0 },
    ready: Promise.resolve(),
    advertisedHttpsPort,
    challengeBody: (host, path) => (`${host}${path}` === challengeAt ? "token.thumbprint" : undefined),
    limits: defaultListenerLimits,
    clock,
    log: silentLog,
    metrics,
  });
const usual = await start(443);
const odd = await start(8443);
after(() => {
  usual.destroy();
  odd.destroy();
});

/** Returns the listener's complete response to `request`. */
async function send(request: string, listener = usual): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port: listener.port });
  socket.write(request);
  return answerOn(socket);
}

function answerOn(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.setEncoding("latin1").on("data", (chunk: string) => (text += chunk));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(text));
  });
}

const locationOf = (answer: string): string | undefined => /^Location: (.*)\r$/m.exec(answer)?.[1];

describe("the plain HTTP listener", () => {
  it("the plain HTTP listener redirects to HTTPS with the same host, path and query", async () => {
    const answer = await send("GET /a/b?c=d&e HTTP/1.1\r\nHost: Shop.example.com\r\n\r\n");
    assert.match(answer, /^HTTP\/1\.1 308 Permanent Redirect\r\n/);
    assert.equal(locationOf(answer), "https://shop.example.com/a/b?c=d&e");
    assert.match(answer, /\r\nConnection: close\r\n/);
  });

  it(
    "the plain HTTP listener reads an upload that it redirects: 20 of 20 clients with 9 MB receive the redirect",
    { skip: skipWithout("curl") },
    async () => {
      const options = ["-H", "Host: shop.example.com", "-o", "/dev/null"];
      const url = `http://127.0.0.1:${usual.port}/`;
      const seen = await uploadRefused(20, { url, byteCount: 9_000_000, options });
      assert.deepEqual(seen, Array<string>(20).fill(" 308 0"));
    },
  );

  it("D2: the plain HTTP listener cuts off a client that sends nothing for 5 seconds after its response", async () => {
    const socket = connect({ host: "127.0.0.1", port: usual.port, allowHalfOpen: true });
    socket.write("POST / HTTP/1.1\r\nHost: shop.example.com\r\nContent-Length: 5\r\n\r\n");
    socket.resume();
    await once(socket, "end");
    clock.pass(5_000);
    // The system resets a connection that the listener has closed when the client sends more bytes.
    socket.on("error", () => {});
    for (; !socket.closed; await turn()) socket.write("x");
  });

  it("the plain HTTP listener serves a certificate authority's challenge at its one path", async () => {
    const path = "/.well-known/acme-challenge/token";
    const answer = await send(`GET ${path} HTTP/1.1\r\nHost: Shop.example.com:80\r\n\r\n`);
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\nContent-Type: text\/plain/);
    assert.match(answer, /\r\n\r\ntoken\.thumbprint\n$/);
    assert.match(await send(`HEAD ${path} HTTP/1.1\r\nHost: shop.example.com\r\n\r\n`), /Length: 17\r\n.*\r\n\r\n$/s);
    const spelled = path.replace("token", "%74oken?x");
    assert.match(await send(`GET ${spelled} HTTP/1.1\r\nHost: shop.example.com\r\n\r\n`), /token\.thumbprint\n$/);
    assert.match(await send(`GET ${path}x HTTP/1.1\r\nHost: shop.example.com\r\n\r\n`), /^HTTP\/1\.1 308/);
    assert.match(await send(`GET ${path} HTTP/1.1\r\nHost: www.example.com\r\n\r\n`), /^HTTP\/1\.1 308/);
  });

  it("the plain HTTP listener redirects to the public port and not the one in Host", async () => {
    assert.equal(
      locationOf(await send("GET / HTTP/1.1\r\nHost: a.example.com:8080\r\n\r\n")),
      "https://a.example.com/",
    );
    const answer = await send("GET / HTTP/1.1\r\nHost: a.example.com:8080\r\n\r\n", odd);
    assert.equal(locationOf(answer), "https://a.example.com:8443/");
    const six = await send("GET / HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n\r\n", odd);
    assert.equal(locationOf(six), "https://[2001:db8::1]:8443/");
  });

  it("the plain HTTP listener supports HEAD without a body, and requests with a body", async () => {
    const head = await send("HEAD /x HTTP/1.1\r\nHost: a.example.com\r\n\r\n");
    assert.match(head, /Content-Length: [1-9]\d*\r\n(.*\r\n)*\r\n$/);
    const post = await send("POST /x HTTP/1.1\r\nHost: a.example.com\r\nContent-Length: 5\r\n\r\nhello");
    assert.match(post, /^HTTP\/1\.1 308 /);
  });

  it("the plain HTTP listener uses the path of an absolute target with the same host", async () => {
    const answer = await send("GET http://a.example.com/p HTTP/1.1\r\nHost: a.example.com\r\n\r\n");
    assert.equal(locationOf(answer), "https://a.example.com/p");
  });

  it("W1: the plain HTTP listener rejects ambiguous requests and never copies them into Location", async () => {
    const head = "GET / HTTP/1.1\r\n";
    for (const request of [
      "GET / HTTP/1.1\nHost: a.example.com\n\n",
      `${head}\r\n`,
      `${head}Host: a.example.com\r\nHost: b.example.com\r\n\r\n`,
      `${head}Host: user@a.example.com\r\n\r\n`,
      `${head}Host: a.example.com/evil\r\n\r\n`,
      `${head}Host : a.example.com\r\n\r\n`,
      `${head}Host: a.example.com\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
      "GET http://b.example.com/ HTTP/1.1\r\nHost: a.example.com\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\nHost: a.example.com\r\n\r\n",
      "CONNECT a.example.com:443 HTTP/1.1\r\nHost: a.example.com:443\r\n\r\n",
      "GET /\r\n\r\n",
      `GET /${"a".repeat(9000)} HTTP/1.1\r\nHost: a.example.com\r\n\r\n`,
      `${head}Host: a.example.com\r\nX: ${"a".repeat(17_000)}\r\n\r\n`,
      "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00\r\n\r\n",
    ]) {
      const answer = await send(request);
      assert.match(answer, /^HTTP\/1\.1 400 /, JSON.stringify(request.slice(0, 80)));
      assert.equal(locationOf(answer), undefined);
    }
  });

  it("D2: the plain HTTP listener drops connections whose request does not arrive in time", async () => {
    const open = (): boolean => /postern_connections_open\{listener="http"\} 1\n/.test(metrics.render());
    while (open()) await turn();
    const socket = connect({ host: "127.0.0.1", port: odd.port });
    socket.write("GET / HTTP/1.1\r\nHost: a.exa");
    const answer = answerOn(socket);
    while (clock.pending === 0) await turn();
    clock.pass(10_000);
    assert.equal(await answer, "");
  });
});
