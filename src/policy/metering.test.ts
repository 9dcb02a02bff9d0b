/**
 * Work chosen by a policy's author or a visitor is charged before it runs. If the budget is used up, the request is
 * rejected.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf } from "../../test/support/exchange.ts";
import { policyOutcome } from "../../test/support/policy-outcome.ts";
import { compilePolicy } from "./compile-policy.ts";

const deny = [{ type: "deny" }];
const rules = (...list: readonly object[]): object => ({ on_http_request: list });
const when = (...expressions: readonly string[]): object => rules({ expressions, actions: deny });
const action = (type: string, config: object): object => ({ actions: [{ type, config }] });
const set = (...vars: readonly object[]): object => action("set-vars", { vars });
/** A list of forty levels that contains each level twice: 2^40 parts in forty steps. */
const shared = set({ a: ["x"] }, ...Array.from({ length: 40 }, () => ({ a: ["${vars.a}", "${vars.a}"] })));
const limit = { name: "a", algorithm: "sliding_window", capacity: 1, rate: "60s", bucket_key: ["vars.a"] };

const parameters = Array.from({ length: 900 }, (_, at) => `k${at}=${at}`).join("&");
const target = `/?${"x&".repeat(3000)}${parameters}&u=${encodeURIComponent("ü".repeat(700))}`;
const headers: readonly (readonly [string, string])[] = [
  ["cookie", "a=1; ".repeat(3000)],
  ["user-agent", "Mozilla ".repeat(1000)],
  ...Array.from({ length: 90 }, (_, at) => [`x-${at}`, "v"] as const),
];

/** More than any of these takes with a limit, and far less than it takes without one. */
const maxMs = 2000;

async function measured<T>(work: () => T | Promise<T>): Promise<T> {
  const before = process.threadCpuUsage();
  const made = await work();
  const { user, system } = process.threadCpuUsage(before);
  assert.ok((user + system) / 1000 < maxMs, `${(user + system) / 1000} ms`);
  return made;
}

const exceeding: Readonly<Record<string, object>> = {
  "encodes a shared list as JSON": rules(shared, { expressions: ["json.encode(vars.a) != ''"], actions: deny }),
  "writes a shared list into a header": rules(shared, action("add-headers", { headers: { x: "${vars.a}" } })),
  "logs a shared list": rules(shared, action("log", { metadata: { x: "${vars.a}" } })),
  "limits rates by a shared list": rules(shared, action("rate-limit", limit)),
  "compares shared lists": rules(shared, {
    expressions: ["vars.a == [[vars.a[0][0], vars.a[0][1]], vars.a[1]]"],
    actions: deny,
  }),
  "formats a shared list": rules(shared, { expressions: ["'%s'.format([vars.a]) == ''"], actions: deny }),
  "flattens a shared list": rules(shared, { expressions: ["vars.a.flatten(60).size() == 1"], actions: deny }),
  "looks for what is distinct in shared lists": rules(shared, {
    expressions: ["[vars.a, [vars.a[1], vars.a[0]]].distinct().size() == 1"],
    actions: deny,
  }),
  "writes a shared list into a query": rules(shared, {
    expressions: ["queryString.encode({'a': vars.a}) == ''"],
    actions: deny,
  }),
  "doubles a list in one expression": when(`json.encode([1]${".map(a,[a,a])".repeat(40)}) == ''`),
  "makes a pattern of its own each time": rules(set({ p: "[ab]{1,99}${req.method}" }), {
    expressions: ["lists.range(900).all(i, 'a'.matches(vars.p + string(i)) || true)"],
    actions: deny,
  }),
  "asks for cookies again and again": when("lists.range(1000).all(k, lists.range(3).all(j, !hasReqCookie('x')))"),
  "searches the user agent again and again": when("lists.range(1000).all(k, req.user_agent.os != 'x')"),
  "goes through all header fields again and again": when("lists.range(1000).all(k, req.headers.all(h, h != ''))"),
  "quotes texts again and again": when("lists.range(100).all(k, strings.quote(req.url) != '')"),
  "makes long lists again and again": when(`lists.range(1000).all(i, [${"i,".repeat(1900)}].size() > 0)`),
  "asks for the first key of a large map": when(
    "lists.range(1000).all(i, json.decode('{' + lists.range(900).map(k, '\"' + string(k) + '\":1').join(',') + '}').exists(k, true))",
  ),
  "makes formats of time zones": when("lists.range(1000).all(i, timestamp(i).getHours('Asia/Kathmandu') >= 0)"),
  "repeats a match in a URL": rules(action("redirect", { from: ".*", to: "$0".repeat(1000) })),
  "looks for arguments in a URL again and again": rules(
    action("redirect", { from: "k", to: "$arg_zzzzzzzz".repeat(150) }),
  ),
  "looks through many rules for what a visitor sends": rules(
    ...Array.from({ length: 20 }, () => ({
      expressions: ["getQueryParam('x').exists(v, v.lower().contains('admin'))"],
      actions: [{ type: "log", config: { metadata: { a: "b" } } }],
    })),
    { expressions: ["req.url.path == '/'"], actions: deny },
  ),
};

describe("work of a traffic policy", () => {
  for (const [what, policy] of Object.entries(exceeding)) {
    it(`D8: a policy that ${what} rejects the request with 503 within its time limit`, async () => {
      const { answer } = await measured(() => policyOutcome(policy, exchangeOf({ target, headers })));
      assert.deepEqual(answer, { error: "policy_limit_reached" });
    });
  }

  it("D8: a policy parses the query once per request, however many rules read it", async () => {
    const asks = "req.url.query_params.all(k, size(k) == 0 || req.url.query_params[k].size() >= 1)";
    const { steps } = await measured(() => policyOutcome(when(`!${asks}`), exchangeOf({ target })));
    assert.match(steps[0]?.reason ?? "", /expression 1 is false/);
  });

  it("D8: a policy's types have a maximum size, so that they can always be checked", async () => {
    for (const expression of [
      `[]${".map(a,{a:a})".repeat(20)} == []`,
      `[1]${".map(a,{a:[a, a]})".repeat(40)} == []`,
      `[{}]${".map(a,{a:a})".repeat(25)}.exists(x, x == {})`,
    ]) {
      const { issues } = await measured(() => compilePolicy(JSON.stringify(when(expression)), "http"));
      assert.ok(issues.length <= 1, JSON.stringify(issues));
    }
    const { issues } = compilePolicy(JSON.stringify(when(`[]${".map(a,{a:a})".repeat(20)} == []`)), "http");
    assert.match(issues[0]?.message ?? "", /takes more steps than it may/);
  });

  it("D7: a policy's regular expressions are measured before they are compiled, and share one budget", async () => {
    const large = when(`req.url.matches('${"[ab]{1,999}".repeat(90)}')`);
    const one = await measured(() => compilePolicy(JSON.stringify(large), "http").issues);
    assert.match(one[0]?.message ?? "", /too large once its repetitions are written out/);
    const expressions = Array.from({ length: 25 }, (_, at) => `'a'.matches('a{9${at + 10}}')`);
    const many = rules(...Array.from({ length: 80 }, () => ({ expressions, actions: deny })));
    const all = await measured(() => compilePolicy(JSON.stringify(many), "http").issues);
    assert.match(all[0]?.message ?? "", /takes more steps than it may/);
  });

  it("D8: a policy's constants are computed at compile time from one budget", async () => {
    const many = rules(
      ...Array.from({ length: 100 }, () => ({
        expressions: Array(14).fill("lists.range(999).sort() == []"),
        actions: deny,
      })),
    );
    await measured(() => compilePolicy(JSON.stringify(many), "http"));
  });

  it("D8: a policy with as many unknown names as possible is rejected with messages for a few of them", async () => {
    const names = Array.from({ length: 250 }, (_, at) => `req.unknown${at}`).join("||");
    const many = rules(...Array.from({ length: 14 }, () => ({ expressions: [names], actions: deny })));
    const { issues } = await measured(() => compilePolicy(JSON.stringify(many), "http"));
    assert.equal(issues.length, 20);
  });

  it("D8: each rule has a separate share of a request's steps", async () => {
    const costly = "lists.range(900).all(a, rand.double() >= 0.0)";
    const one = { expressions: Array(4).fill(costly), actions: [{ type: "log", config: { metadata: { a: "b" } } }] };
    const { answer } = await policyOutcome(rules(one, one, one, { actions: deny }), exchangeOf());
    assert.deepEqual(answer, { status: 403, headers: {}, body: "" });
  });
});
