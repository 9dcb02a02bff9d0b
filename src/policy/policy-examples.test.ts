import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compilePolicy } from "./compile-policy.ts";
import { policyExamples } from "./policy-examples.ts";
import { describePolicyLanguage } from "./language-description.ts";

describe("examples of policies", () => {
  for (const { title, protocols, policy } of policyExamples) {
    for (const layer of protocols) {
      it(`examples of policies compile without a warning: ${title}, ${layer}`, () => {
        const { issues, warnings } = compilePolicy(policy, layer);
        assert.deepEqual([issues, warnings], [[], []]);
      });
    }
  }

  it("the description of the policy language lists the variables of each phase with their types, and none of other phases", () => {
    const { protocols, macros } = describePolicyLanguage();
    const [request, response] = protocols.http;
    assert.deepEqual(
      request?.variables.find(({ name }) => name === "req.url.path"),
      { name: "req.url.path", type: "string" },
    );
    assert.ok(!request.variables.some(({ name }) => name.startsWith("res.")));
    assert.ok(response?.variables.some(({ name }) => name === "res.status_code"));
    assert.deepEqual(request.functions.find(({ name }) => name === "startsWith")?.signatures, [
      "string.startsWith(string) -> bool",
    ]);
    assert.ok(request.actions.includes("rate-limit") && !request.actions.includes("terminate-tls"));
    assert.ok(macros.includes("exists"));
    assert.deepEqual(
      protocols.tcp.map(({ phase }) => phase),
      ["on_tcp_connect"],
    );
  });
});
