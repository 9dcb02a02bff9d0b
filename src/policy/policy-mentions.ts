/**
 * Names in a traffic policy: ids of objects, such as the IP policies of `restrict-ips`, secrets, and providers of
 * logins.
 */
import { parseYamlObject } from "../lib/yaml.ts";
import type { NamedSecret } from "../schema/fields.ts";
import { phasesOf } from "./phases.ts";
import type { Layer } from "./language/action.ts";
import { surveyPolicy } from "./survey.ts";

/**
 * Returns every text in the policy that has the form of an id, in any position. Returns none if the policy is
 * unreadable.
 */
export function idsInPolicy(text: string): readonly string[] {
  try {
    return JSON.stringify(parseYamlObject(text)).match(/\b[a-z0-9]{1,16}_[0-9a-z]{27}\b/g) ?? [];
  } catch {
    return [];
  }
}

/** Returns the secrets that the policy reads with `secrets.get`, on any layer. */
export function secretsInPolicy(text: string): readonly NamedSecret[] {
  return layersWithSecrets(text).flatMap((layer) => surveyPolicy(text, layer).secrets);
}

/** Returns the layers that `secretsInPolicy` checks. */
export function layersWithSecrets(text: string): readonly Layer[] {
  if (!/\bsecrets\b/.test(text) && !text.includes("\\")) return [];
  return Object.keys(phasesOf) as Layer[];
}

/**
 * Returns addresses of identity providers that the policy sends visitors to or reads, for policies on HTTP routes or
 * endpoints.
 */
export function providersInPolicy(text: string): readonly string[] {
  if (!/https?:/i.test(text)) return [];
  return surveyPolicy(text, "http").providers;
}
