/** Policies that are rejected when they are stored, with their codes and messages. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RefusalName } from "../lib/errors.ts";
import { catalogue } from "../lib/errors.ts";
import type { Layer } from "./language/action.ts";
import { actions } from "./actions/index.ts";
import { compilePolicy } from "./compile-policy.ts";
import { endpointPolicyIssue } from "./policy-document.ts";

const q = (rule: string): string => `on_http_request: [${rule}]`;
const s = (rule: string): string => `on_http_response: [${rule}]`;
const when = (expression: string, phase = q): string =>
  phase(`{expressions: [${JSON.stringify(expression)}], actions: [{type: custom-response}]}`);
const act = (action: string): string => q(`{actions: [${action}]}`);

type Row = readonly [code: number, text: string, holds?: RegExp, layer?: Layer];

const refused: readonly Row[] = [
  [2230, "on_http_respons: []", /did you mean "on_http_response"\?/],
  [2236, "on_http_request: {actions: {type: deny}}", /line 1/],
  [2206, q("{name: a}")],
  [2201, act("{type: add-header}"), /did you mean "add-headers"\?/],
  [2201, act("{type: owasp-crs-request}"), /not supported by this server: this server does not include its rule set/],
  [2202, s("{actions: [{type: deny}]}"), /on_tcp_connect, on_http_request/],
  [2200, when("req.method = 'GET'"), /line 1, column 12: .*write `==`/],
  [
    2200,
    when("res.status_code < '200'", s),
    /column 17: < does not take an int and a string; .* write 200 without quotes/,
  ],
  [2200, when("req.url.path"), /column 1: this must be a bool, it is a string; compare it/],
  [2200, when("req.url.includes('/a')"), /column 9: there is no function "includes"; did you mean "contains"\?/],
  [2200, when("res.status_code == 200"), /column 1: there is no "res\.status_code"; it is there in on_http_response/],
  [2200, when("req.user_agent.raw == ''"), /a string has no fields, there is "\.raw"; known are: name, version, os, /],
  [2200, when("req.url.pat == ''"), /there is "\.pat"; did you mean "path"\?/],
  [2200, when("hasResHeader('a')"), /there is no function "hasResHeader"; it is there in on_http_response/],
  [2200, when("req.headers['x'] == 'a'"), /is a list of strings; did you mean `req\.headers\['x'\]\[0\] == 'a'`/],
  [2200, when("req.headers['x'].contains('a')"), /write `'a' in req\.headers\['x'\]`/],
  [2200, when("req.path == '/a'"), /did you mean "req\.url\.path"\?/],
  [2200, when("req.url.path.starts_with('/a')"), /did you mean "startsWith"\?/],
  [2200, when("req.url.path.length > 2"), /a string has no fields, there is "\.length"; write size\(…\)/],
  [2200, when("hasReqHeader('a') == 'true'"), /write true without quotes, or leave it out/],
  [2200, when("conn.client_ip in '10.0.0.0/8'"), /write `inCidrRange\(conn\.client_ip, '10\.0\.0\.0\/8'\)`/],
  [2200, when("conn.ts.start > '2026-01-01T00:00:00Z'"), /write `timestamp\('2026-01-01T00:00:00Z'\)`/],
  [2200, when("req.method == 'GET' and true"), /write `&&` for "and"/],
  [2200, when("[x for x in req.headers]"), /column 4/],
  [2200, when("math.greatest(1, 2) == 2"), /the extension "math" of CEL is not part of the language here/],
  [2200, when("optional.of(1).hasValue()"), /the extension "optional" of CEL/],
  [2200, when("sets.contains([1], [1])"), /the extension "sets" of CEL/],
  [2200, when("[1].transformList(i, v, v) == []"), /there is no function "transformList"/],
  [
    2222,
    act("{type: rate-limit, config: {name: a, algorithm: sliding_window, capacity: 1, rate: 65s, bucket_key: [a]}}"),
    /multiple of 10s/,
  ],
  [2224, act("{type: add-headers, config: {headers: {x: '${vars.a'}}}"), /not closed/],
  [2261, act("{type: url-rewrite, config: {from: '(?=x)', to: a}}")],
  [2207, act("{type: deny}, {type: log, config: {metadata: {a: b}}}"), /would never run/],
  [2202, "on_tcp_connect: [{actions: [{type: forward-internal, config: {url: 'https://a.internal'}}]}]"],
  [2230, q("{actions: [{type: deny}]}"), /on_tcp_connect/, "tcp"],
  [
    2212,
    act(
      `{type: add-headers, config: {headers: {${"abcdefghijk"
        .split("")
        .map((name) => `${name}: a`)
        .join()}}}}`,
    ),
  ],
  [2217, act("{type: restrict-ips, config: {allow: [10.0.0.0/33]}}")],
  [2216, act("{type: restrict-ips, config: {ip_policies: [office]}}")],
  [2219, act("{type: circuit-breaker, config: {num_buckets: 5}}")],
  [2239, act("{type: oauth, config: {provider: google}}, {type: oauth, config: {provider: github}}")],
  [2241, act("{type: oauth, config: {provider: google, auth_cookie_domain: example.com}}")],
  [383, act("{type: oauth, config: {provider: google, client_id: a}}")],
  [384, act("{type: oauth, config: {provider: google, client_secret: a}}")],
  [390, act("{type: oauth, config: {provider: google, scopes: [a]}}")],
  [2222, act("{type: circuit-breaker, config: {window_duration: 10m}}")],
  [2215, act("{type: deny, config: {status_code: 200}}")],
  [2203, act("{type: deny, config: {status: 403}}"), /known are: status_code/],
  [2234, act("{type: redirect}")],
  [2226, act("{type: forward-internal, config: {url: 'https://example.com'}}")],
  [2257, act("{type: basic-auth, config: {credentials: ['ann:short']}}")],
  [364, act("{type: verify-webhook, config: {provider: nobody, secret: a}}"), /must be one of aftership/],
  [15007, act("{type: verify-webhook, config: {provider: github}}"), /is required for provider "github"/],
  [15001, act(`{type: verify-webhook, config: {provider: github, secret: ${"a".repeat(4097)}}}`)],
  [2252, act("{type: set-vars, config: {vars: {a: b}}}")],
  [2250, act(`{type: set-vars, config: {vars: [{a: ${"[".repeat(12)}${"]".repeat(12)}}]}}`)],
  [2210, act("{type: add-headers, config: {headers: {transfer-encoding: chunked}}}")],
  [2210, act("{type: add-headers, config: {headers: {Proxy-Authorization: Basic eDp5}}}")],
  [2210, act("{type: remove-headers, config: {headers: [proxy-authorization]}}")],
  [2211, act('{type: add-headers, config: {headers: {a: "b\\r\\nc: d"}}}')],
  [2236, "on_http_request:\n  - expressions: [!x]\n    actions: [{type: deny}]", /put quotes/],
  [2236, "inbound: []\non_http_request: []", /older name/],
  [2236, q("{if: a, actions: [{type: deny}]}")],
  [2264, q(Array(101).fill("{actions: [{type: deny}]}").join())],
  [2265, act(Array(21).fill("{type: log, config: {metadata: {a: b}}}").join())],
  [2236, `{"__proto__": []}`],
  [2200, when(`${"(".repeat(500)}true${")".repeat(500)}`)],
  [2200, when("x".repeat(5000))],
];

describe("a traffic policy", () => {
  for (const [code, text, holds, layer = "http"] of refused) {
    it(`a traffic policy is rejected with ${code}: ${text.slice(0, 100)}`, () => {
      const [first] = compilePolicy(text, layer).issues;
      assert.ok(first, "it was taken");
      assert.equal(catalogue[first.reason].number, code, `${first.path} ${first.message}`);
      if (holds) assert.match(first.message, holds);
    });
  }

  it("a traffic policy with several errors gets all of them, each with its place", () => {
    const { issues } = compilePolicy(
      "on_http_request:\n  - expressions: [req.metod == 'GET', '1']\n    actions: [{type: denny}]\nnope: []",
      "http",
    );
    assert.deepEqual(
      issues.map(({ path }) => path),
      [
        "on_http_request[0].expressions[0]",
        "on_http_request[0].expressions[1]",
        "on_http_request[0].actions[0].type",
        "nope",
      ],
    );
    assert.match(issues[0]?.message ?? "", /did you mean "req.method"\?/);
  });

  it("a traffic policy of a cloud endpoint must always produce a response", () => {
    const log = "{type: log, config: {metadata: {a: b}}}";
    const reason = (text: string, layer: Layer = "http"): RefusalName | undefined =>
      endpointPolicyIssue(text, layer, "traffic_policy")?.reason;
    assert.equal(reason(act(log)), "policy_answers_nothing");
    assert.equal(reason(when("req.method == 'GET'")), "policy_answers_nothing");
    assert.equal(reason(`enabled: false\n${act("{type: deny}")}`), "policy_answers_nothing");
    const forward = (more: string): string =>
      act(`{type: forward-internal, config: {url: 'https://a.internal'${more}}}`);
    assert.equal(reason(forward(", on_error: continue")), "policy_answers_nothing");
    assert.equal(reason(forward("")), undefined);
    assert.equal(reason(act("{type: redirect, config: {to: 'https://a.example'}}")), undefined);
    assert.equal(reason("on_tcp_connect: [{actions: [{type: deny}]}]", "tls"), undefined);
  });

  it("a traffic policy accepts both spellings, older fields, numbers as names, and null for empty values", () => {
    for (const text of [
      '{"inbound": [{"name": 7, "actions": [{"type": "custom-response", "config": {"content": "a"}}]}], "outbound": []}',
      "on_http_request:\non_http_response:\n  - actions: [{type: compress-response, config: null}]",
      "enabled: true",
      act("{type: url-rewrite, config: {from: a, to: b, format: ngrok}}"),
      act("{type: redirect, config: {to: b, format: ngrok}}"),
    ]) {
      assert.deepEqual(compilePolicy(text, "http").issues, [], text);
    }
  });

  it("a traffic policy accepts a secret for SNS, and warns that it is ignored", () => {
    for (const secret of ["a", "${secrets.get('v', 'n')}"]) {
      const text = act(`{type: verify-webhook, config: {provider: sns, secret: "${secret}"}}`);
      const { issues, warnings } = compilePolicy(text, "http");
      assert.deepEqual(issues, []);
      assert.deepEqual(
        warnings.map(({ path, message }) => `${path} ${message}`),
        ["on_http_request[0].actions[0].config.secret is ignored: SNS signs with a certificate"],
      );
    }
  });

  it("compiling a traffic policy never throws, whatever its text", () => {
    const hostile = [
      "[".repeat(40_000),
      "a: {".repeat(2000),
      "&a [*a]",
      '{"on_http_request": [{"actions": [{"type": "constructor"}, {"type": "__proto__"}, {"type": 1}, null, []]}]}',
      '{"on_http_request": [null, 1, "a", [], {"actions": {}}, {"actions": [{"type": "deny", "config": []}]}]}',
      '{"toString": [], "constructor": {}, "hasOwnProperty": 1}',
      q(`{expressions: [${JSON.stringify("a.".repeat(2000) + "b")}], actions: [{type: deny}]}`),
      act(`{type: add-headers, config: {headers: {a: ${JSON.stringify("${".repeat(2000))}}}}`),
      act(`{type: url-rewrite, config: {from: ${JSON.stringify("(a{1000}){1000}")}, to: a}}`),
      "\u0000",
      "",
    ];
    for (const text of hostile) assert.ok(compilePolicy(text, "http").issues.length > 0, text.slice(0, 60));
  });

  it("a traffic policy has no action without a description", () => {
    for (const { type, doc, phases } of actions) assert.ok(doc.endsWith(".") && phases.length > 0, type);
  });
});
