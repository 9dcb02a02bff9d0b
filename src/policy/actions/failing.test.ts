/**
 * Runs every action with unusable values. The action must never let a request pass that it would otherwise have
 * stopped.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf } from "../../../test/support/exchange.ts";
import type { ExchangeInit } from "../../../test/support/exchange.ts";
import { policyOutcome } from "../../../test/support/policy-outcome.ts";
import { actions } from "./index.ts";

/** Fields of an action, each with a value that the visitor chooses, written as `VALUE`. */
interface Case {
  readonly type: string;
  readonly config: object;
  readonly init?: ExchangeInit;
  readonly phase?: "on_http_request" | "on_http_response";
  /** Values that are valid for this field. */
  readonly takes?: readonly (keyof typeof values)[];
  /** Its own refusal, which it returns for any of the values. */
  readonly own?: string;
}

/**
 * Replacements for the value: an expression that fails, a text that no message may contain, and a text that is too
 * long.
 */
const values = {
  absent: "${req.headers['x-none'][0]}",
  broken: "${getQueryParam('crlf')[0]}",
  long: "${req.headers['x-long'][0] + req.headers['x-long'][0]}",
  costly: "${string(lists.range(1000).all(a, lists.range(1000).all(b, b >= 0)))}",
} as const;
type ValueName = keyof typeof values;

const errors: Readonly<Record<ValueName, readonly string[]>> = {
  absent: ["policy_interpolation_failed", "request_replacement_failed", "response_replacement_failed"],
  broken: ["policy_interpolation_failed", "policy_action_failed", "unknown_host", "token_missing"],
  long: ["policy_limit_reached"],
  costly: ["policy_limit_reached"],
};

const jwt = (field: "issuer" | "audience" | "name" | "prefix" | "jku"): object => ({
  issuer: { allow_list: [{ value: field === "issuer" ? "VALUE" : "https://a.example" }] },
  audience: { allow_list: [{ value: field === "audience" ? "VALUE" : "a" }] },
  http: {
    tokens: [
      {
        type: "jwt",
        method: "header",
        name: field === "name" ? "VALUE" : "authorization",
        prefix: field === "prefix" ? "VALUE" : "Bearer ",
      },
    ],
  },
  jws: {
    allowed_algorithms: ["RS256"],
    keys: { sources: { additional_jkus: [field === "jku" ? "VALUE" : "https://a.example/jwks"] } },
  },
});
const response = { status: 200, headers: { "content-type": "text/plain" }, body: "a secret" };
const post: ExchangeInit = { method: "POST", body: "a secret" };
const basic = { headers: { authorization: `Basic ${Buffer.from("ann:correct horse").toString("base64")}` } };

const cases: readonly Case[] = [
  { type: "add-headers", config: { headers: { "x-a": "VALUE" } } },
  { type: "add-headers", phase: "on_http_response", config: { headers: { "x-a": "VALUE" } } },
  { type: "basic-auth", config: { credentials: ["VALUE"] }, init: basic, takes: ["broken"] },
  { type: "custom-response", config: { body: "VALUE" }, takes: ["broken"] },
  { type: "custom-response", config: { body: "", headers: { "x-a": "VALUE" } } },
  { type: "custom-response", phase: "on_http_response", config: { body: "VALUE" }, takes: ["broken"] },
  { type: "forward-internal", config: { url: "VALUE" } },
  { type: "forward-internal", config: { url: "https://VALUE.internal", on_error: "continue" }, takes: ["broken"] },
  { type: "http-request", config: { url: "VALUE" }, takes: ["broken"] },
  { type: "http-request", config: { url: "https://a.internal", headers: { "x-a": "VALUE" } } },
  { type: "http-request", config: { url: "https://a.internal", body: "VALUE" }, takes: ["broken"] },
  {
    type: "http-request",
    config: { url: "https://a.internal", query_params: [{ key: "a", value: "VALUE" }] },
    takes: ["broken"],
  },
  ...(["issuer", "audience", "name", "prefix", "jku"] as const).map((field) => ({
    type: "jwt-validation",
    config: jwt(field),
  })),
  { type: "log", config: { metadata: { a: "VALUE" } }, takes: ["absent", "broken"] },
  {
    type: "rate-limit",
    config: { name: "a", algorithm: "sliding_window", capacity: 1, rate: "60s", bucket_key: ["EXPRESSION"] },
    takes: ["absent", "broken"],
  },
  { type: "redirect", config: { from: "VALUE", to: "/x" }, takes: ["broken"] },
  { type: "redirect", config: { from: ".*", to: "/VALUE" } },
  { type: "redirect", config: { to: "/x", headers: { "x-a": "VALUE" } } },
  { type: "url-rewrite", config: { from: "VALUE", to: "/x" }, takes: ["broken"] },
  { type: "url-rewrite", config: { from: ".*", to: "/VALUE" } },
  {
    type: "request-body-find-replace",
    config: { replacements: [{ from: "VALUE", to: "" }] },
    init: post,
    takes: ["broken"],
  },
  {
    type: "request-body-find-replace",
    config: { replacements: [{ from: "secret", to: "VALUE" }] },
    init: post,
    takes: ["broken"],
  },
  {
    type: "response-body-find-replace",
    phase: "on_http_response",
    config: { replacements: [{ from: "VALUE", to: "" }] },
    takes: ["broken"],
  },
  {
    type: "response-body-find-replace",
    phase: "on_http_response",
    config: { replacements: [{ from: "secret", to: "VALUE" }] },
    takes: ["broken"],
  },
  { type: "restrict-ips", config: { allow: ["0.0.0.0/0", "VALUE"] } },
  { type: "restrict-ips", config: { allow: ["0.0.0.0/0"], deny: ["VALUE"] } },
  { type: "set-vars", config: { vars: [{ a: "VALUE" }] }, takes: ["broken"] },
  { type: "set-vars", config: { vars: [{ a: { b: ["VALUE"] } }] }, takes: ["broken"] },
  { type: "verify-webhook", config: { provider: "github", secret: "VALUE" }, takes: ["broken"] },
];

/** Actions without a value from the request, actions tested beside their code, and logins, which take no such value. */
const elsewhere: ReadonlySet<string> = new Set([
  "circuit-breaker",
  "close-connection",
  "compress-response",
  "deny",
  "oauth",
  "openid-connect",
  "remove-headers",
  "saml",
  "sse-find-replace",
  "terminate-tls",
]);

function filled(config: object, name: ValueName): object {
  const expression = values[name].slice(2, -1);
  const text = JSON.stringify(config).replace("EXPRESSION", JSON.stringify(expression).slice(1, -1));
  return JSON.parse(text.replace("VALUE", JSON.stringify(values[name]).slice(1, -1))) as object;
}

function exchangeWith(init: ExchangeInit = {}, phase: Case["phase"]) {
  return exchangeOf({
    target: `/?crlf=${encodeURIComponent("a\r\nx-evil: 1\0")}`,
    ...init,
    headers: { "x-long": "a".repeat(40_000), ...(init.headers as object) },
    ...(phase === "on_http_response" && { response }),
  });
}

describe("actions with unusable values", () => {
  it("actions with unusable values are all tested", () => {
    const covered = new Set([...cases.map(({ type }) => type), ...elsewhere]);
    assert.deepEqual(
      actions.map(({ type }) => type).filter((type) => !covered.has(type)),
      [],
    );
  });

  for (const { type, config, init, phase = "on_http_request", takes = [] } of cases) {
    for (const name of Object.keys(values) as ValueName[]) {
      if (takes.includes(name)) continue;
      for (const expressionErrors of ["no_match", "refuse"] as const) {
        it(`R6: ${type} rejects the request if ${JSON.stringify(config).slice(0, 90)} is ${name} (${phase}, ${expressionErrors})`, async () => {
          const policy = { [phase]: [{ actions: [{ type, config: filled(config, name) }] }] };
          const { answer } = await policyOutcome(policy, exchangeWith(init, phase), { expressionErrors });
          const error = answer && "error" in answer ? answer.error : JSON.stringify(answer);
          assert.ok(errors[name].includes(error), error);
        });
      }
    }
  }

  it("R6: a condition that exceeds a limit rejects the request, whatever is set for other failures", async () => {
    for (const expressionErrors of ["no_match", "refuse"] as const) {
      for (const name of ["long", "costly"] as const) {
        const expressions = [`${values[name].slice(2, -1)} == ''`, "true"];
        for (const phase of ["on_http_request", "on_http_response"] as const) {
          const policy = { [phase]: [{ expressions, actions: [{ type: "log", config: { metadata: { a: "b" } } }] }] };
          const { answer } = await policyOutcome(policy, exchangeWith({}, phase), { expressionErrors });
          assert.deepEqual(answer, { error: "policy_limit_reached" });
        }
      }
    }
  });
});

describe("redirects and rewrites of long URLs", () => {
  const at = (type: string, config: object): object => ({ on_http_request: [{ actions: [{ type, config }] }] });

  for (const type of ["redirect", "url-rewrite"]) {
    it(`R6: ${type} rejects a URL that becomes too long, and passes a long URL that it does not change`, async () => {
      const exchange = exchangeOf({ target: `/x?${"a".repeat(16_370)}` });
      const longer = await policyOutcome(at(type, { from: "/x", to: "/longer" }), exchange);
      assert.deepEqual(longer.answer, { error: "policy_limit_reached" });
      const same = await policyOutcome(at(type, { from: "/y", to: "/z" }), exchange);
      assert.equal(same.answer, undefined);
    });
  }

  it("a redirect uses a visitor's text literally, without expanding groups or variables in it", async () => {
    const policy = at("redirect", { from: "^.*$", to: "/search?q=${getQueryParam('q')[0]}&host=$host" });
    const { answer } = await policyOutcome(policy, exchangeOf({ target: "/?q=%24args%24args%241%240&token=secret" }));
    assert.deepEqual(
      answer && "headers" in answer && answer.headers?.["location"],
      "https://app.example.com/search?q=$args$args$1$0&host=app.example.com",
    );
  });

  it("a redirect to a path from a visitor stays on this host", async () => {
    const policy = at("redirect", { from: "^.*$", to: "${getQueryParam('to')[0]}" });
    const { answer } = await policyOutcome(policy, exchangeOf({ target: "/?to=%2F%2Fevil.example%2F" }));
    assert.equal(
      answer && "headers" in answer && answer.headers?.["location"],
      "https://app.example.com//evil.example/",
    );
  });
});

describe("restrict-ips with networks of the request", () => {
  const denied = (value: string, deny = "${vars.n}"): object => ({
    on_http_request: [
      {
        actions: [
          { type: "set-vars", config: { vars: [{ n: value }] } },
          { type: "restrict-ips", config: { allow: ["0.0.0.0/0"], deny: [deny] } },
        ],
      },
    ],
  });
  const connection = { source: "203.0.113.9" };

  for (const [what, value] of [
    ["a list", "${['198.51.100.0/24', '203.0.113.0/24']}"],
    ["a text with commas", "198.51.100.0/24, 203.0.113.9"],
    ["a text of several lines", "${'198.51.100.0/24\\n203.0.113.0/24\\n'}"],
  ] as const) {
    it(`R4: restrict-ips denies by ${what}`, async () => {
      const { answer } = await policyOutcome(denied(value), exchangeOf({ connection }));
      assert.deepEqual(answer, { error: "source_denied" });
    });
  }

  for (const [what, value] of [
    ["bits beyond the mask", "203.0.113.9/24"],
    ["no network", "office"],
    ["an empty text", "${''}"],
    ["a list with something else in it", "${['203.0.113.0/24', 'office']}"],
    ["a number", "${7}"],
  ] as const) {
    it(`R4: restrict-ips rejects the request if a denied network is ${what}`, async () => {
      const { answer } = await policyOutcome(denied(value), exchangeOf({ connection }));
      assert.deepEqual(answer, { error: "policy_interpolation_failed" });
    });
  }

  it("R4: restrict-ips rejects the request if there are more denied networks than it reads", async () => {
    const { answer } = await policyOutcome(
      denied("${lists.range(900).map(i, '10.0.0.0/8,10.0.0.0/8').join(',')}"),
      exchangeOf({ connection }),
    );
    assert.deepEqual(answer, { error: "policy_limit_reached" });
  });
});

describe("custom-response without a content type", () => {
  const answered = async (body: string, target: string) => {
    const policy = { on_http_request: [{ actions: [{ type: "custom-response", config: { body } }] }] };
    const { answer } = await policyOutcome(policy, exchangeOf({ target }));
    return answer && "headers" in answer ? { ...answer.headers } : {};
  };

  it("custom-response never sends text from a visitor as a page", async () => {
    const headers = await answered("${getQueryParam('challenge')[0]}", "/?challenge=%3Cscript%3Ealert(1)%3C/script%3E");
    assert.equal(headers["content-type"], "text/plain; charset=utf-8");
    assert.equal(headers["x-content-type-options"], "nosniff");
  });

  it("custom-response sends the policy's own HTML as a page, with or without values in it", async () => {
    for (const body of ["<h1>Down</h1>", "<p>${req.method}</p>"]) {
      const headers = await answered(body, "/");
      assert.equal(headers["content-type"], "text/html; charset=utf-8");
      assert.equal(headers["x-content-type-options"], "nosniff");
    }
  });
});
