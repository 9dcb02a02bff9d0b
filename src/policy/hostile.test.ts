/**
 * Hostile policies and requests: policies that are rejected when they are stored, and effects that traffic must never
 * have.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf } from "../../test/support/exchange.ts";
import { makeManualClock } from "../../test/support/clock.ts";
import { seededRandom } from "../../test/support/random.ts";
import type { Random } from "../../test/support/random.ts";
import type { Exchange } from "../traffic/exchange.ts";
import type { Step } from "../traffic/step.ts";
import { compilePolicy } from "./compile-policy.ts";
import { policyHooks } from "./hooks.ts";
import { defaultPolicyServices, ruleSteps } from "./language/policy-context.ts";

const rules = (...list: readonly object[]): string => JSON.stringify({ on_http_request: list });
const answers = (body: string): object => ({ actions: [{ type: "custom-response", config: { body } }] });

/** Runs both phases of HTTP. Rejects if a hook throws. */
async function run(text: string, exchange: Exchange = exchangeOf(), random: () => number = Math.random) {
  const { policy, issues } = compilePolicy(text, "http");
  assert.deepEqual(issues, []);
  const kept = new Map<string, unknown>();
  const hooks = policyHooks(policy, {
    accountId: "ac_1",
    ownerId: "edghtsrt_1",
    endpoint: { id: "edghtsrt_1", protocol: "https" },
    clock: makeManualClock(),
    services: { ...defaultPolicyServices, random },
    keep<T>(key: string, make: () => T): T {
      if (!kept.has(key)) kept.set(key, make());
      return kept.get(key) as T;
    },
    ipPolicy() {
      throw new Error("there is none");
    },
    authority() {
      throw new Error("there is none");
    },
    login() {
      throw new Error("there is none");
    },
  });
  const asked = (await hooks.request?.(exchange)) as Step | undefined;
  const answered = asked?.answer ? undefined : ((await hooks.response?.(exchange)) as Step | undefined);
  return { asked, answered };
}

const bodyOf = (step: Step | undefined): unknown =>
  step?.answer && "body" in step.answer
    ? step.answer.body
    : step?.answer && "error" in step.answer && step.answer.error;

describe("a hostile policy", () => {
  it("D8: a hostile policy that is too deep or too large is rejected with a message, and breaks nothing", () => {
    const deep = (open: string, close: string, count: number): string => open.repeat(count) + close.repeat(count);
    const expression = (source: string): string => rules({ expressions: [source], ...answers("x") });
    for (const text of [
      expression(deep("(", ")", 2000)),
      expression(`${deep("[", "]", 2000)} == []`),
      expression(Array.from({ length: 1500 }, () => "1").join("+")),
      expression(`"${"a".repeat(5000)}" == ""`),
      expression('req.url.path.matches("(a{1000}){1000}")'),
      expression(`req.${"a.".repeat(1500)}a == 1`),
      deep('{"a":', "}", 20_000),
      deep("[", "]", 20_000),
      `on_http_request: &a [*a]`,
      `on_http_request: ${"[".repeat(500)}`,
      rules(...Array.from({ length: 101 }, () => answers("x"))),
      rules({ actions: Array.from({ length: 21 }, () => ({ type: "log", config: { metadata: {} } })) }),
      rules(answers("${".repeat(500))),
      rules({ actions: [{ type: "set-vars", config: { vars: [{ a: JSON.parse(deep("[", "]", 12)) as unknown }] } }] }),
      "\0",
      "\u{feff}",
      "null",
      "[]",
      "!!js/function x",
      "a: *b",
      "__proto__: {}",
      '{"__proto__": {"on_http_request": []}}',
      '{"constructor": []}',
      '{"on_http_request": [{"__proto__": 1, "actions": []}]}',
      rules({ actions: [{ type: "__proto__" }] }, { actions: [{ type: "constructor" }, { type: "toString" }] }),
    ]) {
      const { issues } = compilePolicy(text, "http");
      assert.ok(issues.length > 0 && issues.length <= 20, text.slice(0, 80));
      for (const { message } of issues) assert.ok(message.length < 2000, text.slice(0, 80));
    }
  });

  it("D8: a hostile policy cannot reach a prototype by any name", async () => {
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "prototype", "valueOf"];
    const headers = Object.fromEntries(names.map((name) => [name, "given"]));
    const target = `/?${names.map((name) => `${name}=given`).join("&")}`;
    for (const name of names) {
      for (const of of [
        "vars",
        "actions.ngrok.jwt_validation.tokens",
        "json.decode('{}')",
        "req.headers",
        "req.cookies",
      ]) {
        const reads = rules({ expressions: [`has(${of}.${name})`], ...answers("reached") });
        if (compilePolicy(reads, "http").issues.length > 0) continue;
        assert.equal((await run(reads)).asked?.answer, undefined, `${of}.${name}`);
      }
      const shown = rules(answers(`\${req.headers['${name}'][0]} \${req.url.query_params['${name}'][0]}`));
      assert.equal(bodyOf((await run(shown, exchangeOf({ headers, target }))).asked), "given given");
    }
    const set = rules({
      actions: [
        { type: "set-vars", config: { vars: [{ a: '${json.decode(\'{"__proto__": {"b": 1}, "c": 2}\')}' }] } },
        { type: "custom-response", config: { body: "${vars.a.c} ${has(vars.a.b)}" } },
      ],
    });
    assert.equal(bodyOf((await run(set)).asked), "2 false");
    for (const name of names) {
      const text = JSON.stringify({
        on_http_request: [
          {
            actions: [
              { type: "set-vars", config: { vars: [{ NAME: { inner: "set" } }] } },
              {
                type: "custom-response",
                config: { body: `\${has(vars.NAME) ? vars.NAME.inner : 'lost'} \${has(vars.inner)}` },
              },
            ],
          },
        ],
      });
      const named = text.replaceAll("NAME", name);
      if (compilePolicy(named, "http").issues.length > 0) assert.equal(name, "__proto__", "it is refused");
      else assert.equal(bodyOf((await run(named)).asked), "set false", name);
    }
    assert.equal(({} as Record<string, unknown>)["b"], undefined);
  });

  it("D8: a hostile policy has a limited number of steps per request, shared by all of its rules", async () => {
    let calls = 0;
    const costly = "lists.range(900).all(a, rand.double() >= 0.0) && lists.range(900).all(a, rand.double() >= 0.0)";
    const many = Array.from({ length: 100 }, () => ({
      expressions: Array.from({ length: 5 }, () => costly),
      ...answers("no"),
    }));
    const never = many.map((rule) => ({ ...rule, expressions: [...rule.expressions, "false"] }));
    const { asked } = await run(rules(...never), exchangeOf(), () => {
      calls += 1;
      return 0.5;
    });
    assert.deepEqual(asked?.answer, { error: "policy_limit_reached" });
    assert.ok(calls > 1000 && calls <= ruleSteps, String(calls));
    const few = never.map((rule) => ({ ...rule, expressions: ["false", costly] }));
    assert.equal((await run(rules(...few))).asked?.answer, undefined);
  });

  it("D8: a hostile policy cannot produce unlimited text, and its notes have a maximum size", async () => {
    const twice = rules(answers("${req.headers['x'][0]}${req.headers['x'][0]}"));
    const of = (length: number): Exchange => exchangeOf({ headers: { x: "a".repeat(length) } });
    assert.equal(bodyOf((await run(twice, of(30_000))).asked), "a".repeat(60_000));
    assert.equal(bodyOf((await run(twice, of(40_000))).asked), "policy_limit_reached");
    const log = { type: "log", config: { metadata: { a: "${req.method}" } } };
    const logging = { actions: Array.from({ length: 20 }, () => log) };
    const exchange = exchangeOf();
    await run(rules(logging, logging), exchange);
    assert.equal(exchange.logs?.length, 20);
  });

  it("P4: a hostile request cannot inject anything into a message through values written into it", async () => {
    const evil = "a\r\nx-evil: 1\r\n\r\n<script>\0";
    const target = `/?v=${encodeURIComponent(evil)}`;
    const value = "${getQueryParam('v')[0]}";
    const at = (type: string, config: object): string => rules({ actions: [{ type, config }] });
    for (const text of [
      at("add-headers", { headers: { "x-a": value } }),
      at("custom-response", { body: "", headers: { "x-a": value } }),
      at("redirect", { to: "/x", headers: { "x-a": value } }),
      at("http-request", { url: "https://a.internal/", headers: { "x-a": value } }),
    ]) {
      const exchange = exchangeOf({ target });
      const { asked } = await run(text, exchange);
      assert.equal(bodyOf(asked), "policy_interpolation_failed", text);
      assert.ok(!exchange.request.headers.has("x-a"));
    }
    for (const type of ["redirect", "url-rewrite"]) {
      const exchange = exchangeOf({ target });
      const { asked } = await run(at(type, { from: ".*", to: `https://b.example/${value}` }), exchange);
      const { path, query } = exchange.request;
      const location = asked?.answer && "headers" in asked.answer ? asked.answer.headers : {};
      assert.doesNotMatch(path + query + JSON.stringify(location ?? {}), /[\r\n\0]|\\r|\\n/, type);
    }
  });

  it("a hostile policy of random rules never throws into traffic, and always reports its end", async () => {
    let ran = 0;
    for (let seed = 0; seed < 400; seed += 1) {
      const random = seededRandom(seed);
      const text = JSON.stringify({
        on_http_request: Array.from({ length: 1 + random.below(3) }, () => randomRule(random, requestActions)),
        on_http_response: Array.from({ length: random.below(3) }, () => randomRule(random, responseActions)),
      });
      const { issues } = compilePolicy(text, "http");
      for (const { message, path } of issues) assert.ok(message !== "" && path !== undefined, text);
      if (issues.length > 0) continue;
      const exchange = exchangeOf({
        method: random.pick(["GET", "POST"]),
        target: random.pick(["/", "/a?b=1&b=2", "/%ff?%", `/${"x".repeat(5000)}`]),
        headers: random.pick([{}, { "content-encoding": "gzip" }, { authorization: "Basic %%%" }, { cookie: "=;;a" }]),
        body: random.pick(["", "a".repeat(3000), Buffer.from([0xff, 0xfe])]),
        response: { headers: random.pick([{}, { "content-type": "text/event-stream" }]), body: "secret" },
      });
      ran += 1;
      await assert.doesNotReject(run(text, exchange), text);
      for (const { reason, by } of exchange.steps) assert.ok(by !== "" && reason !== "", text);
    }
    assert.ok(ran > 80, String(ran));
  });
});

const expressions = [
  "true",
  "req.headers['x'][0] == 'a'",
  "1 / size(req.url.query) > 0",
  "int(req.url.query) == 9223372036854775807 + size(req.method)",
  "timestamp(req.url.path) > timestamp(time.now)",
  "json.decode(req.url.path).a.b.c == 1",
  "req.url.path.matches(req.url.query)",
  "base64.decode(req.url.path) == b'a'",
  "req.url.path.split('')[70] == 'x'",
  "hash.sha256(req.url.path.decodeBase64()) != ''",
  "inCidrRange(req.url.path, req.url.query)",
  "'%s %d'.format([req.url.path, req.url.path]) == ''",
  "[1, 2].map(a, a / (a - 1)).size() > 0",
  "url.parse(req.url.path).host == ''",
];
const values = ["", "a", "${req.url.path}", "${1/0}", "${json.decode('{')}", "$${", "${req.headers}", "${vars.none}"];
const requestActions: readonly ((value: string) => object)[] = [
  (value) => ({ type: "add-headers", config: { headers: { "x-a": value } } }),
  (value) => ({ type: "set-vars", config: { vars: [{ a: value }] } }),
  (value) => ({ type: "log", config: { metadata: { a: { b: [value] } } } }),
  (value) => ({ type: "redirect", config: { from: value, to: value } }),
  (value) => ({ type: "url-rewrite", config: { from: "(.*)", to: `${value}$1$2` } }),
  (value) => ({ type: "restrict-ips", config: { allow: [value], enforce: false } }),
  (value) => ({ type: "basic-auth", config: { credentials: [`a:${value}12345678`] } }),
  (value) => ({ type: "request-body-find-replace", config: { replacements: [{ from: value || "a", to: "$1$0" }] } }),
  (value) => ({ type: "http-request", config: { url: `https://a.internal/${value}`, body: value } }),
  (value) => ({ type: "forward-internal", config: { url: `https://${value}.internal`, on_error: "continue" } }),
  (value) => ({ type: "verify-webhook", config: { provider: "github", secret: value } }),
  (value) => ({
    type: "rate-limit",
    config: {
      name: "a",
      algorithm: "sliding_window",
      capacity: 1,
      rate: "60s",
      bucket_key: [`'${value.replaceAll("'", "")}'`],
    },
  }),
  (value) => ({ type: "custom-response", config: { body: value } }),
  () => ({ type: "deny" }),
];
const responseActions: readonly ((value: string) => object)[] = [
  ...requestActions.slice(0, 3),
  (value) => ({ type: "response-body-find-replace", config: { replacements: [{ from: value || "a", to: value }] } }),
  () => ({ type: "compress-response" }),
  () => ({ type: "remove-headers", config: { headers: ["x-a"] } }),
];

function randomRule(random: Random, actions: readonly ((value: string) => object)[]): object {
  return {
    ...(random() < 0.6 && { expressions: [random.pick(expressions)] }),
    actions: [random.pick(actions)(random.pick(values)), random.pick(actions)(random.pick(values))],
  };
}
