/**
 * Checks the additional fields of a tunnel request. Unsupported fields are refused by name. If they were ignored, an
 * agent would publish something other than the user requested.
 */
import { Refusal } from "../lib/errors.ts";
import { readMember } from "./json-message.ts";
import type { JsonObject } from "./json-message.ts";

/** Known members, in lower case. */
const known = {
  bind: new Set(["id", "proto", "forwardsto", "forwardsproto", "opts", "extra"]),
  extra: new Set([
    "token",
    "metadata",
    "name",
    "description",
    "bindings",
    "poolingenabled",
    "ippolicyref",
    "requesttimes",
  ]),
  patch: new Set(["tunnelid", "name", "description", "metadata", "trafficpolicy", "poolingenabled"]),
  labelled: new Set(["labels", "forwardsto", "forwardsproto", "metadata", "proxyproto", "requesttimes"]),
} as const;

/**
 * Binding of endpoints that every client of the server can reach. Other bindings need networks that Postern does not
 * have.
 */
const publicBinding = "public";
/** Binding of endpoints that only the account's own traffic policies can reach. */
const internalBinding = "internal";

/** Throws `agent_option_unsupported` if an unknown member of `holder` has a value. */
export function requireKnown(holder: JsonObject, kind: keyof typeof known): void {
  for (const [name, value] of Object.entries(holder)) {
    if (known[kind].has(name.toLowerCase()) || isDefaultValue(value)) continue;
    throw refuseField(name, "it is unknown here");
  }
}

/** Throws `agent_option_unsupported` for unsupported values in the `Extra` of a bind. */
export function requireSupported(extra: JsonObject): void {
  requireKnown(extra, "extra");
  const bindings = readMember(extra, "Bindings");
  if (!isDefaultValue(bindings)) {
    const listed: readonly unknown[] = Array.isArray(bindings) ? bindings : [bindings];
    const other = listed.find((one) => one !== publicBinding && one !== internalBinding);
    if (other !== undefined) {
      throw refuseField(
        "Bindings",
        `${JSON.stringify(other).slice(0, 100)} is not supported, only "${publicBinding}" and "${internalBinding}"`,
      );
    }
  }
  const pooling = readMember(extra, "PoolingEnabled");
  if (!isDefaultValue(pooling) && pooling !== true) throw refuseField("PoolingEnabled", "it must be true or false");
  if (!isDefaultValue(readMember(extra, "IPPolicyRef"))) {
    throw refuseField("IPPolicyRef", "send the networks in IPRestriction, or configure the policy on an edge's route");
  }
}

/** Whether agents send the value by default. */
function isDefaultValue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === "" || value === false || value === 0;
}

function refuseField(name: string, why: string): Refusal {
  return new Refusal("agent_option_unsupported", `open or change a tunnel with "${name.slice(0, 100)}": ${why}`);
}

/** Whether the requested bindings include this one. */
export function isBoundTo(extra: JsonObject, binding: typeof publicBinding | typeof internalBinding): boolean {
  const bindings = readMember(extra, "Bindings");
  return (Array.isArray(bindings) ? (bindings as readonly unknown[]) : [bindings]).includes(binding);
}
