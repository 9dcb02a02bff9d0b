/** Bodies that policy rules replace, on real traffic: their length, what waits for them, and their limits. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { request } from "node:https";
import type { Duplex, Writable } from "node:stream";
import { after, before, describe, it } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { errorCode } from "../../src/lib/errors.ts";
import { makeMetrics } from "../../src/lib/metrics.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { eventually } from "../support/front.ts";
import { protocols } from "../support/http-client.ts";
import { openStream } from "../support/open-stream.ts";

const metrics = makeMetrics();
const mebibyte = 1024 * 1024;
let fixture: EdgeWithAgent;
before(async () => {
  fixture = await startEdgeWithAgent({ metrics, limits: { http: { maxHeldBytes: 4 * mebibyte } } });
});
after(() => fixture.stop());

const heldBytes = (): number => Number(/^postern_http_held_bytes (\d+)$/m.exec(metrics.render())?.[1]);
const replace = (type: "request" | "response", from: string, to = "", more: object = {}) => ({
  actions: [{ type: `${type}-body-find-replace`, config: { replacements: [{ from, to }], ...more } }],
});
const add = (name: string, value: string) => ({
  actions: [{ type: "add-headers", config: { headers: { [name]: value } } }],
});
function policy(phase: string, rules: readonly object[], blocks: object = {}): void {
  fixture.route({ traffic_policy: { enabled: true, value: JSON.stringify({ [phase]: rules }) }, ...blocks });
}
const type = { "content-type": "text/plain" };

for (const protocol of protocols) {
  describe(`a response's body that is replaced over ${protocol}`, () => {
    it(`a replaced response body over ${protocol} has its new length, which later rules see too`, async () => {
      const result = "actions.ngrok.response_body_find_replace";
      policy("on_http_response", [
        replace("response", "secret (\\d)", "[$1]"),
        add("x-found", `\${${result}.replacements[0].matched_content} \${res.content_length}`),
        replace("response", "\\[1\\]", "one"),
      ]);
      fixture.answer((_request, response) => {
        response.writeHead(200, { ...type, "content-length": "12", etag: '"a"' }).write("a secr");
        response.end("et 1 b");
      });
      const { headers, body } = await fixture.ask(protocol);
      assert.equal(body.toString(), "a one b");
      assert.deepEqual([headers["content-length"], headers["x-found"], headers["etag"]], ["7", "secret 1 7", 'W/"a"']);
      assert.equal(heldBytes(), 0);
    });

    it(`a replaced response body over ${protocol} may arrive without a length, and become empty`, async () => {
      policy("on_http_response", [replace("response", "(?s).+")], { compression: { enabled: true } });
      fixture.answer((_request, response) => response.writeHead(200, type).end("all of it"));
      const { headers, body } = await fixture.ask(protocol, { headers: { "accept-encoding": "gzip" } });
      assert.deepEqual([headers["content-length"], headers["content-encoding"], body.length], ["0", undefined, 0]);
    });

    it(`a response's body that is replaced over ${protocol} is compressed behind that`, async () => {
      policy("on_http_response", [replace("response", "a", "b")], { compression: { enabled: true } });
      fixture.answer((_request, response) => response.writeHead(200, type).end("a".repeat(5000)));
      const { headers, body } = await fixture.ask(protocol, { headers: { "accept-encoding": "gzip" } });
      assert.equal(headers["content-encoding"], "gzip");
      assert.equal(gunzipSync(body).toString(), "b".repeat(5000));
    });

    it(`a response's body that is replaced over ${protocol} has no length in the answer to HEAD`, async () => {
      policy("on_http_response", [replace("response", "a")]);
      fixture.answer((_request, response) => response.writeHead(200, { ...type, "content-length": "3" }).end());
      const { status, headers } = await fixture.ask(protocol, { method: "HEAD" });
      assert.deepEqual([status, headers["content-length"]], [200, undefined]);
    });

    it(`D11: a replaced response body over ${protocol} is requested completely and uncompressed`, async () => {
      const secret = "secret ".repeat(100);
      fixture.answer(({ headers }, response) => {
        const coding = headers["accept-encoding"] ?? "*";
        const part = headers["range"] !== undefined || headers["a-im"] !== undefined;
        if (coding === "identity" && !part) response.writeHead(200, type).end(secret);
        else if (part) response.writeHead(206, { ...type, "content-range": "bytes 0-3/700" }).end("secr");
        else response.writeHead(200, { ...type, "content-encoding": "gzip" }).end(gzipSync(secret));
      });
      const asked = { "accept-encoding": "gzip", range: "bytes=0-3", "if-range": '"a"', "a-im": "range" };
      const rules = [replace("response", "secret", "[hidden]")];
      for (const headers of [{}, asked]) {
        policy("on_http_response", rules);
        assert.equal((await fixture.ask(protocol, { headers })).body.toString(), "[hidden] ".repeat(100));
        const seen = fixture.received.at(-1)?.headers;
        assert.deepEqual(
          [seen?.["accept-encoding"], seen?.["range"], seen?.["if-range"]],
          ["identity", undefined, undefined],
        );
      }
      // The route's own compression still uses the client's field.
      policy("on_http_response", rules, { compression: { enabled: true } });
      const packed = await fixture.ask(protocol, { headers: { "accept-encoding": "gzip" } });
      assert.equal(packed.headers["content-encoding"], "gzip");
      assert.equal(gunzipSync(packed.body).toString(), "[hidden] ".repeat(100));
      // Other routes leave the fields alone.
      fixture.route({});
      await fixture.ask(protocol, { headers: asked });
      assert.deepEqual(
        ["accept-encoding", "range", "if-range", "a-im"].map((name) => fixture.received.at(-1)?.headers[name]),
        Object.values(asked),
      );
    });

    it(`D11: a response's body that is replaced over ${protocol} is refused where the upstream compresses it all the same`, async () => {
      fixture.answer((_request, response) =>
        response.writeHead(200, { ...type, "content-encoding": "gzip" }).end(gzipSync("secret")),
      );
      policy("on_http_response", [replace("response", "secret")]);
      const { status, headers, body } = await fixture.ask(protocol);
      assert.deepEqual([status, headers["ngrok-error-code"]], [500, errorCode("response_replacement_failed")]);
      assert.ok(!body.includes(gzipSync("secret")));
      assert.equal(heldBytes(), 0);
    });

    it(`D11: a replaced response body over ${protocol} is refused as soon as it is too long`, async () => {
      policy("on_http_response", [replace("response", "a", "b")]);
      fixture.answer((_request, response) => response.writeHead(200, type).end(Buffer.alloc(2 * mebibyte, "a")));
      const { status, headers } = await fixture.ask(protocol);
      assert.deepEqual([status, headers["ngrok-error-code"]], [500, errorCode("response_replacement_failed")]);
      assert.equal(heldBytes(), 0);
    });

    it(`a replaced response body over ${protocol} delays its head, and starts as soon as it is too long if on_error allows it`, async () => {
      policy("on_http_response", [
        replace("response", "a", "b", { on_error: "continue" }),
        add("x-code", "${actions.ngrok.response_body_find_replace.error.code}"),
      ]);
      let response: ServerResponse | undefined;
      const reached = Promise.withResolvers<void>();
      fixture.answer((_request, given) => {
        response = given;
        given.writeHead(200, type).write(Buffer.alloc(mebibyte, "a"));
        reached.resolve();
      });
      let isAnswered = false;
      const opening = openStream(fixture, protocol);
      void opening.then(() => (isAnswered = true));
      await reached.promise;
      await eventually(() => heldBytes() === mebibyte);
      assert.equal(isAnswered, false);
      response?.write("a");
      const { stream, fields, close } = await opening;
      assert.equal(fields["x-code"], "ERR_NGROK_3901");
      response?.end("end");
      let text = "";
      for await (const piece of stream.setEncoding("utf8")) text += String(piece);
      assert.equal(text, `${"a".repeat(mebibyte + 1)}end`);
      assert.equal(heldBytes(), 0);
      close();
    });

    it(`a response's body that is replaced over ${protocol} is refused when the upstream breaks off, and nothing stays`, async () => {
      policy("on_http_response", [replace("response", "a", "b")]);
      fixture.answer((_request, response) => {
        response.writeHead(200, { ...type, "content-length": "10" });
        response.write("half", () => response.destroy());
      });
      const { status } = await fixture.ask(protocol);
      assert.equal(status, 502);
      assert.equal(heldBytes(), 0);
    });

    it(`a replaced response body over ${protocol} is released when its client disconnects`, async () => {
      policy("on_http_response", [replace("response", "a", "b")]);
      fixture.answer((_request, response) => void response.writeHead(200, type).write("half"));
      const socket = await fixture.connect(protocol);
      if (protocol === "h1") socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      else
        connectHttp2(`https://${host}`, { createConnection: () => socket })
          .request({ ":authority": host })
          .on("error", () => {});
      await eventually(() => heldBytes() === 4);
      socket.destroy();
      await eventually(() => heldBytes() === 0);
    });

    it(`a replaced response body over ${protocol} counts towards the total of buffered bodies`, async () => {
      policy("on_http_response", [{ expressions: ["req.url.path != '/free'"], ...replace("response", "a", "b") }]);
      const open: ServerResponse[] = [];
      fixture.answer(({ url }, response) => {
        response.writeHead(200, type);
        if (url === "/free") return void response.end("a");
        response.write(Buffer.alloc(mebibyte - 1, "x"));
        open.push(response);
      });
      const asking = [fixture.ask(protocol), fixture.ask(protocol)];
      await eventually(() => heldBytes() === 2 * mebibyte - 2);
      const third = await fixture.ask(protocol);
      assert.deepEqual([third.status, third.headers["ngrok-error-code"]], [503, errorCode("edge_full")]);
      assert.equal((await fixture.ask(protocol, { path: "/free" })).status, 200);
      for (const response of open) response.end();
      for (const one of await Promise.all(asking)) assert.equal(one.body.length, mebibyte - 1);
    });
  });

  describe(`a request's body that is replaced over ${protocol}`, () => {
    it(`a replaced request body over ${protocol} is sent upstream with its new length, even if it had none`, async () => {
      policy("on_http_request", [replace("request", "secret", "[hidden]")]);
      fixture.answer(undefined);
      const checked = (length: string): void => {
        const seen = fixture.received.at(-1);
        assert.equal(seen?.body.toString(), "a [hidden]".repeat(Number(length) / 10));
        assert.deepEqual([seen.headers["content-length"], seen.headers["transfer-encoding"]], [length, undefined]);
      };
      await fixture.ask(protocol, { method: "POST", body: "a secret", headers: { "content-length": "8" } });
      checked("10");
      const socket = await fixture.connect(protocol);
      if (protocol === "h1") {
        const outgoing = request({ createConnection: () => socket, method: "POST", headers: { host } });
        outgoing.write("a secret");
        outgoing.end("a secret");
        await once(outgoing, "response");
      } else {
        const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
        const stream = session.request({ ":method": "POST", ":path": "/", ":authority": host });
        stream.write("a secret");
        stream.end("a secret");
        await once(stream, "response");
      }
      checked("20");
      socket.destroy();
    });
  });
}

for (const protocol of protocols) {
  describe(`the end of a request's body over ${protocol}`, () => {
    const received = "req.ts.body_received";

    it(`the end of a request's body over ${protocol} is known to response rules, and to request rules that waited for it`, async () => {
      const requestRules = [
        { expressions: [`${received} == timestamp(0)`], ...add("x-before", "not yet") },
        { expressions: ["req.url.path == '/waits'"], ...replace("request", "y", "z") },
        { expressions: [`${received} > req.ts.header_received`], ...add("x-after", "here") },
      ];
      const took = add("x-took", `\${(${received} - req.ts.header_received).getSeconds()}`);
      const value = JSON.stringify({ on_http_request: requestRules, on_http_response: [{ ...took }] });
      fixture.route({ traffic_policy: { enabled: true, value } });
      fixture.answer((_request, response) => response.end());
      for (const path of ["/streams", "/waits"]) {
        const socket = await fixture.connect(protocol);
        const [outgoing, answer] = protocol === "h1" ? h1Post(socket, path) : h2Post(socket, path);
        const reached = path === "/waits" ? eventually(() => heldBytes() === 5) : once(fixture.service, "request");
        outgoing.write("first");
        await reached;
        fixture.clock.move(7000);
        outgoing.end(" last");
        assert.match(String((await answer)["x-took"]), /^[78]$/);
        const seen = fixture.received.at(-1)?.headers;
        assert.deepEqual([seen?.["x-before"], seen?.["x-after"]], ["not yet", path === "/waits" ? "here" : undefined]);
        socket.destroy();
      }
    });

    it(`a request over ${protocol} without a body ends with its head`, async () => {
      policy("on_http_request", [{ expressions: [`${received} == req.ts.header_received`], ...add("x-same", "yes") }]);
      fixture.answer((_request, response) => response.end());
      await fixture.ask(protocol);
      assert.equal(fixture.received.at(-1)?.headers["x-same"], "yes");
    });
  });
}

type Post = readonly [outgoing: Writable, headers: Promise<Readonly<Record<string, unknown>>>];

function h1Post(socket: Duplex, path: string): Post {
  const outgoing = request({ createConnection: () => socket, method: "POST", path, headers: { host } });
  return [outgoing, once(outgoing, "response").then(([message]) => (message as IncomingMessage).headers)];
}

function h2Post(socket: Duplex, path: string): Post {
  const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
  const stream = session.request({ ":method": "POST", ":path": path, ":authority": host });
  return [stream, once(stream, "response").then(([headers]) => headers as Record<string, unknown>)];
}
