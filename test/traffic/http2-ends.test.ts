/** Where a message over HTTP/2 ends: at END_STREAM, whatever length was declared (RFC 9113 §8.1). */
import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { afterEach, describe, it } from "node:test";
import { createServer } from "../../src/lib/http.ts";
import { h2Request, h2Session } from "../support/h2-client.ts";
import { block, codes, flags, frame, RawH2, types } from "../support/h2-frames.ts";
import { startH2Server } from "../support/h2-server.ts";
import type { H2Server } from "../support/h2-server.ts";
import { curl, uploadRefused } from "../support/refused-upload.ts";
import { skipWithout } from "../support/programs.ts";

const open: { server?: H2Server; raw?: RawH2 } = {};

async function start(
  answer: (request: IncomingMessage, response: ServerResponse) => void = (request, response) => {
    request.pipe(response);
  },
): Promise<{ server: H2Server; raw: RawH2 }> {
  const server = await startH2Server(createServer(answer));
  const raw = await RawH2.open(server);
  Object.assign(open, { server, raw });
  return { server, raw };
}

afterEach(async () => {
  open.raw?.destroy();
  await open.server?.stop();
  delete open.raw;
  delete open.server;
});

/** Arguments with which curl speaks HTTP/2 to the server. */
const to = ({ host, port }: H2Server): string[] => [
  "--http2",
  "--connect-to",
  `${host}:${port}:127.0.0.1:${port}`,
  "-H",
  `Host: ${host}`,
];
const emptyEnd = (id: number): Buffer => frame(types.data, flags.endStream, id);
const trailers = (id: number): Buffer =>
  frame(types.headers, flags.endHeaders | flags.endStream, id, block([["x-checked", "yes"]]));

/** Sends a request whose END_STREAM follows the declared content, before or after its response. */
async function post(raw: RawH2, id: number, body: string, end: Buffer, afterAnswer: boolean): Promise<string> {
  const head = frame(types.headers, flags.endHeaders, id, block(postFields(raw, body)));
  const data = body === "" ? [] : [frame(types.data, 0, id, Buffer.from(body))];
  raw.send(head, ...data, ...(afterAnswer ? [] : [end]));
  const ended = await raw.take((one) => one.id === id && (one.type === types.rstStream || (one.flags & 1) !== 0));
  if (afterAnswer) raw.send(end);
  return ended === undefined ? "connection ended" : ended.type === types.rstStream ? "reset" : "answered";
}

function postFields(raw: RawH2, body: string): [string, string][] {
  return [...raw.fields("POST"), ["content-length", String(body.length)]];
}

describe("a request over HTTP/2", () => {
  for (const body of ["", "five5"]) {
    for (const [what, end] of [
      ["an empty DATA frame", emptyEnd],
      ["trailers", trailers],
    ] as const) {
      for (const afterAnswer of [false, true]) {
        const when = afterAnswer ? "behind its answer" : "before its answer";
        it(`a request over HTTP/2 ends with ${what} after a content-length of ${body.length}, ${when}`, async () => {
          const { raw } = await start();
          assert.equal(await post(raw, 1, body, end(1), afterAnswer), "answered");
          // The connection, and the next request on it, are unharmed.
          assert.equal(await post(raw, 3, body, end(3), afterAnswer), "answered");
          assert.ok(await raw.settled());
          const ends = raw.rest.filter(({ type }) => type === types.rstStream || type === types.goaway);
          assert.deepEqual(ends, []);
          assert.equal(open.server?.context.counters.openExchanges, 0);
        });
      }
    }
  }

  it("a request over HTTP/2 is reset if DATA follows a content-length of 0", async () => {
    const { raw } = await start((_request, response) => setImmediate(() => response.end("late")));
    raw.send(
      frame(types.headers, flags.endHeaders, 1, block(postFields(raw, ""))),
      frame(types.data, flags.endStream, 1, Buffer.from("x")),
    );
    assert.equal(await raw.resetCode(1), codes.protocolError);
    assert.equal(await post(raw, 3, "", emptyEnd(3), false), "answered");
  });

  it("a request over HTTP/2 with a content-length of 0 needs no minimum body rate while its response takes long", async () => {
    const asked = Promise.withResolvers<ServerResponse>();
    const { server, raw } = await start((_request, response) => asked.resolve(response));
    raw.send(frame(types.headers, flags.endHeaders, 1, block(postFields(raw, ""))));
    const response = await asked.promise;
    server.clock.pass(30_000);
    response.end("late");
    const head = await raw.takeType(types.headers, 1);
    assert.equal(head?.payload[0], 0x88);
  });

  it(
    "a request over HTTP/2 with an empty body and a content-length is answered to node:http2 and curl",
    { skip: skipWithout("curl") },
    async () => {
      const { server } = await start((request, response) => {
        request.resume();
        response.end(`${request.method} ${request.headers["content-length"]}`);
      });
      const session = await h2Session(server);
      const headers = { ":method": "POST", ":path": "/", "content-length": "0" };
      for (let round = 0; round < 3; round += 1) {
        const answer = await h2Request(session, headers, Buffer.alloc(0));
        assert.deepEqual([answer.status, String(answer.body), answer.code], [200, "POST 0", 0]);
      }
      session.destroy();
      const url = `https://${server.host}:${server.port}/`;
      const printed = await curl([...to(server), "-d", "", "-w", " %{http_code} %{http_version}\n", url, url]);
      assert.equal(printed, "POST 0 200 2\nPOST 0 200 2\n");
    },
  );
});

describe("a request over HTTP/2 that is answered before its end", () => {
  const refused = (_request: IncomingMessage, response: ServerResponse): void => {
    response.statusCode = 413;
    response.end("too much");
  };

  it("a request over HTTP/2 that is answered before its end is read and dropped until its client ends it, and not reset", async () => {
    const { server, raw } = await start(refused);
    raw.send(frame(types.headers, flags.endHeaders, 1, block(raw.fields("POST"))));
    assert.ok(await raw.take((one) => one.id === 1 && (one.flags & flags.endStream) !== 0));
    const piece = frame(types.data, 0, 1, Buffer.alloc(16_384));
    // More than the windows of the stream and of the connection: both are widened.
    let room = 65_535;
    for (let sent = 0; sent < 2 * 1024 * 1024; sent += 16_384) {
      for (; room < 16_384;) {
        const update = await raw.take(({ type, id }) => type === types.windowUpdate && id === 1);
        assert.ok(update !== undefined);
        room += update.payload.readUInt32BE(0);
      }
      raw.send(piece);
      room -= 16_384;
    }
    raw.send(emptyEnd(1));
    // curl 7.88 notices the end of the answer with the next frame.
    assert.ok(await raw.take(({ type, flags: set }) => type === types.ping && set === 0));
    assert.ok(await raw.settled());
    assert.equal(raw.rest.filter(({ type }) => type === types.rstStream || type === types.goaway).length, 0);
    assert.equal(server.context.counters.heldBytes, 0);
    // Only now the stream is closed.
    raw.send(frame(types.data, 0, 1, Buffer.from("x")));
    assert.equal(await raw.goawayCode(), codes.streamClosed);
  });

  it("D1: a request over HTTP/2 with an early response is reset without an error when its client stops sending, or continues for 30 seconds or 64 MiB", async () => {
    const { server, raw } = await start(refused);
    const open = async (id: number): Promise<void> => {
      raw.send(frame(types.headers, flags.endHeaders, id, block(raw.fields("POST"))));
      assert.ok(await raw.take((one) => one.id === id && (one.flags & flags.endStream) !== 0));
    };
    await open(1);
    server.clock.pass(10_000);
    assert.equal(await raw.resetCode(1), codes.noError);
    // Frames that were already sent are ignored.
    raw.send(emptyEnd(1));
    await open(3);
    for (let passed = 0; passed <= 32_500; passed += 2_500) {
      raw.send(frame(types.data, 0, 3, Buffer.from("x")));
      assert.ok(await raw.settled());
      server.clock.pass(2_500);
    }
    assert.equal(await raw.resetCode(3), codes.noError);
    await open(5);
    const piece = frame(types.data, 0, 5, Buffer.alloc(16_384));
    for (let sent = 0; sent <= 64 * 1024 * 1024; sent += 64 * 16_384) {
      raw.send(...Array<Buffer>(64).fill(piece));
      assert.ok(await raw.settled());
    }
    assert.equal(await raw.resetCode(5), codes.noError);
    assert.ok(await raw.settled());
  });

  it(
    "curl sees the early response to a request over HTTP/2: 20 of 20 refused uploads of 3 MiB",
    { timeout: 120_000, skip: skipWithout("curl") },
    async () => {
      const { server } = await start(refused);
      const url = `https://${server.host}:${server.port}/`;
      const seen = await uploadRefused(20, { url, byteCount: 3 * 1024 * 1024, options: to(server) });
      assert.deepEqual(seen, Array<string>(20).fill("too much 413 0"));
    },
  );
});
