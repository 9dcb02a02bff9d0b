/** What a traffic policy names: objects by their ids, such as the IP policies of `restrict-ips`, secrets, providers of logins. */
import { parseYamlObject } from "../lib/yaml.ts";
import type { NamedSecret } from "../schema/fields.ts";
import { phasesOf } from "./phases.ts";
import type { Layer } from "./language/action.ts";
import { surveyPolicy } from "./survey.ts";

/** Everything in the policy that has the form of an id, however it is written; nothing when it cannot be read. */
export function idsInPolicy(text: string): readonly string[] {
  try {
    return JSON.stringify(parseYamlObject(text)).match(/\b[a-z0-9]{1,16}_[0-9a-z]{27}\b/g) ?? [];
  } catch {
    return [];
  }
}

/** What the policy reads by `secrets.get`, whatever it stands on. */
export function secretsInPolicy(text: string): readonly NamedSecret[] {
  return layersWithSecrets(text).flatMap((layer) => surveyPolicy(text, layer).secrets);
}

/** The layers that `secretsInPolicy` looks at. */
export function layersWithSecrets(text: string): readonly Layer[] {
  if (!/\bsecrets\b/.test(text) && !text.includes("\\")) return [];
  return Object.keys(phasesOf) as Layer[];
}

/** Addresses of identity providers that the policy, which stands on routes or endpoints of HTTP, sends visitors to or reads. */
export function providersInPolicy(text: string): readonly string[] {
  if (!/https?:/i.test(text)) return [];
  return surveyPolicy(text, "http").providers;
}
