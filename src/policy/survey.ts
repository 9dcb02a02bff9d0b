/** Facts about a policy's text, without running it. Compiling takes long, so results are cached. */
import { hash } from "node:crypto";
import { Lru } from "../lib/collections/lru.ts";
import type { NamedSecret } from "../schema/fields.ts";
import type { PolicyCompilation } from "./compile-policy.ts";
import { endsTls } from "./hooks.ts";
import type { Layer } from "./language/action.ts";
import { compileShared } from "./prepared.ts";

export interface PolicySurvey extends Pick<PolicyCompilation, "issues" | "warnings" | "steps"> {
  readonly secrets: readonly NamedSecret[];
  /** Whether it has rules for connections. */
  readonly hasConnectPhase: boolean;
  /** Whether a rule without expressions ends every request or connection. */
  readonly isCertainToEnd: boolean;
  readonly endsTls: boolean;
  /** Addresses of the providers at which its visitors log in. */
  readonly providers: readonly string[];
}

/** More than a document can hold. */
const maxKept = 12_000;
const kept = new Lru<string, PolicySurvey>(maxKept);

export function surveyPolicy(text: string, layer: Layer): PolicySurvey {
  const key = `${layer} ${hash("sha256", text, "base64")}`;
  const known = kept.get(key);
  if (known) return known;
  const survey = makeSurvey(compileShared(text, layer), layer);
  kept.set(key, survey);
  return survey;
}

function makeSurvey({ policy, issues, warnings, secrets, steps }: PolicyCompilation, layer: Layer): PolicySurvey {
  const { phases, enabled } = policy;
  const rules = phases[layer === "http" ? "on_http_request" : "on_tcp_connect"] ?? [];
  const logins = Object.values(phases)
    .flat()
    .flatMap(({ actions }) => actions.flatMap(({ compiled }) => compiled.login ?? []));
  return {
    issues,
    warnings,
    steps,
    secrets,
    hasConnectPhase: phases.on_tcp_connect !== undefined,
    isCertainToEnd:
      enabled &&
      rules.some(
        ({ expressions, actions }) =>
          expressions.length === 0 &&
          actions.some(
            ({ declaration, compiled }) => declaration.terminating === "always" || compiled.isFinal === true,
          ),
      ),
    endsTls: endsTls(phases.on_tcp_connect ?? []),
    providers: logins.map(({ address }) => address).filter((address) => address !== ""),
  };
}
