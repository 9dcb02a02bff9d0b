import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { exchangeOf, runResponse } from "../../test/support/exchange.ts";
import type { ExchangeInit } from "../../test/support/exchange.ts";
import { routeWith } from "../../test/support/routing.ts";
import { chooseCoding } from "../traffic/parts/accept-encoding.ts";
import { passStep } from "../traffic/step.ts";

const decode = { gzip: gunzipSync, deflate: inflateSync, br: brotliDecompressSync, zstd: zstdDecompressSync };
const codings = ["gzip", "deflate", "br", "zstd"] as const;

type Init = Omit<ExchangeInit, "response"> & {
  readonly response?: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> };
  readonly accept?: string;
  readonly loggedIn?: boolean;
};

function respond(init: Init = {}) {
  const { accept = "gzip", loggedIn = false } = init;
  const exchange = exchangeOf({
    ...init,
    headers: { "accept-encoding": accept },
    response: { ...init.response, headers: { "content-type": "text/html", ...init.response?.headers } },
  });
  if (loggedIn) exchange.steps.push(passStep("oauth", "logged in"));
  const step = runResponse(routeWith("compression", {}), exchange);
  const headers = exchange.response?.headers;
  assert.ok(headers);
  return { step, headers, transform: exchange.transforms[0] };
}

it("compression does not change a response with codings or types in several lines", () => {
  const lines = (more: readonly (readonly [string, string])[]) => {
    const headers = [["content-type", "text/html"], ...more] as const;
    const exchange = exchangeOf({ headers: { "accept-encoding": "gzip" }, response: { headers } });
    return runResponse(routeWith("compression", {}), exchange).outcome;
  };
  assert.equal(lines([]), "changed");
  assert.equal(lines([["content-encoding", "identity"]]), "changed");
  assert.equal(
    lines([
      ["content-encoding", "identity"],
      ["content-encoding", "br"],
    ]),
    "skipped",
  );
  assert.equal(lines([["content-type", "image/png"]]), "skipped");
});

async function through(transform: NodeJS.ReadWriteStream | undefined, chunks: readonly Buffer[]): Promise<Buffer> {
  assert.ok(transform);
  const out: Buffer[] = [];
  transform.on("data", (chunk: Buffer) => out.push(chunk));
  for (const chunk of chunks) transform.write(chunk);
  transform.end();
  await once(transform, "end");
  return Buffer.concat(out);
}

describe("compression", () => {
  for (const coding of codings) {
    it(`compression compresses small, large and endless bodies with ${coding}`, async () => {
      for (const [length, announced] of [
        [1, true],
        [5000, true],
        [300_000, true],
        [300_000, false],
      ] as const) {
        const body = Buffer.from("some text that repeats ".repeat(Math.ceil(length / 23)).slice(0, length));
        const { step, headers, transform } = respond({
          accept: coding,
          response: { headers: announced ? { "content-length": String(length) } : {} },
        });
        assert.equal(step.outcome, "changed");
        assert.equal(headers.get("content-encoding"), coding);
        assert.equal(headers.has("content-length"), false);
        const out = await through(transform, [body.subarray(0, length / 2), body.subarray(length / 2)]);
        assert.deepEqual(decode[coding](out), body);
        if (length > 1000) assert.ok(out.length < length / 2);
      }
    });

    it(`compression produces the same result for each small body as for that body alone, with ${coding}`, async () => {
      const compressed = async (body: Buffer): Promise<Buffer> => {
        const response = { headers: { "content-length": String(body.length) } };
        return await through(respond({ accept: coding, response }).transform, [body]);
      };
      const body = Buffer.from("a secret of one visitor ".repeat(20));
      const noise = Buffer.from(Array.from({ length: 16 * 1024 }, (_, at) => (at * at * 31 + (at >> 3) * 17) & 0xff));
      const first = await compressed(body);
      assert.deepEqual(decode[coding](await compressed(noise)), noise);
      assert.deepEqual(await compressed(body), first);
      assert.deepEqual(await compressed(body), first);
    });

    it(`compression sends each piece of a stream immediately with ${coding}`, async () => {
      const { transform } = respond({ accept: coding, response: { headers: { "content-type": "text/event-stream" } } });
      assert.ok(transform);
      for (const event of ["data: 1\n\n", "data: 2\n\n"]) {
        transform.write(event);
        const [chunk] = (await once(transform, "data")) as [Buffer];
        assert.ok(chunk.length > 0);
      }
      transform.destroy();
    });
  }

  it("compression selects a coding by weight, and by its own preference among equal weights", () => {
    for (const [accept, chosen] of [
      ["gzip, deflate, br, zstd", "zstd"],
      ["gzip;q=0.8, br;q=0.9", "br"],
      ["gzip;q=1.0, br;q=0.999", "gzip"],
      ["GZIP", "gzip"],
      ["x-gzip", "gzip"],
      ["*", "zstd"],
      ["*;q=0.1, gzip;q=0.2", "gzip"],
      ["zstd;q=0, *", "br"],
      ["gzip;q=0", undefined],
      ["*;q=0", undefined],
      ["identity", undefined],
      ["identity;q=1, gzip;q=0.5", undefined],
      ["identity;q=0.5, gzip;q=1", "gzip"],
      ["gzip;q=2", undefined],
      ["gzip;q=x", undefined],
      ["", undefined],
      [undefined, undefined],
    ] as const) {
      assert.equal(chooseCoding(accept), chosen, String(accept));
      assert.equal(chooseCoding(accept), chosen, `${accept} again`);
    }
  });

  it("D6: compression does not change responses that are empty, encoded, partial, forbidden or incompressible", () => {
    const untouched: Init[] = [
      { method: "HEAD" },
      ...[204, 205, 206, 304].map((status) => ({ response: { status } })),
      { response: { headers: { "content-encoding": "br" } } },
      { response: { headers: { "content-range": "bytes 0-1/2" } } },
      { response: { headers: { "cache-control": "public, No-Transform" } } },
      { response: { headers: { "content-length": "0" } } },
      { response: { headers: { "content-type": "image/png" } } },
      { response: { headers: { "content-type": "application/zip" } } },
      { accept: "identity" },
    ];
    for (const init of untouched) {
      const { step, headers, transform } = respond(init);
      assert.equal(step.outcome, "skipped", JSON.stringify(init));
      assert.equal(transform, undefined);
      assert.notEqual(headers.get("content-encoding"), "gzip");
    }
  });

  it("D6: compression sets Vary, weakens a strong ETag, and removes fields that describe the original bytes", () => {
    const { headers } = respond({ response: { headers: { etag: '"v1"', "accept-ranges": "bytes", vary: "Origin" } } });
    assert.deepEqual(headers.getAll("vary"), ["Origin", "accept-encoding"]);
    assert.equal(headers.get("etag"), 'W/"v1"');
    assert.equal(headers.has("accept-ranges"), false);
    assert.equal(respond({ response: { headers: { etag: 'W/"v1"' } } }).headers.get("etag"), 'W/"v1"');
    assert.equal(respond({ accept: "identity" }).headers.get("vary"), "accept-encoding");
    assert.deepEqual(respond({ response: { headers: { vary: "*" } } }).headers.getAll("vary"), ["*"]);
  });

  it("D6: compression skips responses that may repeat a logged-in visitor's input", () => {
    assert.equal(respond({ loggedIn: true, target: "/?q=x" }).step.outcome, "skipped");
    assert.equal(respond({ loggedIn: true }).step.outcome, "changed");
    assert.equal(respond({ target: "/?q=x" }).step.outcome, "changed");
  });

  it("compression fails for a small body that is longer than announced", async () => {
    const { transform } = respond({ response: { headers: { "content-length": "10" } } });
    transform?.write(Buffer.alloc(20_000));
    const [error] = (await once(transform as NodeJS.ReadWriteStream, "error")) as [Error];
    assert.match(error.message, /longer than announced/);
  });
});
