/** The effect of a policy on a request and its response, without an edge. */
import assert from "node:assert/strict";
import type { Answer, Step } from "../../src/traffic/step.ts";
import type { Exchange } from "../../src/traffic/exchange.ts";
import { compilePolicy } from "../../src/policy/compile-policy.ts";
import { policyHooks } from "../../src/policy/hooks.ts";
import { defaultPolicyServices } from "../../src/policy/language/policy-context.ts";
import type { PolicyServices } from "../../src/policy/language/policy-context.ts";
import { makeManualClock } from "./clock.ts";

export interface PolicyOutcome {
  /** The policy's own response, in the request phase or the response phase; undefined if the request is forwarded. */
  readonly answer: Answer | undefined;
  readonly steps: readonly Step[];
}

/** Runs the request phase. If the request got no response there, also runs the response phase. */
export async function policyOutcome(
  policy: object,
  exchange: Exchange,
  services: Partial<PolicyServices> = {},
  isRehearsal = false,
): Promise<PolicyOutcome> {
  const { policy: compiled, issues } = compilePolicy(JSON.stringify(policy), "http");
  assert.deepEqual(issues, []);
  const none = (): never => assert.fail("the account has nothing");
  const hooks = policyHooks(compiled, {
    accountId: "ac_1",
    ownerId: "edghtsrt_1",
    endpoint: { id: "edghtsrt_1", protocol: "https" },
    clock: makeManualClock(),
    services: { ...defaultPolicyServices, ...services },
    keep: (_key, make) => make(),
    ipPolicy: none,
    authority: none,
    login: none,
  });
  const asked = await (isRehearsal ? hooks.rehearse : hooks.request)?.(exchange);
  if (asked?.answer) return { answer: asked.answer, steps: exchange.steps };
  const after = exchange.response && (await (isRehearsal ? hooks.rehearseResponse : hooks.response)?.(exchange));
  return { answer: after?.answer, steps: exchange.steps };
}
