import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf } from "../../../test/support/exchange.ts";
import type { ExchangeInit } from "../../../test/support/exchange.ts";
import { faultsOf, makeAction } from "../../../test/support/policy-action.ts";
import { maxBodyBytes } from "../parts/find-replace.ts";
import { requestBodyFindReplace } from "./request-body-find-replace.ts";
import { responseBodyFindReplace } from "./response-body-find-replace.ts";

const replacements = [{ from: "\\b\\d{3}-\\d{2}-\\d{4}\\b", to: "[hidden]" }, { from: "secret " }];

describe("request-body-find-replace", () => {
  const bodyAfter = async (init: ExchangeInit, config: object = { replacements }) => {
    const exchange = exchangeOf({ method: "POST", ...init });
    const outcome = await makeAction(requestBodyFindReplace, config).run(exchange);
    const limit = 4 * maxBodyBytes;
    return { outcome, body: (await exchange.body(limit)).toString() };
  };

  it("request-body-find-replace sends the upstream the changed body, and reports its matches", async () => {
    const { outcome, body } = await bodyAfter({ body: "secret ssn 123-45-6789" });
    assert.equal(body, "ssn [hidden]");
    assert.deepEqual(outcome.result, {
      replacements: [
        { replacement_index: 0n, matched_content: "123-45-6789" },
        { replacement_index: 1n, matched_content: "secret " },
      ],
    });
  });

  it("request-body-find-replace leaves bodies unchanged without a match", async () => {
    assert.equal((await bodyAfter({ body: "nothing" })).outcome.outcome, "skipped");
    const latin = await bodyAfter({ body: "secret x", headers: { "content-type": "text/plain; charset=iso-8859-1" } });
    assert.equal(latin.body, "x");
  });

  it("D11: request-body-find-replace rejects unreadable bodies, unless on_error lets them pass", async () => {
    const utf16 = Buffer.from("secret x", "utf16le");
    for (const init of [
      { body: "secret x", headers: { "content-encoding": "gzip" } },
      {
        body: "secret x",
        headers: [
          ["content-encoding", "identity"],
          ["content-encoding", "br"],
        ],
      },
      { body: utf16, headers: { "content-type": 'application/json; charset="UTF-16LE"' } },
      { body: Buffer.from([0xff, 0x61]) },
    ] as ExchangeInit[]) {
      const { outcome } = await bodyAfter(init);
      assert.deepEqual(outcome.end, { by: "refusal", answer: { error: "request_replacement_failed" } });
      const passed = await bodyAfter(init, { replacements, on_error: "continue" });
      assert.deepEqual([passed.outcome.outcome, passed.outcome.end], ["failed", undefined]);
      assert.equal(passed.body, (init.body as Buffer).toString());
    }
  });

  it("request-body-find-replace rejects bodies that are too long", async () => {
    const { outcome } = await bodyAfter({ body: Buffer.alloc(maxBodyBytes + 1, "a") });
    assert.deepEqual(outcome.end, { by: "refusal", answer: { error: "payload_too_large" } });
  });

  it("request-body-find-replace uses values of the request, also as expressions, and fails if a value is missing", async () => {
    const action = makeAction(requestBodyFindReplace, { replacements: [{ from: "${vars.from}", to: "<${vars.to}>" }] });
    const exchange = exchangeOf({ method: "POST", body: "a1 b2" });
    // A group in a value is literal text: its sender must not choose what it expands to.
    await action.run(exchange, { from: "([a-z])(\\d)", to: "$2" });
    assert.equal((await exchange.body(100)).toString(), "<$2> <$2>");
    for (const vars of [{ from: "(", to: "" }, { from: "a".repeat(2000), to: "" }, {}]) {
      assert.deepEqual((await action.run(exchange, vars)).end, {
        by: "refusal",
        answer: { error: "request_replacement_failed" },
      });
    }
  });
});

describe("response-body-find-replace", () => {
  const through = async (response: NonNullable<ExchangeInit["response"]>, method = "GET", more: object = {}) => {
    const exchange = exchangeOf({ method, response });
    const outcome = await makeAction(responseBodyFindReplace, { replacements, ...more }).run(exchange);
    return { outcome, exchange, body: exchange.answeredBody.toString() };
  };

  it("response-body-find-replace changes the body and the fields that describe it", async () => {
    const headers = { etag: '"a"', "accept-ranges": "bytes", digest: "x" };
    const { body, exchange, outcome } = await through({ headers, body: "secret ssn 123-45-6789" });
    assert.equal(body, "ssn [hidden]");
    const { headers: after } = exchange.response ?? {};
    assert.deepEqual([after?.get("etag"), after?.has("accept-ranges"), after?.has("digest")], ['W/"a"', false, false]);
    assert.deepEqual(outcome.result?.["replacements"], [
      { replacement_index: 0n, matched_content: "123-45-6789" },
      { replacement_index: 1n, matched_content: "secret " },
    ]);
  });

  it("response-body-find-replace leaves responses unchanged without a match", async () => {
    const { body, exchange, outcome } = await through({ headers: { etag: '"a"' }, body: "plain" });
    assert.deepEqual([body, exchange.response?.headers.get("etag"), outcome.outcome], ["plain", '"a"', "skipped"]);
  });

  it("D11: response-body-find-replace rejects compressed, partial, endless, long and unreadable bodies, unless on_error lets them pass", async () => {
    const secret = "secret ";
    for (const response of [
      { headers: { "content-encoding": "br" }, body: secret },
      { headers: { "content-type": "text/html; charset=utf-16" }, body: Buffer.from(secret, "utf16le") },
      { headers: { "content-type": "text/event-stream; charset=utf-8" }, body: secret },
      { headers: { "content-length": String(maxBodyBytes + 1) } },
      { status: 206, body: secret },
      { body: Buffer.alloc(maxBodyBytes + 1, secret) },
      { body: Buffer.from([0xff, ...Buffer.from(secret)]) },
    ]) {
      const refused = await through(response);
      assert.deepEqual(refused.outcome.end, { by: "refusal", answer: { error: "response_replacement_failed" } });
      const { outcome, exchange } = await through(response, "GET", { on_error: "continue" });
      assert.deepEqual([outcome.outcome, outcome.end], ["failed", undefined]);
      assert.ok(exchange.answeredBody.equals(Buffer.from(response.body ?? "")));
    }
  });

  it("response-body-find-replace passes images and responses without a body", async () => {
    const long = { "content-length": String(maxBodyBytes + 1) };
    const image = Buffer.from([0xff, 0xd8, 0xff]);
    for (const [response, method] of [
      [{ headers: { "content-type": "image/jpeg" }, body: image }, "GET"],
      [{ headers: { ...long, "content-type": "Video/mp4; codecs=avc1" } }, "GET"],
      [{ headers: long, status: 304 }, "GET"],
      [{ headers: long }, "HEAD"],
    ] as const) {
      const { outcome } = await through(response, method);
      assert.deepEqual([outcome.outcome, outcome.end], ["skipped", undefined]);
    }
    const drawing = await through({ headers: { "content-type": "image/svg+xml" }, body: "secret x" });
    assert.equal(drawing.body, "x");
  });

  it("response-body-find-replace removes the length of a body that was not requested", async () => {
    const { exchange, outcome } = await through({ headers: { "content-length": "22" } }, "HEAD");
    assert.deepEqual([exchange.response?.headers.has("content-length"), outcome.outcome], [false, "skipped"]);
  });
});

describe("replacements", () => {
  it("replacements with expressions that RE2 does not support, or too many of them, are rejected", () => {
    for (const action of [requestBodyFindReplace, responseBodyFindReplace]) {
      for (const from of ["(?=x)", "(", "\\1", "(a{1000}){1000}", ""]) {
        assert.match(faultsOf(action, { replacements: [{ from }] })[0] ?? "", /^replacements/);
      }
      assert.match(faultsOf(action, { replacements: [] })[0] ?? "", /^replacements/);
      assert.match(faultsOf(action, {})[0] ?? "", /^replacements/);
      assert.match(faultsOf(action, { replacements: [{ from: "a", to: "${" }] })[0] ?? "", /^replacements\[0\]\.to/);
    }
  });
});
