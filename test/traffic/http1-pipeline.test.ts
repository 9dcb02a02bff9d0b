import assert from "node:assert/strict";
import { Transform } from "node:stream";
import { describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import type { CompiledModule } from "../../src/traffic/module.ts";
import { answerStep, denyStep, passStep } from "../../src/traffic/step.ts";
import { answering, eventually, ok, withFront } from "../support/front.ts";
import type { FrontOptions } from "../support/front.ts";

const get = "GET / HTTP/1.1\r\nHost: a.example.com\r\n\r\n";
const echoHead = answering((request) => ok(request));

/** The request as the upstream receives it. */
async function forwarded(request: string, options: FrontOptions = {}): Promise<string> {
  let seen = "";
  await withFront(echoHead, options, async (_front, client) => {
    const received = await client.send(request).until(/\r\n\r\n[A-Z]+ [^]*\r\n\r\n/);
    seen = received.slice(received.indexOf("\r\n\r\n") + 4);
  });
  return seen;
}

function fieldOf(head: string, name: string): string[] {
  return [...head.matchAll(new RegExp(`\\r\\n${name}: ([^\\r]*)`, "gi"))].map(([, value]) => value as string);
}

describe("the request that reaches the upstream", () => {
  it("R3: the request at the upstream contains the edge's knowledge of the client, not the client's own claims", async () => {
    const spoofed = [
      "X-Forwarded-For: 1.2.3.4",
      "x-forwarded-FOR: 5.6.7.8",
      "X-Forwarded-Proto: gopher",
      "X-Forwarded-Host: evil",
      "X-Forwarded-Port: 1",
      "Forwarded: for=1.2.3.4",
      "X-Real-IP: 1.2.3.4",
      "X-Original-URL: /admin",
      "X-Rewrite-URL: /admin",
      "Proxy: http://evil",
      "ngrok-auth-user-id: root",
      "Ngrok-Mtls-Subject-Cn: root",
      "postern-anything: x",
      "X-Request-Id: mine",
    ];
    const seen = await forwarded(`GET / HTTP/1.1\r\nHost: a.example.com\r\n${spoofed.join("\r\n")}\r\n\r\n`);
    assert.deepEqual(fieldOf(seen, "x-forwarded-for"), ["127.0.0.1"]);
    assert.deepEqual(fieldOf(seen, "x-forwarded-proto"), ["http"]);
    assert.deepEqual(fieldOf(seen, "x-forwarded-host"), ["a.example.com"]);
    assert.deepEqual(fieldOf(seen, "x-forwarded-port"), ["80"]);
    assert.match(fieldOf(seen, "x-request-id").join(), /^req_[0-9a-z]{27}$/);
    assert.doesNotMatch(seen, /1\.2\.3\.4|5\.6\.7\.8|evil|root|admin|gopher|mine|postern/);
  });

  it("W2: the request at the upstream has no names that an upstream could mistake for the edge's fields", async () => {
    const names = [
      "X_Forwarded_For",
      "x-forwarded_for",
      "X.Forwarded.For",
      "Ngrok_Auth_User_Id",
      "ngrok.auth.user.id",
      "Any_Name",
      "X~Real~IP",
    ];
    const seen = await forwarded(
      `GET / HTTP/1.1\r\nHost: a.example.com\r\n${names.map((name) => `${name}: spoofed\r\n`).join("")}X.Mine: kept\r\n\r\n`,
    );
    assert.doesNotMatch(seen, /spoofed/);
    assert.deepEqual(fieldOf(seen, "X\\.Mine"), ["kept"]);
  });

  it("W5: the request at the upstream loses fields named in Connection, except those that the edge sets or framing needs", async () => {
    const names = "X-Mine, X-Forwarded-For, X-Forwarded-Proto, X-Request-Id, Host, Content-Length, close";
    const seen = await forwarded(
      `POST / HTTP/1.1\r\nHost: a.example.com\r\nX-Mine: a\r\nContent-Length: 2\r\nKeep-Alive: 5\r\nTE: trailers\r\nConnection: ${names}\r\n\r\nok`,
    );
    assert.deepEqual(fieldOf(seen, "x-mine"), []);
    for (const gone of ["connection", "keep-alive", "te"]) assert.deepEqual(fieldOf(seen, gone), [], gone);
    assert.deepEqual(fieldOf(seen, "host"), ["a.example.com"]);
    assert.deepEqual(fieldOf(seen, "content-length"), ["2"]);
    assert.deepEqual(fieldOf(seen, "x-forwarded-for"), ["127.0.0.1"]);
    assert.deepEqual(fieldOf(seen, "x-forwarded-proto"), ["http"]);
    assert.equal(fieldOf(seen, "x-request-id").length, 1);
  });

  it("the request at the upstream preserves and extends a trusted proxy's fields", async () => {
    const seen = await forwarded(
      "GET / HTTP/1.1\r\nHost: a.example.com\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: b\r\nForwarded: for=x\r\n\r\n",
      { trustsProxy: (source) => source === "127.0.0.1" },
    );
    assert.deepEqual(fieldOf(seen, "x-forwarded-for"), ["1.2.3.4, 127.0.0.1"]);
    assert.deepEqual(fieldOf(seen, "x-forwarded-proto"), ["https, http"]);
    assert.deepEqual(fieldOf(seen, "x-forwarded-host"), ["b"]);
    assert.deepEqual(fieldOf(seen, "forwarded"), []);
  });

  it("R1: the request that reaches the upstream is matched by its canonical path and forwarded as it was spelled, without dot segments", async () => {
    const seen: string[] = [];
    const options: FrontOptions = {
      site: (site) => ({ ...site, findRoute: (path, host) => (seen.push(path), site.findRoute(path, host)) }),
    };
    const head = await forwarded("GET /a/../%62/./c%3ad?x=%2e%2e/ HTTP/1.1\r\nHost: a.example.com\r\n\r\n", options);
    assert.match(head, /^GET \/%62\/c%3ad\?x=%2e%2e\/ HTTP\/1\.1\r\n/);
    assert.deepEqual(seen, ["/b/c:d"]);
  });
});

describe("the site of a request", () => {
  const tls = { serverName: "a.example.com", version: "TLSv1.3", cipher: "x", clientCertificate: undefined };

  it("R2: the site of a request is selected by the server name, whatever the Host field says", async () => {
    await withFront(echoHead, { tls }, async (front, client) => {
      for (const host of [
        "A.EXAMPLE.com",
        "a.example.com.",
        "a.example.com:443",
        `a.example.com:${front.port}`,
        "b.example.com",
      ]) {
        client.clear().send(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
        assert.match(await client.until("\r\n\r\n"), /^HTTP\/1\.1 200 /, host);
      }
      for (const host of ["other.example.com", "elsewhere.net", "a.example.com:444"]) {
        client.clear().send(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
        assert.match(await client.until(errorCode("misdirected")), /^HTTP\/1\.1 421 /, host);
      }
    });
  });

  it("R2: the site of a request is not found without a server name", async () => {
    await withFront(echoHead, { tls: { ...tls, serverName: "" } }, async (_front, client) => {
      assert.match(await client.send(get).until(errorCode("misdirected")), /^HTTP\/1\.1 421 /);
    });
  });

  it("R2: the site of a request may not require a stricter handshake than the connection had", async () => {
    let clientAuthorities: string | undefined;
    const options: FrontOptions = {
      tls,
      site: (site) => ({ ...site, handshake: clientAuthorities === undefined ? {} : { clientAuthorities } }),
    };
    await withFront(echoHead, options, async (_front, client) => {
      assert.match(await client.send(get).until("\r\n\r\n"), /^HTTP\/1\.1 200 /);
      clientAuthorities = "PEM";
      client.clear().send(get);
      assert.match(await client.until(errorCode("misdirected")), /^HTTP\/1\.1 421 /);
    });
  });

  it("the site of a request is looked up for each request, so that changes apply to open connections", async () => {
    let present = true;
    await withFront(echoHead, { site: (site) => (present ? site : undefined) }, async (_front, client) => {
      assert.match(await client.send(get).until("\r\n\r\n"), /^HTTP\/1\.1 200 /);
      present = false;
      client.clear().send(get);
      assert.match(await client.until(errorCode("unknown_host")), /^HTTP\/1\.1 404 /);
    });
  });

  it("R6: a site that failed to compile answers 500, and so does such a route", async () => {
    const problem = { kind: "https_edge", id: "x", accountId: "a", module: "m", message: "secret detail" };
    for (const options of [
      { site: (site) => ({ ...site, problem }) },
      { route: { problem } },
    ] satisfies FrontOptions[]) {
      await withFront(echoHead, options, async (front, client) => {
        const received = await client.send(get).until(errorCode("route_broken"));
        assert.match(received, /^HTTP\/1\.1 500 /);
        assert.doesNotMatch(received, /secret/);
        assert.equal(front.upstream.connections.length, 0);
      });
    }
  });

  it("the site of a request without a backend answers 503", async () => {
    await withFront(echoHead, { route: { upstream: undefined } }, async (_front, client) => {
      assert.match(await client.send(get).until(errorCode("backend_empty")), /^HTTP\/1\.1 503 /);
    });
  });
});

describe("modules", () => {
  const note = (by: string, order: string[]): CompiledModule => ({
    request: () => (order.push(by), passStep(by, "ok")),
  });

  it("modules act in order, synchronously or later, and an answer ends the exchange", async () => {
    const order: string[] = [];
    const later: CompiledModule = {
      request: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        order.push("later");
        return passStep("later", "ok");
      },
    };
    const end: CompiledModule = { request: () => denyStep("end", "source_denied", "the reason") };
    await withFront(
      echoHead,
      { modules: [note("one", order), later, note("two", order), end, note("never", order)] },
      async (front, client) => {
        const received = await client.send(get).until(errorCode("source_denied"));
        assert.match(received, /^HTTP\/1\.1 403 /);
        assert.doesNotMatch(received, /the reason/);
        assert.deepEqual(order, ["one", "later", "two"]);
        assert.equal(front.upstream.connections.length, 0);
      },
    );
  });

  for (const [what, request] of [
    [
      "throws",
      () => {
        throw new Error("secret detail");
      },
    ],
    ["rejects", () => Promise.reject(new Error("secret detail"))],
    [
      "adds a header that would break the message",
      (exchange) => {
        exchange.request.headers.append("x", "a\r\nb: c");
        return passStep("x", "ok");
      },
    ],
  ] satisfies [string, Required<CompiledModule>["request"]][]) {
    it(`R6: a module that ${what} causes a logged 500, and lets nothing pass`, async () => {
      await withFront(echoHead, { modules: [{ request }] }, async (front, client) => {
        const received = await client.send(get).until(errorCode("route_broken"));
        assert.match(received, /^HTTP\/1\.1 500 /);
        assert.doesNotMatch(received, /secret/);
        assert.equal(front.upstream.connections.length, 0);
        await eventually(() => front.lines.some((line) => line.includes("exchange failed")));
      });
    });
  }

  it("R6: a module that throws on the response lets nothing of it pass", async () => {
    const broken: CompiledModule = {
      response: () => {
        throw new Error("broken");
      },
    };
    await withFront(answering(ok("secret")), { modules: [broken] }, async (_front, client) => {
      assert.doesNotMatch(await client.send(get).until(errorCode("route_broken")), /secret/);
    });
  });

  it("R6: a module that gives a response a status that would change its framing is answered 500", async () => {
    for (const status of [204, 304, 100, 600]) {
      const broken: CompiledModule = {
        response({ response }) {
          if (response) response.status = status;
          return passStep("broken", "ok");
        },
      };
      await withFront(answering(ok("body")), { modules: [broken] }, async (_front, client) => {
        assert.match(await client.send(get).until(errorCode("route_broken")), /^HTTP\/1\.1 500 /);
      });
    }
  });

  it("modules may answer with their own response", async () => {
    const own: CompiledModule = {
      request: () => answerStep("own", "fixed", { status: 418, headers: { "x-mine": "a" }, body: "short" }),
    };
    await withFront(echoHead, { modules: [own] }, async (_front, client) => {
      const received = await client.send(get).until("short");
      assert.match(received, /^HTTP\/1\.1 418 [^]*\r\nx-mine: a\r\ncontent-length: 5\r\n/);
      client.clear().send(get.replace("GET", "HEAD"));
      assert.match(await client.until("\r\n\r\n"), /content-length: 5\r\n[^]*\r\n\r\n$/);
    });
  });

  it("R6: modules may not answer with a response that would break the message", async () => {
    const headers: Record<string, string>[] = [{ "x-mine": "a\r\nb: c" }, { "x mine": "a" }];
    const answers = [
      ...headers.map((broken) => ({ status: 200, headers: broken, body: "x" })),
      { status: 101, headers: {}, body: "" },
    ];
    for (const answer of answers) {
      const own: CompiledModule = { request: () => answerStep("own", "fixed", answer) };
      await withFront(echoHead, { modules: [own] }, async (_front, client) => {
        assert.match(await client.send(get).until(errorCode("route_broken")), /^HTTP\/1\.1 500 /);
      });
    }
    const framing = { "Transfer-Encoding": "chunked", "Content-Length": "9", Connection: "x", "X-Mine": "a" };
    const own: CompiledModule = {
      request: () => answerStep("own", "fixed", { status: 200, headers: framing, body: "four" }),
    };
    await withFront(echoHead, { modules: [own] }, async (_front, client) => {
      const received = await client.send(get).until("four");
      assert.match(
        received,
        /^HTTP\/1\.1 200 OK\r\nx-mine: a\r\ncontent-length: 4\r\ndate: [^\r]*\r\nx-request-id: [^\r]*\r\n\r\nfour$/,
      );
    });
  });

  it("modules change the request's and the response's fields", async () => {
    const edits: CompiledModule = {
      request({ request: { headers } }) {
        headers.delete("cookie");
        headers.append("x-added", "a");
        headers.set("x-set", "b");
        return passStep("edits", "ok");
      },
      response({ response }) {
        response?.headers.set("x-response", "c");
        if (response) response.status = 203;
        return passStep("edits", "ok");
      },
    };
    await withFront(echoHead, { modules: [edits] }, async (_front, client) => {
      const received = await client
        .send(get.replace("\r\n\r\n", "\r\nCookie: secret\r\nX-Set: old\r\n\r\n"))
        .until("x-set: b");
      assert.match(received, /^HTTP\/1\.1 203 [^]*\r\nx-response: c\r\n[^]*\r\nx-added: a\r\nx-set: b\r\n/);
      assert.doesNotMatch(received, /secret|old/);
    });
  });

  it("modules read the whole body, which the upstream still gets unchanged", async () => {
    const bodies: string[] = [];
    const reader: CompiledModule = {
      request: async (exchange) => {
        bodies.push((await exchange.body(1024)).toString());
        return passStep("reader", "ok");
      },
    };
    await withFront(
      answering((request) => ok(request.slice(request.indexOf("\r\n\r\n") + 4))),
      { modules: [reader] },
      async (_front, client) => {
        const head = "POST / HTTP/1.1\r\nHost: a.example.com\r\n";
        client.send(`${head}Content-Length: 10\r\n\r\nhello`);
        await eventually(() => client.socket.bytesWritten > 60);
        await client.send("world").until("helloworld");
        client.clear().send(`${head}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n`);
        await client.until(/\r\n\r\n[^]*abc[^]*0\r\n\r\n/);
        client.clear().send(`${head}Content-Length: 4\r\nExpect: 100-continue\r\n\r\n`);
        await client.until("HTTP/1.1 100 Continue\r\n\r\n");
        await client.send("last").until("\r\n\r\nlast");
        assert.deepEqual(bodies, ["helloworld", "abc", "last"]);
        client.clear().send(`${head}Content-Length: 5000\r\n\r\n`);
        assert.match(await client.until(errorCode("payload_too_large")), /^HTTP\/1\.1 413 /);
      },
    );
  });

  it("W7: a chunked body is refused as soon as it exceeds the limit of a module", async () => {
    const reader: CompiledModule = { request: async (exchange) => (await exchange.body(10), passStep("reader", "ok")) };
    await withFront(echoHead, { modules: [reader] }, async (front, client) => {
      client.send(
        "POST / HTTP/1.1\r\nHost: a.example.com\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n01234567890123456789\r\n",
      );
      assert.match(await client.untilEnd(), /^HTTP\/1\.1 413 /);
      assert.equal(front.upstream.connections.length, 0);
    });
  });

  it("modules transform the body, streaming, the last one nearest to the client", async () => {
    const stage = (from: string, to: string): CompiledModule => ({
      response({ response }) {
        response?.transform(
          () =>
            new Transform({ transform: (bytes: Buffer, _, done) => done(null, bytes.toString().replaceAll(from, to)) }),
        );
        return passStep("stage", "ok");
      },
    });
    await withFront(
      answering(ok("a".repeat(10))),
      { modules: [stage("a", "b"), stage("b", "cc")] },
      async (_front, client) => {
        const received = await client.send(get).until("0\r\n\r\n");
        assert.match(received, /Transfer-Encoding: chunked\r\n\r\n14\r\nc{20}\r\n0\r\n\r\n$/);
        assert.doesNotMatch(received, /content-length/i);
        client.clear().send(get);
        await client.until("0\r\n\r\n");
      },
    );
  });

  it("a module's transform that fails cuts the response short", async () => {
    const broken: CompiledModule = {
      response({ response }) {
        response?.transform(() => new Transform({ transform: (_bytes, _, done) => done(new Error("broken")) }));
        return passStep("broken", "ok");
      },
    };
    await withFront(answering(ok("hello")), { modules: [broken] }, async (front, client) => {
      assert.doesNotMatch(await client.send(get).untilEnd(), /hello|\r\n0\r\n\r\n$/);
      assert.equal(front.finished[0]?.cutShort, true);
    });
  });

  it("modules receive the upstream's outcome once", async () => {
    const told: (number | undefined | string)[] = [];
    const breaker: CompiledModule = {
      settled: (exchange, status) => void told.push(exchange.abandoned ? "abandoned" : status),
    };
    await withFront(
      answering((request) => (request.includes("/bad") ? "garbage\r\n\r\n" : ok("x"))),
      { modules: [breaker] },
      async (_front, client) => {
        await client.send(get).until("\r\n\r\nx");
        client.clear().send(get.replace("/", "/bad"));
        await client.until(errorCode("upstream_invalid"));
        assert.deepEqual(told, [200, undefined]);
      },
    );
    await withFront(
      () => {},
      { modules: [breaker] },
      async (front, client) => {
        client.send(get);
        await eventually(
          () => front.upstream.connections[0]?.seen !== undefined && front.upstream.connections[0].seen !== "",
        );
        client.socket.destroy();
        await eventually(() => told.length === 3);
        assert.equal(told[2], "abandoned");
      },
    );
  });
});

describe("the edge's own answers", () => {
  it("the edge's own answers are a page for browsers and JSON for programs, with code and request id", async () => {
    await withFront(echoHead, { route: { upstream: undefined } }, async (front, client) => {
      const page = await client.send(get.replace("\r\n\r\n", "\r\nAccept: text/html,*/*\r\n\r\n")).until("</html>");
      assert.match(
        page,
        new RegExp(
          String.raw`content-type: text/html[^]*cache-control: no-store[^]*<code>${errorCode("backend_empty")}</code>`,
        ),
      );
      assert.ok(page.includes(`<code>${front.finished[0]?.id}</code>`));
      assert.doesNotMatch(page, /<script/);
      client.clear().send(get);
      const json = await client.until("}\n");
      const body = JSON.parse(json.slice(json.indexOf("\r\n\r\n"))) as Record<string, unknown>;
      assert.equal(body["error_code"], errorCode("backend_empty"));
      assert.equal(body["status_code"], 503);
      assert.match(
        json,
        new RegExp(
          String.raw`\r\npostern-error-code: ${errorCode("backend_empty")}\r\nngrok-error-code: ${errorCode("backend_empty")}\r\n`,
        ),
      );
      assert.match(json, /\r\nx-request-id: req_[0-9a-z]{27}\r\n/);
    });
  });

  it("the edge's own responses are counted and reported like every exchange", async () => {
    await withFront(answering(ok("hello")), {}, async (front, client) => {
      await client.send(get).until("hello");
      client.clear().send("GET /nowhere HTTP/1.1\r\nHost: a.example.com\r\n\r\n");
      await client.until(errorCode("no_route"));
      await front.connect().send("garbage\r\n\r\n").untilEnd();
      const { counters } = front.context;
      assert.deepEqual([counters.byClass[2], counters.byClass[4], counters.malformed], [1, 1, 1]);
      assert.equal(counters.openExchanges, 0);
      assert.deepEqual(
        front.finished.map(({ status, path, bytesOut }) => [status, path, bytesOut > 0]),
        [
          [200, "/", true],
          [404, "/nowhere", true],
        ],
      );
    });
  });
});
