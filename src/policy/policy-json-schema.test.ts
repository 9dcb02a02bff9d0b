/** Compares the published schema with the compiler. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { docExamples } from "../../test/support/policy-examples.ts";
import { policyVectors } from "../../test/support/policy-vectors.ts";
import { parseYaml } from "../lib/yaml.ts";
import { actions } from "./actions/index.ts";
import { compilePolicy } from "./compile-policy.ts";
import type { Layer } from "./language/action.ts";
import { policyJsonSchema } from "./policy-json-schema.ts";

const ajv = new Ajv2020({ allErrors: false, strict: true, allowUnionTypes: true });
const validate = ajv.compile(policyJsonSchema());

function isValid(text: string): boolean {
  return validate(parseYaml(text));
}

const layers: readonly Layer[] = ["http", "tls", "tcp"];
const isTaken = (text: string): boolean => layers.some((layer) => compilePolicy(text, layer).issues.length === 0);
const act = (action: string): string => `on_http_request: [{actions: [${action}]}]`;

describe("the JSON Schema of traffic policies", () => {
  for (const { id, policy } of parseYaml(policyVectors()) as readonly { id: string; policy: string }[]) {
    it(`the JSON Schema of traffic policies accepts the vector ${id}`, () => {
      assert.ok(isValid(policy), JSON.stringify(validate.errors));
    });
  }

  for (const { where, text } of docExamples()) {
    it(`the JSON Schema of traffic policies accepts the example of ${where}`, () => {
      assert.ok(isValid(text), JSON.stringify(validate.errors));
    });
  }

  const taken = [
    "enabled: false",
    "on_http_request:",
    "on_http_request: [{name: 7, expressions: null, actions: [{type: deny, config: null}]}]",
    "on_http_request: [{expressions: [true], actions: [{type: deny}]}]",
    "inbound: [{actions: [{type: close-connection}]}]",
    act("{type: basic-auth, config: {credentials: [{username: ann, password: correct horse}]}}"),
    act("{type: basic-auth, config: {credentials: ['ann:correct horse'], enforce: false}}"),
    act("{type: basic-auth, config: {credentials: [{username: 7, password: 12345678}], realm: 1}}"),
    act("{type: add-headers, config: {headers: {a: 1, b: true, c: 1.10}}}"),
    act("{type: verify-webhook, config: {provider: sns, secret: 1}}"),
    act("{type: set-vars, config: {vars: [{a: {b: [1, null, true]}}]}}"),
    act("{type: log, config: {metadata: {a: {b: 1}}}}"),
    act("{type: custom-response, config: {content: hello}}"),
    act(
      "{type: jwt-validation, config: {issuer: {allow_list: [{value: 'https://a.example'}]}, http: {tokens: [{type: jwt, method: header, name: a}]}, jws: {allowed_algorithms: [ES256], keys: [{sources: [{additional_jkus: ['https://a.example/k']}]}]}}}",
    ),
    "on_tcp_connect: [{actions: [{type: terminate-tls, config: {min_version: 1.3}}]}]",
  ];
  for (const text of taken) {
    it(`the JSON Schema of traffic policies accepts what the compiler accepts: ${text.slice(0, 90)}`, () => {
      assert.ok(isTaken(text), JSON.stringify(layers.map((layer) => compilePolicy(text, layer).issues)));
      assert.ok(isValid(text), JSON.stringify(validate.errors));
    });
  }

  const refused = [
    "on_http_respons: []",
    "on_http_request: {actions: {type: deny}}",
    "on_http_request: [{name: a}]",
    "on_http_request: [{actions: []}]",
    "on_http_request: [{if: a, actions: [{type: deny}]}]",
    "on_http_request: [{expressions: 'true', actions: [{type: deny}]}]",
    "on_http_response: [{actions: [{type: deny}]}]",
    "enabled: 1",
    act("{type: add-header}"),
    act("{type: deny, more: 1}"),
    act("{type: deny, config: {status: 403}}"),
    act("{type: deny, config: {status_code: 200}}"),
    act("{type: deny, config: {status_code: '403'}}"),
    act("{type: redirect}"),
    act("{type: redirect, config: {}}"),
    act("{type: circuit-breaker, config: {error_threshold: 2}}"),
    act("{type: rate-limit, config: {name: a, algorithm: leaky, capacity: 1, rate: 60s, bucket_key: [a]}}"),
    act(`{type: add-headers, config: {headers: {${Array.from("abcdefghijk", (name) => `${name}: a`).join()}}}}`),
    act(Array(21).fill("{type: log, config: {metadata: {a: b}}}").join()),
    `on_http_request: [${Array(101).fill("{actions: [{type: deny}]}").join()}]`,
  ];
  for (const text of refused) {
    it(`the JSON Schema of traffic policies rejects what the compiler rejects: ${text.slice(0, 90)}`, () => {
      assert.ok(!isTaken(text));
      assert.ok(!isValid(text));
    });
  }

  it("the JSON Schema of traffic policies lists the alternative forms of every action that has some", () => {
    for (const { type, widen, alsoTakes } of actions) assert.equal(alsoTakes === undefined, widen === undefined, type);
  });

  it("the JSON Schema of traffic policies matches its published copy", () => {
    const published = new URL("../../docs/reference/policy.schema.json", import.meta.url);
    assert.deepEqual(JSON.parse(readFileSync(published, "utf8")), policyJsonSchema());
  });
});
