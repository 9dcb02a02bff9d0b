/** Fields that may follow a body, in requests and responses, over both versions of HTTP at the front. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import type { IncomingHttpHeaders } from "node:http2";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { createServer } from "../../src/lib/http.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import type { Protocol } from "../support/http-client.ts";

/** RFC 9110 §6.5.1: framing and routing of the message; the whole is refused. */
const refused = ["content-length", "expect", "host"] as const;
/** Authentication, request modifiers, response controls, content format. */
const dropped = [
  "authorization cookie proxy-authorization set-cookie www-authenticate",
  "cache-control if-match if-none-match if-range max-forwards pragma range origin",
  "age expires location retry-after vary",
  "content-encoding content-language content-location content-range content-type content-disposition",
  "trailer forwarded",
].flatMap((names) => names.split(" "));
const passed = ["x-checksum", "content-digest", "etag", "server-timing", "authentication-info"] as const;

let fixture: EdgeWithAgent;
let trailers: readonly string[] = [];
let requests = 0;
let seen: string | undefined;
let answered: Readonly<Record<string, string>> = {};
const service = createServer((request: IncomingMessage, response: ServerResponse) => {
  requests += 1;
  request.resume().on("end", () => {
    seen = request.headers["x-seen"] as string | undefined;
    trailers = request.rawTrailers.filter((_name, index) => index % 2 === 0).map((name) => name.toLowerCase());
    response.write("body");
    response.addTrailers(answered);
    response.end();
  });
});

before(async () => {
  fixture = await startEdgeWithAgent({ allowLocalUpstreams: true });
  await once(service.listen(0, "127.0.0.1"), "listening");
  const address = `127.0.0.1:${(service.address() as AddressInfo).port}`;
  fixture.put("static_backend", "bkdsc_1", { address, tls: { enabled: false } });
  fixture.route({ backend: { enabled: true, backend_id: "bkdsc_1" } });
});
after(async () => {
  await fixture.stop();
  service.closeAllConnections();
  service.close();
});

interface Told {
  /** 0: the stream was reset. */
  readonly status: number;
  readonly trailers: readonly string[];
  /** The field `x-seen` of the response. */
  readonly seen: string | undefined;
}

/** A chunked POST with these trailers. Resolves with the response's trailers. */
async function post(protocol: Protocol, names: readonly string[]): Promise<Told> {
  const socket = await fixture.connect(protocol);
  socket.on("error", () => {});
  try {
    if (protocol === "h1") {
      const lines = names.map((name) => `${name}: ${name === "content-length" ? 5 : "x"}\r\n`).join("");
      socket.write(
        `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n${lines}\r\n`,
      );
      let text = "";
      const ended =
        /^HTTP\/1\.1 200 [^]*\r\n0\r\n([^]*)\r\n$|^HTTP\/1\.1 200 [^]*-length: 3\r\n[^]*new$|^HTTP\/1\.1 4/i;
      while (!ended.test(text)) text += String((await once(socket, "data"))[0]);
      const behind = ended.exec(text)?.[1] ?? "";
      return {
        status: Number(text.slice(9, 12)),
        trailers: [...behind.matchAll(/^([^:\r\n]+):/gm)].map((match) => String(match[1]).toLowerCase()),
        seen: /^x-seen: (.*)\r$/m.exec(text)?.[1],
      };
    }
    const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
    session.on("error", () => {});
    const stream = session.request({ ":method": "POST", ":path": "/", ":authority": host }, { waitForTrailers: true });
    let status = 0;
    let fields: IncomingHttpHeaders = {};
    let behind: IncomingHttpHeaders = {};
    stream.on("wantTrailers", () =>
      stream.sendTrailers(Object.fromEntries(names.map((name) => [name, name === "content-length" ? "5" : "x"]))),
    );
    stream.on("response", (headers) => {
      status = Number(headers[":status"]);
      fields = headers;
    });
    stream.on("trailers", (headers) => (behind = headers));
    stream.on("error", () => {});
    stream.resume().end("ok");
    await new Promise((resolve) => stream.once("close", resolve));
    session.destroy();
    const given = fields["x-seen"] as string | undefined;
    return { status: stream.rstCode === 0 ? status : 0, trailers: Object.keys(behind), seen: given };
  } finally {
    socket.destroy();
  }
}

for (const protocol of protocols) {
  describe(`trailers over ${protocol}`, { timeout: 30_000 }, () => {
    for (const name of refused) {
      it(`W3, W7: a request with ${name} behind its body is refused, over ${protocol}`, async () => {
        answered = {};
        const before = requests;
        const { status } = await post(protocol, ["x-checksum", name]);
        assert.equal(status, protocol === "h1" ? 400 : 0);
        // Its head may already have been sent, but it never becomes a complete request.
        assert.ok(requests <= before + 1);
        assert.ok(!trailers.includes(name));
      });
    }

    it(`trailers over ${protocol} of requests pass without forbidden fields`, async () => {
      answered = {};
      const { status } = await post(protocol, [...passed, ...dropped]);
      assert.equal(status, 200);
      assert.deepEqual([...trailers].sort(), [...passed].sort());
    });

    it(`trailers over ${protocol} of responses pass without forbidden fields`, async () => {
      answered = Object.fromEntries([...passed, ...dropped].map((name) => [name, "x"]));
      const told = await post(protocol, []);
      assert.equal(told.status, 200);
      assert.deepEqual([...told.trailers].sort(), [...passed].sort());
    });

    it(`trailers over ${protocol} are read by rules, once the body before them was`, async () => {
      answered = { "x-checksum": "x", "set-cookie": "x" };
      const all = (of: string): string => `\${${of}.trailers.map(name, name + '=' + ${of}.trailers[name][0])}`;
      const rules = (type: string, of: string, config: object): object[] => [
        { actions: [{ type, config }] },
        { actions: [{ type: "add-headers", config: { headers: { "x-seen": all(of) } } }] },
      ];
      const replacements = (from: string): object => ({ replacements: [{ from, to: "new" }] });
      const value = JSON.stringify({
        on_http_request: rules("request-body-find-replace", "req", replacements("nothing of it")),
        on_http_response: rules("response-body-find-replace", "res", replacements("body")),
      });
      const backend = { enabled: true, backend_id: "bkdsc_1" };
      fixture.route({ backend, traffic_policy: { enabled: true, value } });
      const told = await post(protocol, ["x-checksum", "cookie"]);
      assert.deepEqual([seen, trailers], ['["x-checksum=x"]', ["x-checksum"]]);
      // They describe the original body.
      assert.deepEqual([told.seen, told.trailers], ['["x-checksum=x"]', []]);
      fixture.route({ backend });
    });
  });
}
