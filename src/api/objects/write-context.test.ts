import assert from "node:assert/strict";
import { it } from "node:test";
import type { Call } from "../operation/call.ts";
import { readScopes } from "../operation/scope.ts";
import { judgeOf } from "./write-context.ts";

function callOf(scopes: readonly string[], judge?: () => void): Call {
  const scope = readScopes(scopes);
  const principal = { accountId: "acct", id: "ak", operator: false, ...(scope && { scope }) };
  return { operation: { id: "applyDocument" }, principal, ...(judge && { judge }) } as unknown as Call;
}

it("a write by a key limited to some objects fails without a judge", () => {
  for (const scope of ["metadata:team", "type:ip_policy"]) {
    assert.throws(() => judgeOf(callOf([scope])), /applyDocument: the key's scopes cover only some objects/);
    const judge = (): void => {};
    assert.equal(judgeOf(callOf([scope], judge)), judge);
  }
});

it("a write by a key that may see every object needs no judge", () => {
  for (const scopes of [[], ["write"], ["secrets"]]) assert.equal(judgeOf(callOf(scopes)), undefined);
});
