/** Tests an unsaved policy with a described request. */
import { useContext, useEffect, useState } from "preact/hooks";
import { PosternError, errorCodes } from "../../../../sdk/src/index.ts";
import type { Explanation, PolicyCheck } from "../../../../sdk/src/index.ts";
import { Failure, TextInput } from "../../ui/elements.tsx";
import { explainError, postern } from "../api.ts";
import type { Description } from "../description.ts";
import { Answer } from "../explain.tsx";
import { RequestFields, toDescribedRequest, nothingDescribed } from "../request-form.tsx";
import { PolicyRoute, atTheEdge } from "./at-the-edge.ts";
import { Backtest } from "./backtest.tsx";
import type { Protocol } from "./language.ts";

type PolicyExplanation =
  | Pick<Explanation, "outcome" | "status_code" | "steps">
  | NonNullable<PolicyCheck["explanation"]>;

interface TryProps {
  readonly policy: string;
  readonly protocol: Protocol;
  readonly description: Description;
  readonly isFine: boolean;
}

/** Shows what the current text of the policy would do, at the edge if its route is known. Stores nothing. */
export function TryIt({ policy, protocol, description, isFine }: TryProps) {
  const [described, setDescribed] = useState(nothingDescribed);
  const place = useContext(PolicyRoute);
  const [told, setTold] = useState<PolicyExplanation>();
  const [error, setError] = useState("");
  useEffect(() => setTold(undefined), [policy]);
  const ask = async (): Promise<void> => {
    try {
      const request = protocol === "http" ? toDescribedRequest(described) : sourceOf(described.source);
      const simulate = async (): Promise<PolicyExplanation | undefined> =>
        (await postern.policies.check({ policy, protocol, ...request })).explanation ?? undefined;
      setTold(await (place ? atTheEdge(place, policy, request).catch(orSimulated(simulate)) : simulate()));
      setError("");
    } catch (failure) {
      const { message, fields } = explainError(failure);
      setError([message, ...Object.entries(fields).map(([name, text]) => `${name} ${text}`)].join("; "));
    }
  };
  return (
    <details class="panel">
      <summary>Test with a {protocol === "http" ? "request" : "connection"}</summary>
      <div class="inside column">
        {protocol === "http" ? (
          <RequestFields value={described} onChange={setDescribed} />
        ) : (
          <TextInput
            aria-label="Source address"
            placeholder="from: your own address"
            value={described.source}
            onText={(source) => setDescribed({ ...described, source })}
          />
        )}
        <div class="row">
          <span class="muted small grow">
            {place
              ? "The edge decides, with all modules before and after the policy. No request is sent."
              : "Secrets, IP policies and internal endpoints are not available here. Apply the policy and use Explain to include them."}
          </span>
          <button type="button" disabled={!isFine || policy.trim() === ""} onClick={() => void ask()}>
            Try it
          </button>
        </div>
        <Failure text={error} />
        {place && <Backtest place={place} policy={policy} isFine={isFine} />}
        {told && (
          <section class="column" aria-label="Result of the policy">
            <Answer answer={told} description={description} />
          </section>
        )}
      </div>
    </details>
  );
}

/** Users without full access get a simulation. */
function orSimulated(simulate: () => Promise<PolicyExplanation | undefined>) {
  return (failure: unknown): Promise<PolicyExplanation | undefined> => {
    if (failure instanceof PosternError && failure.code === errorCodes.scope_missing) return simulate();
    throw failure;
  };
}

function sourceOf(source: string): object {
  return source === "" ? {} : { source_ip: source };
}
