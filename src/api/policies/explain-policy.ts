/** Evaluates a policy that no object uses yet, with the rules that would run. */
import { policyModuleName } from "../../policy/compile-policy.ts";
import type { CompiledPolicy } from "../../policy/compiled-policy.ts";
import type { Layer } from "../../policy/language/action.ts";
import { startSimulation } from "../../policy/simulate.ts";
import type { Simulated, SimulatedRequest } from "../../policy/simulate.ts";
import type { HeaderPairs } from "../../traffic/header-list.ts";
import type { RequestDescription } from "../../routing/planes/edge-questions.ts";
import { renderSteps } from "../traffic/render-steps.ts";

/** Never throws. If the policy needs something that only an account has, the result contains that. */
export async function explainPolicy(
  policy: CompiledPolicy,
  layer: Layer,
  described: RequestDescription,
  nowMs: number,
): Promise<object> {
  const request: SimulatedRequest = {
    nowMs,
    method: described.method,
    host: described.host,
    target: described.target,
    headers: described.headers,
    body: described.body,
    visitor: described.as,
    client: described.source,
    online: new Map(),
    random: 0.5,
    answer: described.response ?? { status: 200, headers: [["content-type", "text/plain"]], body: "" },
  };
  try {
    const simulation = startSimulation(policy, { layer, host: described.host, port: 443, secrets: {}, keySets: {} });
    if (layer === "http") return ofRequest(await simulation.request(request, true));
    const explanation = await simulation.connection(request, true);
    const outcome = explanation.isClosed ? "denied" : "forwarded";
    return {
      ...nothing,
      outcome,
      forwarded_to: explanation.forwardedTo ?? null,
      steps: renderSteps(explanation.steps),
    };
  } catch (error) {
    const reason = `it cannot be tested here: ${(error as Error).message}`;
    const step = { by: policyModuleName, outcome: "skipped", reason } as const;
    return { ...nothing, outcome: "failed", steps: renderSteps([step]) };
  }
}

const nothing = { status_code: null, forwarded_to: null, request_headers: [], response: null };

function ofRequest({ status, headers, body, upstream, forwardedTo, steps: made }: Simulated): object {
  const last = made.findLast(({ outcome }) => outcome === "denied" || outcome === "answered");
  const isSent = upstream !== undefined || forwardedTo !== undefined;
  return {
    outcome: isSent ? "forwarded" : (last?.outcome ?? "denied"),
    status_code: isSent && last === undefined ? null : status,
    forwarded_to: forwardedTo === undefined ? null : `https://${forwardedTo}`,
    steps: renderSteps(made),
    request_headers: renderHeaders(upstream?.headers ?? []),
    response: { status_code: status, headers: renderHeaders(headers), body: body ?? null },
  };
}

function renderHeaders(pairs: HeaderPairs): readonly object[] {
  return pairs.map(([name, value]) => ({ name, value }));
}
