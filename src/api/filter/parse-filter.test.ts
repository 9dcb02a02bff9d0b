import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Refusal } from "../../lib/errors.ts";
import { f, notes } from "../../schema/fields.ts";
import { parseFilter } from "./parse-filter.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import { filterEnvironment } from "./filter-types.ts";

const obj = filterEnvironment(
  {
    ...notes,
    active: f.boolean("Active."),
    weight: f.uint32("Weight."),
    hostports: f.list("Hostports.", f.string("One.")),
    labels: f.map("Labels.", f.string("One.")),
    policy: f.ref("Policy.", { to: "ip_policy", input: "policy_id" }),
    policies: f.refList("Policies.", { to: "ip_policy", input: "policy_ids" }),
    hidden: f.refList("Hidden.", { to: "ip_policy", input: "hidden_ids" }, { internal: true }),
    backend: f.object("Backend.", { enabled: f.boolean("On.") }, { nullable: true }),
    password: f.string("Password.", { secret: true }),
  },
  false,
);
const object = {
  id: "x_1",
  uri: "http://localhost/xs/x_1",
  created_at: "2026-01-02T03:04:05Z",
  description: 'the "old" one',
  metadata: "",
  active: true,
  weight: 7,
  hostports: ["a.example.com:443"],
  labels: { app: "web" },
  policy: null,
  policies: [{ id: "ipp_1", uri: "http://localhost/ip_policies/ipp_1" }],
  backend: null,
};

const truths: readonly (readonly [string, boolean])[] = [
  ["true", true],
  ["!obj.active", false],
  ["!!obj.active", true],
  ['obj.description == "the \\"old\\" one"', true],
  ["obj.description != 'x' && obj.weight >= 7", true],
  ["obj.weight < 7 || obj.weight > 7", false],
  ["obj.weight == -7", false],
  ['obj.created_at > "2026-01-01T00:00:00Z"', true],
  ['obj.description.startsWith("the") && obj.description.endsWith("one")', true],
  ['obj.description.contains("\\u006fld")', true],
  ['"a.example.com:443" in obj.hostports', true],
  ['obj.weight in [1, 2, 7] && !(obj.id in ["x_2"])', true],
  ['"app" in obj.labels && obj.labels.app == "web" && obj.labels["app"] == "web"', true],
  ['obj.labels.none == "web"', false],
  ["obj.labels.none == null", true],
  ["obj.policy == null && obj.backend == null", true],
  ['obj.policy.id == "ipp_1"', false],
  ['"ipp_1" in obj.policies && obj.policies.size() == 1', true],
  ["obj.backend.enabled", false],
  ["!obj.backend.enabled", true],
  ["false && true || true", true],
  ["true || false && false", true],
  ["obj.weight == 7.0 && obj.weight < 7.5 && obj.weight in [1, 7.0]", true],
  ["obj.labels['none'] == null && obj['weight'] == 7 && 'ipp_1' in obj['policies']", true],
  ["obj.labels.none < 'x' || size(obj.labels.none) > 0 || obj.backend.enabled", false],
  ["!(obj.labels.none < 'x') && !obj.labels.none.startsWith('')", true],
  ["obj.hostports.exists(one, one.endsWith(':443')) && obj.hostports[0].matches('^a[.]')", true],
  ["obj.hostports[1] == null && obj.hostports.size() + 1 == 2", true],
  ["1 / (obj.weight - 7) == 0", false],
  ["obj.metadata.upperAscii() == '' && obj.hostports.map(one, one.split(':')[0]) == ['a.example.com']", true],
  ["timestamp(obj.created_at).getFullYear() == 2026", true],
  [
    "obj.created_at >= timestamp('2026-01-01T00:00:00Z') && obj.created_at < timestamp('2027-01-01T00:00:00+01:00')",
    true,
  ],
  ["timestamp('2026-01-01T00:00:00Z') > obj.created_at", false],
  ["obj.created_at < timestamp('2026-01-01T00:00:00Z') - duration('24h')", false],
  ["obj.id < timestamp('2026-01-01T00:00:00Z')", false],
];

const refusals: readonly (readonly [string, RegExp])[] = [
  ["", /line 1, column 1: a value must stand here, the expression ends/],
  ["obj.weight", /this must be a bool, it is an int; compare it/],
  ["obj.nothing == 1", /column 5: an object has no field "nothing"; known are: id, uri, created_at/],
  ["obj.wight == 1", /an object has no field "wight"; did you mean "weight"\?/],
  ["obj.password == 'x'", /has no field "password"/],
  ["'x' in obj.hidden", /has no field "hidden"/],
  ["obj.constructor == null", /has no field "constructor"/],
  ["obj.__proto__ == null", /has no field "__proto__"/],
  ["obj.labels.toString.x == null", /a string has no fields, there is ".x"/],
  ['obj.weight == "7"', /column 12: == does not take an int and a string; .* write 7 without quotes/],
  ["obj.hostports == 'a'", /`obj.hostports` is a list of strings; did you mean `obj.hostports\[0\] == 'a'` or/],
  ["1 in obj.hostports", /in does not take an int and a list of strings/],
  ["obj.weight.contains('7')", /an int has no contains\(a string\)/],
  ["obj.description.includes('x')", /no function "includes"; did you mean "contains"\?/],
  ["obj.description.matches('(')", /the regular expression cannot be read/],
  ["other == 1", /there is no "other"/],
  ["obj.active = true", /column 12: "=" cannot stand here; to compare, write `==`/],
  ["obj.active &&", /a value must stand here/],
  ["obj.active true", /an operator or the end must stand here, there is "true"/],
  ["[1, 'a'] == null", /== does not take/],
  ["'\\x'", /unknown escape/],
  [`${"(".repeat(50)}true${")".repeat(50)}`, /nested more than 40 deep/],
  [Array.from({ length: 120 }, () => "true").join("||"), /more than 100 parts/],
  [`obj.id == "${"x".repeat(1000)}"`, /at most 1000 are read/],
];

describe("a filter", () => {
  for (const [text, expected] of truths) {
    it(`a filter: ${text} is ${expected}`, () => assert.equal(parseFilter(text, obj)(object), expected));
  }
  for (const [text, message] of refusals) {
    it(`a filter: ${text.slice(0, 40)} is rejected`, () => {
      assert.throws(
        () => parseFilter(text, obj),
        (error) => {
          assert.ok(error instanceof Refusal && error.reason === "filter_invalid", String(error));
          assert.match(error.message, message);
          return true;
        },
      );
    });
  }

  it("a filter can use nested objects, such as routes of an edge, except their secrets and lists of references", () => {
    const edges = filterEnvironment(resourceNamed("https_edge").fields, false);
    const routeWith = (fields: object): object => ({
      id: "edghtsrt_1",
      oidc: null,
      webhook_verification: null,
      ...fields,
    });
    const hooked = {
      routes: [routeWith({}), routeWith({ webhook_verification: { enabled: true, provider: "github" } })],
    };
    const verifies = parseFilter("obj.routes.exists(route, route.webhook_verification != null)", edges);
    assert.deepEqual(
      [verifies(hooked), verifies({ routes: [routeWith({})] }), verifies({ routes: [] })],
      [true, false, false],
    );
    assert.equal(parseFilter("obj.routes.exists(r, r.webhook_verification.provider == 'github')", edges)(hooked), true);
    assert.equal(
      verifies({ routes: Array.from({ length: 1_000 }, () => routeWith({})) }),
      false,
      "a thousand are few enough",
    );
    for (const text of ["r.webhook_verification.secret == 'x'", "r.ip_restriction.ip_policies.size() > 0"]) {
      assert.throws(() => parseFilter(`obj.routes.exists(r, ${text})`, edges), /has no field/);
    }
  });

  it("a filter that needs too many steps for one object is rejected", () => {
    const accepts = parseFilter("obj.hostports.all(a, obj.hostports.all(b, a.size() + b.size() > 0))", obj);
    assert.equal(accepts(object), true);
    const many = { ...object, hostports: Array.from({ length: 100 }, () => "a") };
    assert.throws(() => accepts(many), /takes more steps than it may on one object/);
  });
});
