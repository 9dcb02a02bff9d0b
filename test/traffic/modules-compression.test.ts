import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, describe, it } from "node:test";
import {
  brotliDecompressSync,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
  gunzipSync,
  gzipSync,
  inflateSync,
  zstdDecompressSync,
} from "node:zlib";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import { ipPolicy } from "../support/objects.ts";
import { openStream } from "../support/open-stream.ts";

let fixture: EdgeWithAgent;
before(async () => {
  fixture = await startEdgeWithAgent();
  for (const { kind, id, doc } of ipPolicy("ipp_all", { "127.0.0.0/8": "allow" })) fixture.put(kind, id, doc);
  fixture.route({ compression: { enabled: true } });
});
after(() => fixture.stop());

const page = Buffer.from("<p>some text that shrinks</p>\n".repeat(2000));
const decoders = { gzip: gunzipSync, deflate: inflateSync, br: brotliDecompressSync, zstd: zstdDecompressSync };

const openers = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};
/** Every module that can act on such a request. */
const everything = {
  ip_restriction: { enabled: true, ip_policy_ids: ["ipp_all"] },
  user_agent_filter: { enabled: true, allow: [], deny: ["bot"] },
  circuit_breaker: {
    enabled: true,
    tripped_duration: 10,
    rolling_window: 10,
    num_buckets: 10,
    volume_threshold: 10,
    error_threshold_percentage: 0.5,
  },
  compression: { enabled: true },
  request_headers: { enabled: true, remove: [], add: { "x-client": "${conn.client_ip}" } },
  response_headers: { enabled: true, remove: [], add: { "x-through": "modules" } },
};

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
      it(`compression over ${protocol} compresses with ${coding}, bodies of known and of unknown length, small and large`, async () => {
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

    it(`compression over ${protocol} goes by the client's weights`, async () => {
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

    it(`D6: compression over ${protocol} skips bodies that are encoded, partial, marked no-transform, or incompressible`, async () => {
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

    it(`D6: compression over ${protocol} weakens a strong ETag, and removes fields that no longer match the bytes`, async () => {
      serve({ "content-type": "text/html", etag: '"1"', "accept-ranges": "bytes", "content-md5": "x", vary: "cookie" });
      const { headers } = await ask("gzip");
      assert.equal(headers.etag, 'W/"1"');
      assert.equal(headers["accept-ranges"], undefined);
      assert.equal(headers["content-md5"], undefined);
      assert.match(String(headers.vary), /cookie, ?accept-encoding/);
    });

    it(`D6: compression over ${protocol} never decodes what a client sends compressed`, async () => {
      serve({ "content-type": "text/html" });
      const bomb = gzipSync(Buffer.alloc(20_000_000));
      const headers = { "content-encoding": "gzip", "accept-encoding": "gzip" };
      await fixture.ask(protocol, { method: "POST", body: bomb, headers });
      assert.ok(fixture.received.at(-1)?.body.equals(bomb));
    });

    for (const coding of ["gzip", "deflate", "br", "zstd"] as const) {
      it(`compression over ${protocol} never delays an event stream in ${coding}: each event arrives before the next is sent`, async () => {
        fixture.route(everything);
        let response: ServerResponse | undefined;
        fixture.answer((_request, given) => {
          response = given;
          given.writeHead(200, { "content-type": "text/event-stream" });
          given.flushHeaders();
        });
        const headers = { "accept-encoding": coding, accept: "text/event-stream", "user-agent": "test" };
        const { stream, fields, close } = await openStream(fixture, protocol, { headers });
        // The head also arrives before the first event.
        assert.deepEqual([fields["content-encoding"], fields["x-through"]], [coding, "modules"]);
        const events = stream.pipe(openers[coding]()).setEncoding("utf8")[Symbol.asyncIterator]();
        for (let count = 0; count < 20; count += 1) {
          const text = `data: ${count}${"\ndata: more".repeat(count % 3 === 0 ? 200 : 0)}\n\n`;
          response?.write(text);
          let arrived = "";
          while (arrived.length < text.length) arrived += (await events.next()).value;
          assert.equal(arrived, text);
        }
        response?.end();
        assert.equal((await events.next()).done, true);
        close();
        fixture.route({ compression: { enabled: true } });
      });
    }

    it(`compression over ${protocol} holds back a service whose client does not read`, async () => {
      let written = 0;
      let blocked = 0;
      const finished = Promise.withResolvers<void>();
      fixture.answer((_request, response) => {
        response.writeHead(200, { "content-type": "text/html" });
        // Random bytes do not compress.
        const piece = Buffer.from(Array.from({ length: 65_536 }, (_, at) => (at * 7919 * (at % 251)) & 255));
        const write = (): void => {
          while (written < 12_000_000) {
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
      assert.ok(gunzipSync(answer.body).length >= 12_000_000);
      assert.ok(blocked > 0);
    });
  });
}
