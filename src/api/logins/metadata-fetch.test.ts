import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import { after, before, describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { startHttpService, startHttpsService } from "../../../test/support/services.ts";
import type { HttpService, HttpsService } from "../../../test/support/services.ts";
import { makeMetadataFetch } from "./metadata-fetch.ts";

const xml = { "content-type": "application/samlmetadata+xml" };

describe("fetch of a SAML provider's metadata", () => {
  const clock = makeManualClock();
  let service: HttpService;
  let secure: HttpsService;
  let answer: { status?: number; headers?: Readonly<Record<string, string>>; body?: Buffer | string } | undefined;
  let asked: IncomingHttpHeaders = {};
  const serve: Parameters<typeof startHttpService>[0] = ({ headers }, response) => {
    asked = headers;
    if (answer) response.writeHead(answer.status ?? 200, answer.headers ?? xml).end(answer.body ?? "<a/>");
    else service.server.emit("asked");
  };
  const local = makeMetadataFetch({ clock, allowLocal: true, ca: undefined });
  before(async () => {
    service = await startHttpService(serve);
    secure = await startHttpsService(serve);
  });
  after(async () => {
    local.close();
    await service.stop();
    await secure.stop();
  });
  const look = (given: typeof answer, tag = "") => {
    answer = given;
    return local.get(`http://127.0.0.1:${service.port}/metadata`, tag);
  };

  it("fetch of a SAML provider's metadata sends the accepted type and the known ETag", async () => {
    assert.deepEqual(await look({ headers: { ...xml, etag: '"1"' }, body: "<ä/>" }), { text: "<ä/>", etag: '"1"' });
    assert.match(String(asked.accept), /^application\/samlmetadata\+xml, /);
    assert.deepEqual([asked["accept-encoding"], asked["if-none-match"]], ["identity", undefined]);
    assert.equal(await look({ status: 304 }, '"1"'), "unchanged");
    assert.equal(asked["if-none-match"], '"1"');
    assert.deepEqual(await look({ headers: { ...xml, etag: "x".repeat(1_025) } }), { text: "<a/>", etag: "" });
    for (const type of ["text/xml", "application/xml; charset=utf-8", "Application/SAMLmetadata+XML"]) {
      assert.deepEqual(await look({ headers: { "content-type": type } }), { text: "<a/>", etag: "" }, type);
    }
  });

  it("I7: fetch of a SAML provider's metadata accepts only uncompressed XML in UTF-8 up to a megabyte", async () => {
    const megabyte = 1024 * 1024;
    assert.notEqual(await look({ body: " ".repeat(megabyte) }), "unchanged");
    for (const [given, why] of [
      [{ body: " ".repeat(megabyte + 1) }, /too long/],
      [{ body: Buffer.of(0x3c, 0xff, 0x3e) }, /not UTF-8/],
      [{ headers: { ...xml, "content-encoding": "gzip" } }, /answers compressed/],
      [{ headers: { "content-type": "text/html" } }, /"text\/html" instead of XML/],
      [{ headers: { "content-type": "application/xmlish" } }, /instead of XML/],
      [{ headers: {} }, /"" instead of XML/],
      [{ status: 302, headers: { ...xml, location: "/elsewhere" } }, /redirects/],
      [{ status: 404 }, /answers 404/],
      [{ status: 206 }, /answers 206/],
    ] as const) {
      await assert.rejects(look(given), why);
    }
  });

  it("I7: fetch of a SAML provider's metadata times out after five seconds", async () => {
    const reached = once(service.server, "asked");
    const looked = assert.rejects(look(undefined), /no answer within 5 s/);
    await reached;
    clock.pass(5_000);
    await looked;
  });

  it("I7: fetch of a SAML provider's metadata uses TLS and public addresses unless the operator allows others, and trusts the operator's authorities", async () => {
    answer = {};
    const url = `https://localhost:${secure.port}/metadata`;
    for (const [options, at, why] of [
      [{ allowLocal: false, ca: secure.authorityPem }, `https://127.0.0.1:${secure.port}/`, /not public/],
      [{ allowLocal: false, ca: secure.authorityPem }, url, /not public/],
      [{ allowLocal: false, ca: undefined }, `http://127.0.0.1:${service.port}/`, /must begin with https/],
      [{ allowLocal: true, ca: undefined }, url, /certificate|self-signed/i],
      [{ allowLocal: true, ca: secure.authorityPem }, url, undefined],
    ] as const) {
      const fetch = makeMetadataFetch({ clock, ...options });
      if (why) await assert.rejects(fetch.get(at, ""), why);
      else assert.deepEqual(await fetch.get(at, ""), { text: "<a/>", etag: "" });
      fetch.close();
    }
  });
});
