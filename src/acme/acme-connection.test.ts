import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { after, describe, it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import { createAuthority, issueLeaf } from "../lib/certificates/x509.ts";
import { connectAcme } from "./acme-connection.ts";
import type { AcmeConnection } from "./acme-connection.ts";
import { AcmeProblem } from "./problem.ts";

const now = Date.now();
const authority = await createAuthority({ commonName: "Test", now });
const leaf = await issueLeaf(authority, { names: ["localhost"], now, days: 1 });
const clock = makeManualClock(now);
const stops: (() => void)[] = [];
after(() => {
  for (const stop of stops) stop();
});

interface Started {
  readonly url: string;
  readonly connection: AcmeConnection;
  readonly controller: AbortController;
}

async function start(listener: RequestListener, ca: string | undefined = authority.certificatePem): Promise<Started> {
  const server = createServer({ cert: leaf.certificatePem, key: leaf.keyPem }, listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  stops.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `https://localhost:${(server.address() as AddressInfo).port}/dir`;
  const controller = new AbortController();
  const { signal } = controller;
  return { url, controller, connection: connectAcme({ directoryUrl: url, ca, clock, signal }) };
}

const problem =
  (type: string, words: RegExp) =>
  (error: unknown): boolean =>
    error instanceof AcmeProblem && error.type === type && words.test(error.message);

describe("the connection to a certificate authority", () => {
  it("the connection to a certificate authority returns answers of any status, with Retry-After", async () => {
    const { url, connection } = await start((_request, response) => {
      response.writeHead(503, { "retry-after": "120" });
      response.end("{}");
    });
    const answer = await connection.send("GET", url);
    assert.deepEqual([answer.status, answer.retryAfterMs, answer.json()], [503, 120_000, {}]);
  });

  it("I7: the connection to a certificate authority follows no redirect", async () => {
    let asked = 0;
    const { url, connection } = await start((_request, response) => {
      asked += 1;
      response.writeHead(302, { location: "/elsewhere" }).end();
    });
    assert.equal((await connection.send("GET", url)).status, 302);
    assert.equal(asked, 1);
  });

  it("I7: the connection to a certificate authority stays on its origin, whatever URLs the authority's documents contain", async () => {
    const { url, connection } = await start((_request, response) => response.end());
    for (const elsewhere of [
      "https://127.0.0.1/latest/meta-data",
      url.replace("https", "http"),
      url.replace(/:\d+/, ":1"),
      "no address",
    ]) {
      await assert.rejects(connection.send("GET", elsewhere), problem("malformedAnswer", /elsewhere/), elsewhere);
    }
  });

  it("I7: the connection to a certificate authority uses https only, and verifies the certificate", async () => {
    const { signal } = new AbortController();
    const options = { ca: undefined, clock, signal };
    assert.throws(() => connectAcme({ ...options, directoryUrl: "http://localhost/dir" }), /is not https/);
    const other = await createAuthority({ commonName: "Other", now });
    const { url, connection } = await start((_request, response) => response.end(), other.certificatePem);
    await assert.rejects(connection.send("GET", url), problem("unreachable", /certificate|issuer/));
  });

  it("I7: the connection to a certificate authority aborts answers that are too long, with or without a declared length", async () => {
    const { url, connection } = await start((_request, response) => {
      const more = (): void => {
        while (response.write(Buffer.alloc(65_536))) if (response.destroyed) return;
        response.once("drain", more);
      };
      more();
    });
    await assert.rejects(connection.send("GET", url), problem("unreachable", /too long/));
  });

  it("I7: the connection to a certificate authority aborts answers that do not start or end in time", async () => {
    for (const begins of [false, true]) {
      const arrived = Promise.withResolvers<void>();
      const { url, connection } = await start((_request, response) => {
        if (begins) response.write("{");
        arrived.resolve();
      });
      const sent = assert.rejects(connection.send("GET", url), problem("unreachable", /no answer within 15 s|aborted/));
      await arrived.promise;
      clock.pass(15_000);
      await sent;
    }
  });

  it("the connection to a certificate authority aborts open requests when the server stops", async () => {
    const arrived = Promise.withResolvers<void>();
    const { url, connection, controller } = await start(() => arrived.resolve());
    const sent = assert.rejects(connection.send("GET", url), problem("unreachable", /aborted/));
    const paused = assert.rejects(connection.pause(60_000), problem("unreachable", /stopping/));
    await arrived.promise;
    controller.abort();
    await Promise.all([sent, paused]);
    assert.equal(clock.pending, 0);
  });
});
