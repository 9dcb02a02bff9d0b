/** Names the changes of a dry run, so that a later write makes exactly these changes or none. */
import { createHash } from "node:crypto";
import { Refusal } from "../../lib/errors.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Call } from "../operation/call.ts";
import { readOnce } from "../objects/page-query.ts";
import type { ObjectChange } from "./change-set.ts";

/** The query parameter of a write that makes only the changes of a plan. */
export const planQuery = ["plan"] as const;

export const planHashSchema: JsonSchema = {
  type: "string",
  description: "Names the changes. A write with this value as `plan` makes exactly these changes, or none.",
};

/** Length of a hash, hexadecimal digits. */
const digits = 32;

/**
 * Returns a hash of the account, the request and its changes. The hash does not depend on the key, on unrelated objects
 * or on ids that a dry run gives to new objects.
 * @param changes as a key without `secrets` sees them
 */
export function planHash(call: Pick<Call, "principal">, request: unknown, changes: readonly ObjectChange[]): string {
  const created = changes.flatMap(({ action, id }) => (action === "create" && id !== "" ? [id] : []));
  let text = JSON.stringify(sortMembers([call.principal.accountId, request, changes.map(withoutUri)]));
  for (const [at, id] of created.entries()) text = text.replaceAll(id, `new ${at}`);
  return createHash("sha256").update(text).digest("hex").slice(0, digits);
}

/** Throws `Refusal` if the call names a plan with another hash. */
export function checkPlan(call: Call, hash: () => string): void {
  const wanted = readOnce(call, "plan");
  if (wanted === undefined) return;
  if (!new RegExp(`^[0-9a-f]{${digits}}$`).test(wanted)) {
    throw new Refusal("query_invalid", `${call.operation.id}: "plan" must be the hash of a plan, ${digits} digits`);
  }
  if (wanted !== hash()) {
    throw new Refusal("plan_stale", `${call.operation.id}: the changes are no longer those of plan ${wanted}`);
  }
}

function withoutUri({ uri: _uri, ...change }: ObjectChange): object {
  return change;
}

/** Returns a copy whose objects have their members in alphabetical order. */
function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, item]) => [name, sortMembers(item)]));
}
