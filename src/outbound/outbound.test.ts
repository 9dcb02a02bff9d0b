import assert from "node:assert/strict";
import { once } from "node:events";
import type { RequestListener, Server as PlainServer } from "node:http";
import { createServer } from "node:https";
import type { Server } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { createServer as createPlainServer } from "../lib/http.ts";
import { systemClock } from "../lib/clock.ts";
import { makeMetrics } from "../lib/metrics.ts";
import { createAuthority, issueLeaf } from "../lib/certificates/x509.ts";
import { eventually } from "../../test/support/eventually.ts";
import { makeManualClock } from "../../test/support/clock.ts";
import { openOutbound } from "./outbound.ts";
import type { OutboundOptions } from "./outbound.ts";
import { exportOutboundCounters } from "./outbound-counters.ts";

const answers: Readonly<Record<string, RequestListener>> = {
  "/whole": (_request, response) => response.end("whole"),
  "/moved": (_request, response) => response.writeHead(302, { location: "/whole" }).end("moved"),
  "/long": (_request, response) => response.end("x".repeat(1025)),
  "/packed": (_request, response) => response.writeHead(200, { "content-encoding": "br" }).end("not brotli"),
  "/cut": (_request, response) => {
    response.writeHead(200, { "content-length": "10" }).write("half", () => response.destroy());
  },
  "/early": (request, response) => {
    request.socket.once("close", () => (isEarlyComplete = request.complete));
    response.end("early");
  },
  "/echo": (request, response) => void request.pipe(response),
  "/silent": () => void (silent += 1),
};
let silent = 0;
/** Whether the server has read the whole body of the request to `/early`. */
let isEarlyComplete: boolean | undefined;
const asked = (): number => silent;
const listener: RequestListener = (request, response) => answers[request.url ?? ""]?.(request, response);

describe("requests to the outside", () => {
  let server: Server;
  let plainServer: PlainServer;
  let origin: string;
  let plainOrigin: string;
  let ca: string;
  before(async () => {
    const now = Date.now();
    const authority = await createAuthority({ commonName: "test", now });
    const { certificatePem: cert, keyPem: key } = await issueLeaf(authority, { names: ["localhost"], now, days: 1 });
    ca = authority.certificatePem;
    server = createServer({ cert, key }, listener).listen(0, "127.0.0.1");
    plainServer = createPlainServer(listener).listen(0, "127.0.0.1");
    await Promise.all([once(server, "listening"), once(plainServer, "listening")]);
    origin = `https://localhost:${(server.address() as AddressInfo).port}`;
    plainOrigin = `http://127.0.0.1:${(plainServer.address() as AddressInfo).port}`;
  });
  after(() => {
    server.close();
    plainServer.close();
  });

  const get = async (url: string, options: Partial<OutboundOptions> = {}) => {
    const outbound = openOutbound({
      purpose: "events",
      clock: systemClock,
      reach: "any",
      ca,
      maxAnswerBytes: 1024,
      ...options,
    });
    try {
      return await outbound.send({ method: "GET", url: new URL(url) });
    } finally {
      outbound.close();
    }
  };

  it("I7: requests to the outside accept a complete response from a server with a valid certificate", async () => {
    assert.equal((await get(`${origin}/whole`)).text, "whole");
    await assert.rejects(get(`${origin}/whole`, { ca: undefined }), /certificate/);
  });

  it("I7: requests to the outside do not follow redirects", async () => {
    const { status, text } = await get(`${origin}/moved`);
    assert.deepEqual([status, text], [302, "moved"]);
  });

  it("I7: requests to the outside decode no content", async () => {
    assert.equal((await get(`${origin}/packed`)).text, "not brotli");
  });

  it("I7: requests to the outside reject responses that are too long or incomplete", async () => {
    await assert.rejects(get(`${origin}/long`), /too long/);
    await assert.rejects(get(`${origin}/cut`), /aborted|hang up/);
  });

  it("I7: requests to the outside reach public addresses only, by any name, unless the operator allows more", async () => {
    for (const url of [
      `${origin}/whole`,
      origin.replace("localhost", "127.0.0.1"),
      "https://[::1]/",
      "https://10.1.2.3/",
    ]) {
      await assert.rejects(get(url, { reach: "public" }), /leads to an address that is not public/, url);
    }
    assert.equal((await get(`${origin}/whole`, { reach: "any_https" })).status, 200);
  });

  it("I7: requests to the outside use TLS unless the operator allows plain HTTP", async () => {
    for (const reach of ["public", "any_https"] as const) {
      await assert.rejects(get(`${plainOrigin}/whole`, { reach }), /must begin with https/);
    }
    assert.equal((await get(`${plainOrigin}/whole`)).text, "whole");
  });

  it("I7: requests to the outside time out", async () => {
    const clock = makeManualClock();
    const asked = get(`${origin}/silent`, { clock, timeoutMs: 5_000 });
    assert.equal(clock.pending, 1);
    let outcome: unknown;
    void asked.catch((error: unknown) => (outcome = error));
    clock.pass(5_000);
    await eventually(
      () => outcome,
      (error) => error !== undefined,
    );
    assert.match(String(outcome), /no answer within 5 s/);
    assert.equal(clock.pending, 0);
  });

  it("I7: requests to the outside are not repeated after a timeout, even on a kept connection", async () => {
    const clock = makeManualClock();
    const outbound = openOutbound({ purpose: "events", clock, reach: "any", ca, timeoutMs: 100 });
    const send = (path: string) => outbound.send({ method: "POST", url: new URL(origin + path), body: "x" });
    await send("/whole");
    const before = silent;
    const waiting = send("/silent");
    const refused = assert.rejects(waiting, /no answer within 0\.1 s/);
    while (asked() === before) await new Promise((done) => setImmediate(done));
    clock.pass(100);
    await refused;
    assert.equal(silent, before + 1);
    outbound.close();
  });

  it("requests to the outside send a body in pieces, and none of it after the response", async () => {
    const outbound = openOutbound({ purpose: "telemetry", clock: systemClock, reach: "any", ca });
    const post = (path: string, body: readonly Uint8Array[]) =>
      outbound.send({ method: "POST", url: new URL(plainOrigin + path), body });
    assert.equal((await post("/echo", [Buffer.from("one "), Buffer.from("body")])).text, "one body");
    const large = Array.from({ length: 64 }, () => Buffer.alloc(1024 * 1024));
    assert.equal((await post("/early", large)).text, "early");
    assert.equal(
      await eventually(
        () => isEarlyComplete,
        (complete) => complete !== undefined,
      ),
      false,
    );
    outbound.close();
  });

  it("requests to the outside are counted by purpose and result", async () => {
    const metrics = makeMetrics();
    exportOutboundCounters(metrics);
    const count = (outcome: string): number =>
      Number(new RegExp(`purpose="events",outcome="${outcome}"} (\\d+)`).exec(metrics.render())?.[1]);
    const before = [count("answered"), count("failed")] as const;
    await get(`${origin}/whole`);
    await assert.rejects(get(`${origin}/cut`));
    assert.deepEqual([count("answered"), count("failed")], [before[0] + 1, before[1] + 1]);
  });
});
