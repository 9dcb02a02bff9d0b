import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf, runRequest, runResponse } from "../../test/support/exchange.ts";
import { routeWith } from "../../test/support/routing.ts";
import { parseFields } from "../schema/parse-fields.ts";
import { requestHeaders } from "./request-headers.ts";
import { responseHeaders } from "./response-headers.ts";

const issues = (body: Record<string, unknown>) =>
  parseFields(requestHeaders.fields, body, "replace").issues.map(({ path }) => path);

describe("request and response headers", () => {
  it("a header module first removes every value of a name, then adds values", async () => {
    const route = routeWith("request_headers", { remove: ["x-a"], add: { "x-a": "new", "x-b": "2" } });
    const exchange = exchangeOf({
      headers: [
        ["X-A", "1"],
        ["x-a", "2"],
        ["x-b", "1"],
      ],
    });
    await runRequest(route, exchange);
    assert.deepEqual(exchange.request.headers.getAll("x-a"), ["new"]);
    assert.deepEqual(exchange.request.headers.getAll("x-b"), ["1", "2"]);
  });

  it("a header module replaces Host instead of adding a second one", async () => {
    const exchange = exchangeOf();
    await runRequest(routeWith("request_headers", { remove: [], add: { host: "inner.example" } }), exchange);
    assert.deepEqual(exchange.request.headers.getAll("host"), ["inner.example"]);
  });

  it("a header module expands variables and leaves unknown and absent ones empty", async () => {
    const add = {
      "x-1": "ip=${conn.client_ip};id=${.ngrok.request_id}",
      "x-2": "${req.url}",
      "x-3": "[${conn.geo.city}${no.such}${res.status_code}${__proto__}${constructor}]",
      "x-4": "${req.headers['x-in']} ${req.headers.x-in[0]} ${req.cookies.a} ${req.url.query_params.q}",
      "x-5": "$ {x} ${unclosed",
      "x-6": "${ conn.start_ts }",
    };
    const exchange = exchangeOf({
      target: "/p%2Fq?q=%41",
      headers: { "x-in": "v", cookie: "b=2; a=1", host: "h:8443" },
    });
    await runRequest(routeWith("request_headers", { remove: [], add }), exchange);
    const { headers } = exchange.request;
    assert.equal(headers.get("x-1"), "ip=192.0.2.1;id=req_test");
    assert.equal(headers.get("x-2"), "https://h:8443/p%2Fq?q=%41");
    assert.equal(headers.get("x-3"), "[]");
    assert.equal(headers.get("x-4"), "v v 1 A");
    assert.equal(headers.get("x-5"), "$ {x} ${unclosed");
    assert.equal(headers.get("x-6"), "2026-01-02T03:04:05.000Z");
  });

  it("a header module inserts a path and header fields as sent, and encodes decoded values", async () => {
    const add = {
      "x-path": "${req.url.raw_path}",
      "x-uri": "${req.url.uri}",
      "x-referer": "${req.headers.referer}",
      "x-q": "${req.url.query_params.q}",
    };
    const exchange = exchangeOf({ target: "/a%20b%C3%A9?q=100%25", headers: { referer: "https://a.example/%41 ü" } });
    await runRequest(routeWith("request_headers", { remove: [], add }), exchange);
    const { headers } = exchange.request;
    assert.equal(headers.get("x-path"), "/a%20b%C3%A9");
    assert.equal(headers.get("x-uri"), "/a%20b%C3%A9?q=100%25");
    assert.equal(headers.get("x-referer"), "https://a.example/%41 %C3%BC");
    assert.equal(headers.get("x-q"), "100%25");
  });

  it("P4: a variable's value cannot break out of the header field", async () => {
    const route = routeWith("request_headers", { remove: [], add: { "x-q": "${req.url.query_params.q}" } });
    const exchange = exchangeOf({ target: "/?q=a%0D%0AX-Evil:%201%00%C3%A4" });
    await runRequest(route, exchange);
    assert.equal(exchange.request.headers.get("x-q"), "a%0D%0AX-Evil: 1%00%C3%A4");
    const long = exchangeOf({ target: `/?q=${"x".repeat(20_000)}` });
    await runRequest(route, long);
    assert.equal(long.request.headers.get("x-q")?.length, 8192);
  });

  it("a header module gives response headers access to the response and to decisions", async () => {
    const route = routeWith("response_headers", {
      remove: ["server"],
      add: { "x-s": "${res.status_code} ${res.headers.a}" },
    });
    const exchange = exchangeOf({ response: { status: 201, headers: { server: "x", a: "b" } } });
    runResponse(route, exchange);
    assert.equal(exchange.response?.headers.get("x-s"), "201 b");
    assert.equal(exchange.response?.headers.has("server"), false);
  });

  it("P4: a header module accepts token names and values of visible ASCII, but no framing fields", () => {
    assert.deepEqual(issues({ add: { "X-Ok": "v" }, remove: ["x-gone"] }), []);
    for (const name of [
      "a b",
      "a:b",
      "ä",
      "",
      "a\r\n",
      "Connection",
      "transfer-encoding",
      "CONTENT-LENGTH",
      "Upgrade",
      "te",
    ]) {
      assert.equal(issues({ add: { [name]: "v" } }).length, 1, name);
      assert.equal(issues({ remove: [name] }).length, 1, name);
    }
    for (const value of ["a\r\nb", "a\0", "ä", " a", "a "])
      assert.equal(issues({ add: { a: value } }).length, 1, value);
  });

  it("a header module rejects a name repeated in different case, and converts names to lower case", () => {
    assert.equal(issues({ add: { "X-A": "1", "x-a": "2" } }).length, 1);
    assert.equal(issues({ remove: ["X-A", "x-a"] }).length, 1);
    const { doc } = parseFields(responseHeaders.fields, { add: { "X-A": "1" }, remove: ["X-B"] }, "replace");
    assert.deepEqual(doc, { add: { "x-a": "1" }, remove: ["x-b"] });
  });

  it("a header module rejects removing Host without a new one", () => {
    const rule = requestHeaders.rules?.[0];
    assert.equal(rule?.({ add: {}, remove: ["host"] }, "https_route")?.path, "remove");
    assert.equal(rule?.({ add: { host: "a" }, remove: ["host"] }, "https_route"), undefined);
  });
});
