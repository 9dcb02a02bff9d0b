import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { policyVectors } from "../../test/support/policy-vectors.ts";
import { parseYaml } from "../lib/yaml.ts";
import { formatPolicy } from "./format-policy.ts";
import type { Layer } from "./language/action.ts";

function formatted(text: string, layer: Layer = "http"): string {
  const given = formatPolicy(text, layer);
  assert.ok(typeof given === "string", JSON.stringify(given));
  return given;
}

describe("formatting traffic policies", () => {
  for (const { id, policy } of parseYaml(policyVectors()) as readonly { id: string; policy: string }[]) {
    it(`formatting traffic policies changes only the form, and a second run changes nothing: ${id}`, () => {
      const layer = id === "V19" ? "tcp" : "http";
      const once = formatted(policy, layer);
      assert.equal(formatted(once, layer), once);
      const names = (text: string): string => JSON.stringify(parseYaml(text)).replaceAll(/[{}[\],"]/g, "\n");
      const sorted = (text: string): string[] => text.split("\n").sort();
      const present = names(policy)
        .replace("inbound", "on_http_request")
        .replace("outbound", "on_http_response")
        .replace("content", id === "V18" ? "body" : "content");
      assert.deepEqual(sorted(names(once)), sorted(present));
    });
  }

  const rows: readonly (readonly [what: string, before: string, after: string, layer?: Layer])[] = [
    [
      "old names of phases by protocol",
      "inbound: [{actions: [{type: deny}]}]",
      "on_tcp_connect: [{ actions: [{ type: deny }] }]\n",
      "tcp",
    ],
    [
      "old names of variables wherever expressions are",
      "on_http_request: [{expressions: ['has(conn.Geo.City) && (req.Headers[\"a\"][0] == req.Method)'], actions: [{type: set-vars, config: {vars: [{a: ['${req.Method} and ${ req.Method }']}]}}, {type: rate-limit, config: {name: a, algorithm: sliding_window, capacity: 1, rate: 60s, bucket_key: [conn.ClientIP]}}]}]",
      "on_http_request: [{ expressions: ['has(conn.geo.city) && (req.headers[\"a\"][0] == req.method)'], actions: [{ type: set-vars, config: { vars: [{ a: ['${req.method} and ${ req.method }'] }] } }, { type: rate-limit, config: { name: a, algorithm: sliding_window, capacity: 1, rate: 60s, bucket_key: [conn.client_ip] } }] }]\n",
    ],
    [
      "no texts that only look like old names",
      "on_http_request: [{expressions: [\"req.Method == 'req.Method'\"], actions: [{type: custom-response, config: {body: 'req.Method $${req.Method}'}}]}]",
      "on_http_request: [{ expressions: [\"req.method == 'req.Method'\"], actions: [{ type: custom-response, config: { body: 'req.Method $${req.Method}' } }] }]\n",
    ],
  ];
  for (const [what, before, after, layer] of rows) {
    it(`formatting traffic policies handles ${what}`, () => assert.equal(formatted(before, layer), after));
  }

  it("formatting traffic policies preserves multi-line texts, and JSON", () => {
    const text =
      "on_http_request:\n  - actions:\n      - type: custom-response\n        config:\n          body: |\n            one\n            two\n";
    assert.equal(formatted(text), text);
    const json = { on_http_request: [{ actions: [{ type: "deny" }] }] };
    assert.equal(formatted(JSON.stringify(json)), `${JSON.stringify(json, undefined, 2)}\n`);
  });
});
