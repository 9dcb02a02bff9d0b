import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf } from "../../../test/support/exchange.ts";
import { faultsOf, makeAction } from "../../../test/support/policy-action.ts";
import { newChain } from "../../traffic/http-calls.ts";
import type { CallAnswer } from "../../traffic/http-calls.ts";
import type { CallAttempt, CallFault, HttpCall } from "../language/http-caller.ts";
import { httpRequest } from "./http-request.ts";

const config = { url: "https://check.internal/a" };

const answered = (status: number, body = "ok"): CallAttempt => ({
  request: { method: "GET", url: new URL("https://check.internal/a"), headers: { "x-a": "1" }, body: undefined },
  answer: { status, headers: { "x-list": ["a", "b"] }, body: Buffer.from(body), address: "" } satisfies CallAnswer,
  fault: undefined,
  timeMs: 12.4,
});
const failed = (kind: CallFault["kind"]): CallAttempt => ({
  request: undefined,
  answer: undefined,
  fault: { kind, message: "why" },
  timeMs: 3,
});

/** Sets up the action with a caller that records its requests, and responds with `attempts`. */
function setUp(change: object, attempts: readonly CallAttempt[] = [answered(200)]) {
  const asked: HttpCall[] = [];
  const calls = {
    call(call: HttpCall) {
      asked.push(call);
      return Promise.resolve(attempts);
    },
  };
  return { asked, action: makeAction(httpRequest, { ...config, ...change }, { calls }) };
}

describe("http-request", () => {
  it("http-request sends values of this request, an encoded query, and its sender", async () => {
    const { asked, action } = setUp({
      url: "https://check.internal/${vars.path}?b=c#f",
      method: "POST",
      query_params: [{ key: "q&", value: "${vars.value}" }, { key: "empty" }],
      headers: { "X-Value": "${vars.value}" },
      body: "body ${vars.value}",
      timeout: "1500ms",
      max_redirects: 7,
    });
    const chain = { ...newChain(), hops: 2 };
    await action.run({ ...exchangeOf(), calls: chain }, { path: "a", value: "ü &=#" });
    const [call] = asked;
    assert.equal(call?.url, "https://check.internal/a?b=c&q%26=%C3%BC%20%26%3D%23&empty=#f");
    assert.deepEqual(call?.headers, {
      "x-value": "%C3%BC &=#",
      "ngrok-req-type": "traffic-policy-http-request",
      "ngrok-req-id": "req_test",
      "x-forwarded-for": "192.0.2.1",
    });
    assert.deepEqual(
      [call?.method, call?.body, call?.timeoutMs, call?.maxRedirects, call?.retry],
      ["POST", "body ü &=#", 1500, 7, undefined],
    );
  });

  it("http-request sends its account, connection and call chain, which all rules of one request share", async () => {
    const { asked, action } = setUp({});
    const exchange = exchangeOf();
    await action.run(exchange);
    await action.run(exchange);
    assert.equal(asked[0]?.origin.accountId, "ac_1");
    assert.equal(asked[0]?.origin.connection, exchange.connection);
    assert.equal(asked[0]?.origin.chain.hops, 0);
    assert.equal(asked[1]?.origin.chain, asked[0]?.origin.chain);
    const led = { ...newChain(), hops: 2 };
    await action.run({ ...exchangeOf(), calls: led });
    assert.equal(asked[2]?.origin.chain, led);
  });

  it("http-request stores the response for later rules", async () => {
    const { action } = setUp({}, [failed("failed"), answered(201, "made")]);
    const { outcome, end, result } = await action.run();
    assert.deepEqual([outcome, end], ["done", undefined]);
    assert.deepEqual(result?.["res"], {
      status_code: 201n,
      header: Object.assign(Object.create(null) as object, { "x-list": ["a", "b"] }),
      body: "made",
      time_ms: 12n,
      resolved_ip: "",
    });
    assert.equal((result?.["req"] as { url: string } | undefined)?.url, "https://check.internal/a");
    assert.deepEqual(
      (result?.["attempts"] as { response_status_code: bigint }[] | undefined)?.map((one) => one.response_status_code),
      [0n, 201n],
    );
  });

  it("http-request without a response continues with a reason, or ends the request if on_error requires it", async () => {
    for (const [kind, number, error] of [
      ["too_long", 3601, "policy_call_answer_long"],
      ["timeout", 3602, "policy_call_timeout"],
      ["loop", 3603, "policy_call_loop"],
      ["failed", 3604, "policy_call_failed"],
      ["refused", 3604, "policy_call_failed"],
    ] as const) {
      const { outcome, end, result } = await setUp({}, [failed(kind)]).action.run();
      assert.deepEqual([outcome, end], ["failed", undefined]);
      assert.deepEqual(result?.["error"], { code: `ERR_NGROK_${number}`, message: "why" });
      const halted = await setUp({ on_error: "halt" }, [failed(kind)]).action.run();
      assert.deepEqual(halted.end, { by: "refusal", answer: { error } });
    }
  });

  it("http-request retries while its condition holds, and not if the condition has no value", async () => {
    const { asked, action } = setUp({
      retry_condition: "size(attempts) < 3 && (last_attempt.res.status_code >= 500 || last_attempt.error.code != '')",
    });
    await action.run();
    const retry = asked[0]?.retry;
    assert.equal(retry?.([answered(500)]), true);
    assert.equal(retry?.([failed("timeout")]), true);
    assert.equal(retry?.([answered(404)]), false);
    assert.equal(retry?.([answered(500), answered(500), answered(500)]), false);
    const broken = setUp({ retry_condition: "last_attempt.res.header['nothing'][0] == 'x'" });
    await broken.action.run();
    assert.equal(broken.asked[0]?.retry?.([answered(200)]), false);
  });

  it("http-request sends nothing in a rehearsal, and shows only the host", async () => {
    const { asked, action } = setUp({ url: "https://check.internal/secret?key=secret" });
    const { outcome, reason } = await action.rehearse();
    assert.deepEqual([outcome, reason, asked.length], ["skipped", "would send GET to check.internal", 0]);
  });

  it("http-request ends the request if a value is missing, or would break the message", async () => {
    const { asked, action } = setUp({ headers: { "x-a": "${vars.a}" } });
    for (const vars of [{}, { a: "b\r\nx-evil: 1" }]) {
      const { end } = await action.run(undefined, vars);
      assert.deepEqual(end, { by: "refusal", answer: { error: "policy_interpolation_failed" } });
    }
    assert.equal(asked.length, 0);
  });

  it("http-request reaches no internal address, and no external one without permission", async () => {
    for (const url of [
      "https://check.internal/",
      "https://example.com/",
      "http://169.254.169.254/",
      "file:///etc/passwd",
    ]) {
      const action = makeAction(httpRequest, { url: "${vars.url}" });
      const { result } = await action.run(undefined, { url });
      assert.equal((result?.["error"] as { code: string } | undefined)?.code, "ERR_NGROK_3604", url);
    }
  });

  it("http-request rejects configurations that could never work", () => {
    for (const [change, fault] of [
      [{ url: "ftp://a.internal/" }, /^url /],
      [{ url: undefined }, /^url /],
      [{ method: "TRACE" }, /^method /],
      [{ timeout: "31s" }, /^timeout /],
      [{ timeout: "500ms" }, /^timeout /],
      [{ max_redirects: 101 }, /^max_redirects /],
      [{ retry_condition: "attempts" }, /^retry_condition /],
      [{ retry_condition: "req.method == 'GET'" }, /^retry_condition /],
      [{ on_error: "stop" }, /^on_error /],
      [{ headers: { "transfer-encoding": "chunked" } }, /^headers/],
      [{ query_params: [{ key: "" }] }, /^query_params/],
    ] as const) {
      assert.match(faultsOf(httpRequest, { ...config, ...change })[0] ?? "", fault, JSON.stringify(change));
    }
  });
});
