/**
 * What a question for a tunnel may ask for beside its options. What is not offered here is refused by name: an agent
 * whose wish is left out silently would publish something other than it was told to.
 */
import { Refusal } from "../lib/errors.ts";
import { member } from "./json-message.ts";
import type { JsonObject } from "./json-message.ts";

/** Members that are read, in lower case. */
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

/** Where an endpoint is reached by everybody who reaches the server; the others need networks that are not here. */
const publicBinding = "public";
/** Reached by the account's own traffic policies. */
const internalBinding = "internal";

/** Throws `agent_option_unsupported` for a member of `holder` that asks for something and that nobody reads. */
export function demandKnown(holder: JsonObject, kind: keyof typeof known): void {
  for (const [name, value] of Object.entries(holder)) {
    if (known[kind].has(name.toLowerCase()) || asksNothing(value)) continue;
    throw unsupported(name, "it is unknown here");
  }
}

/** Throws `agent_option_unsupported` for what the `Extra` of a bind asks for and is not done. */
export function demandDone(extra: JsonObject): void {
  demandKnown(extra, "extra");
  const bindings = member(extra, "Bindings");
  if (!asksNothing(bindings)) {
    const listed: readonly unknown[] = Array.isArray(bindings) ? bindings : [bindings];
    const other = listed.find((one) => one !== publicBinding && one !== internalBinding);
    if (other !== undefined) {
      throw unsupported(
        "Bindings",
        `${JSON.stringify(other).slice(0, 100)} is not supported, only "${publicBinding}" and "${internalBinding}"`,
      );
    }
  }
  const pooling = member(extra, "PoolingEnabled");
  if (!asksNothing(pooling) && pooling !== true) throw unsupported("PoolingEnabled", "it must be true or false");
  if (!asksNothing(member(extra, "IPPolicyRef"))) {
    throw unsupported("IPPolicyRef", "send the networks in IPRestriction, or configure the policy on an edge's route");
  }
}

/** What agents send where nothing is wanted. */
function asksNothing(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === "" || value === false || value === 0;
}

function unsupported(name: string, why: string): Refusal {
  return new Refusal("agent_option_unsupported", `open or change a tunnel with "${name.slice(0, 100)}": ${why}`);
}

/** Whether the bindings that it asks for have this one. */
export function isBoundTo(extra: JsonObject, binding: typeof publicBinding | typeof internalBinding): boolean {
  const bindings = member(extra, "Bindings");
  return (Array.isArray(bindings) ? (bindings as readonly unknown[]) : [bindings]).includes(binding);
}
