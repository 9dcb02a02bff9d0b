import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Refusal } from "../../lib/errors.ts";
import { f, notes } from "../../schema/fields.ts";
import { parseFilter } from "./parse.ts";
import { typeOfObject } from "./types.ts";

const obj = typeOfObject(
  {
    ...notes,
    active: f.boolean("Active."),
    weight: f.uint32("Weight."),
    hostports: f.list("Hostports.", f.string("One.")),
    labels: f.map("Labels.", f.string("One.")),
    policy: f.ref("Policy.", { to: "ip_policy", input: "policy_id" }),
    policies: f.refList("Policies.", { to: "ip_policy", input: "policy_ids" }),
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
];

const refusals: readonly (readonly [string, RegExp])[] = [
  ["", /must have a value at character 1, it ends/],
  ["obj.weight", /must say true or false/],
  ["obj.nothing == 1", /unknown field "nothing".*known are: id, uri, created_at/],
  ["obj.password == 'x'", /unknown field "password"/],
  ["obj.constructor == null", /unknown field "constructor"/],
  ["obj.labels.toString.x == null", /cannot select/],
  ['obj.weight == "7"', /cannot compare a number with a string/],
  ["obj.hostports == obj.hostports", /cannot compare a list with a list/],
  ["1 in obj.hostports", /cannot look for a number in a list/],
  ["obj.weight.contains('7')", /cannot use "contains"/],
  ["obj.description.matches('(a+)+$')", /unknown function "matches"/],
  ["other == 1", /knows only "obj"/],
  ["obj.active = true", /cannot be read at character 11/],
  ["obj.active &&", /must have a value/],
  ["obj.active true", /must have &&, \|\| or the end/],
  ["[1, 'a'] == null", /values of one type/],
  ["'\\x'", /unknown escape/],
  [`${"(".repeat(30)}true${")".repeat(30)}`, /nested at most 20 deep/],
  [Array.from({ length: 120 }, () => "true").join("||"), /at most 100 parts/],
  [`obj.id == "${"x".repeat(1000)}"`, /at most 1000 characters/],
];

describe("a filter", () => {
  for (const [text, expected] of truths) {
    it(`${text} is ${expected}`, () => assert.equal(parseFilter(text, obj)(object), expected));
  }
  for (const [text, message] of refusals) {
    it(`${text.slice(0, 40)} is refused`, () => {
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
});
