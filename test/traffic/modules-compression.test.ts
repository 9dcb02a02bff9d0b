import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { request } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { after, before, describe, it } from "node:test";
import { brotliDecompressSync, createGunzip, gunzipSync, gzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { protocols } from "../support/agents.ts";
import { host, startFixture } from "../support/modules.ts";
import type { Fixture } from "../support/modules.ts";

let fixture: Fixture;
before(async () => {
  fixture = await startFixture();
  fixture.route({ compression: { enabled: true } });
});
after(() => fixture.stop());

const page = Buffer.from("<p>some text that shrinks</p>\n".repeat(2000));
const decoders = { gzip: gunzipSync, deflate: inflateSync, br: brotliDecompressSync, zstd: zstdDecompressSync };

function serve(headers: Readonly<Record<string, string>>, body = page, status = 200): void {
  fixture.answer((_request, response) => {
    response.writeHead(status, headers);
    response.end(body);
  });
}

for (const protocol of protocols) {
  describe(`compression over ${protocol}`, () => {
    const ask = (accept: string, more: object = {}) =>
      fixture.ask(protocol, { headers: { "accept-encoding": accept }, ...more });

    for (const coding of ["gzip", "deflate", "br", "zstd"] as const) {
      it(`compresses with ${coding}, bodies of known and of unknown length, small and large`, async () => {
        for (const body of [page.subarray(0, 900), page, Buffer.concat(Array.from({ length: 40 }, () => page))]) {
          for (const length of [true, false]) {
            serve({ "content-type": "text/html", ...(length && { "content-length": String(body.length) }) }, body);
            const answer = await ask(coding);
            assert.equal(answer.headers["content-encoding"], coding);
            assert.equal(answer.headers["content-length"], undefined);
            assert.equal(answer.headers["vary"], "accept-encoding");
            assert.ok(answer.body.length < body.length);
            assert.ok(decoders[coding](answer.body).equals(body));
          }
        }
      });
    }

    it("goes by the client's weights", async () => {
      serve({ "content-type": "application/json" });
      for (const [accept, coding] of [
        ["gzip;q=0.1, br;q=0.9", "br"],
        ["gzip, br;q=0", "gzip"],
        ["gzip;q=0, *", "zstd"],
        ["identity", undefined],
        ["gzip;q=0.5, identity;q=1", undefined],
        ["unheard", undefined],
      ] as const) {
        const { headers, body } = await ask(accept);
        assert.equal(headers["content-encoding"], coding, accept);
        assert.equal(headers["vary"], "accept-encoding");
        if (!coding) assert.ok(body.equals(page));
      }
    });

    it("D6: leaves alone what is encoded, partial, not to be transformed, or does not shrink", async () => {
      for (const [headers, status] of [
        [{ "content-type": "text/html", "content-encoding": "x-own" }, 200],
        [{ "content-type": "text/html", "content-range": `bytes 0-9/${page.length}` }, 206],
        [{ "content-type": "text/html", "cache-control": "public, no-transform" }, 200],
        [{ "content-type": "image/png" }, 200],
        [{}, 200],
      ] as const) {
        serve({ ...headers, "content-length": String(page.length) }, page, status);
        const answer = await ask("gzip");
        assert.equal(answer.headers["content-encoding"], (headers as Record<string, string>)["content-encoding"]);
        assert.equal(answer.headers["content-length"], String(page.length));
        assert.ok(answer.body.equals(page));
      }
      for (const status of [204, 304]) {
        serve({ "content-type": "text/html" }, Buffer.alloc(0), status);
        assert.equal((await ask("gzip")).headers["content-encoding"], undefined);
      }
      serve({ "content-type": "text/html", "content-length": String(page.length) });
      const head = await ask("gzip", { method: "HEAD" });
      assert.equal(head.headers["content-encoding"], undefined);
      assert.equal(head.headers["content-length"], String(page.length));
    });

    it("D6: weakens a strong ETag, and takes back what no longer holds of the bytes", async () => {
      serve({ "content-type": "text/html", etag: '"1"', "accept-ranges": "bytes", "content-md5": "x", vary: "cookie" });
      const { headers } = await ask("gzip");
      assert.equal(headers.etag, 'W/"1"');
      assert.equal(headers["accept-ranges"], undefined);
      assert.equal(headers["content-md5"], undefined);
      assert.match(String(headers.vary), /cookie, ?accept-encoding/);
    });

    it("D6: never opens what a client sends compressed", async () => {
      serve({ "content-type": "text/html" });
      const bomb = gzipSync(Buffer.alloc(20_000_000));
      const headers = { "content-encoding": "gzip", "accept-encoding": "gzip" };
      await fixture.ask(protocol, { method: "POST", body: bomb, headers });
      assert.ok(fixture.received.at(-1)?.body.equals(bomb));
    });

    it("never holds up an event stream: each event comes before the next is sent", async () => {
      let response: ServerResponse | undefined;
      const arrived = Promise.withResolvers<void>();
      fixture.answer((_request, given) => {
        response = given;
        given.writeHead(200, { "content-type": "text/event-stream" });
        given.flushHeaders();
        arrived.resolve();
      });
      const socket = await fixture.connect(protocol);
      const headers = { "accept-encoding": "gzip", accept: "text/event-stream" };
      let stream: Readable;
      if (protocol === "h1") {
        const outgoing = request({ createConnection: () => socket, headers: { host, ...headers } }).end();
        [stream] = (await once(outgoing, "response")) as [IncomingMessage];
      } else {
        const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
        session.on("error", () => {});
        const http2Stream = session.request({ ":path": "/", ":authority": host, ...headers });
        const [fields] = (await once(http2Stream, "response")) as [Record<string, unknown>];
        assert.equal(fields["content-encoding"], "gzip");
        stream = http2Stream;
      }
      await arrived.promise;
      const events = stream.pipe(createGunzip()).setEncoding("utf8");
      for (let count = 0; count < 20; count += 1) {
        response?.write(`data: ${count}\n\n`);
        const [event] = (await once(events, "data")) as [string];
        assert.equal(event, `data: ${count}\n\n`);
      }
      response?.end();
      events.resume();
      await once(events, "end");
      socket.destroy();
    });

    it("holds back a service whose client does not read", async () => {
      let written = 0;
      let blocked = 0;
      const finished = Promise.withResolvers<void>();
      fixture.answer((_request, response) => {
        response.writeHead(200, { "content-type": "text/html" });
        // Noise does not shrink: what goes in comes out as large.
        const piece = Buffer.from(Array.from({ length: 65_536 }, (_, at) => (at * 7919 * (at % 251)) & 255));
        const write = (): void => {
          while (written < 30_000_000) {
            written += piece.length;
            piece[written % 1000] = written & 255;
            if (response.write(Buffer.from(piece))) continue;
            blocked += 1;
            response.once("drain", write);
            return;
          }
          response.end(() => finished.resolve());
        };
        write();
      });
      const answer = await ask("gzip");
      await finished.promise;
      assert.ok(gunzipSync(answer.body).length >= 30_000_000);
      assert.ok(blocked > 0);
    });
  });
}
