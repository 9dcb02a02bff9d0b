/** The refusals of each operation, derived from its place in the table, its fields, and its resource's rules. */
import type { RefusalName } from "../../lib/errors.ts";
import type { Field, Fields } from "../../schema/fields.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Operation } from "./call.ts";

/** Refusals of any request, before or independent of its operation. */
export const anyRefusals: readonly RefusalName[] = [
  ...(["internal", "bad_request", "request_timeout", "headers_too_large", "expectation_failed"] as const),
];

const keyed: readonly RefusalName[] = [
  ...(["missing_credentials", "malformed_credentials", "unknown_credentials", "authtoken_as_api_key"] as const),
  ...(["api_source_denied", "version_missing", "version_unsupported", "too_many_requests", "scope_missing"] as const),
  ...(["console_session_ended", "console_origin_refused", "console_host_refused"] as const),
];

/** Returns all refusals of `operation` in addition to `anyRefusals`, each once. */
export function refusalsOf(operation: Operation): readonly RefusalName[] {
  const reasons: RefusalName[] = [...(operation.refusals ?? []), ...(operation.open ? [] : keyed)];
  reasons.push(...queryRefusals(operation.query ?? []), ...bodyRefusals(operation));
  if (operation.path.includes("{")) reasons.push("not_found", "unknown_path");
  if (operation.block) reasons.push("module_unset");
  if (operation.resource?.operatorOnly) reasons.push("operator_only");
  if (isStored(operation)) reasons.push("reason_invalid");
  if (operation.verb === "command") reasons.push("command_unsupported", "command_failed", "command_timeout");
  if (operation.once) reasons.push("idempotency_key_invalid");
  if (operation.stores) reasons.push("write_unavailable", "idempotency_reused", "idempotency_key_invalid");
  else if (operation.resource && isStored(operation)) reasons.push(...writeRefusals(operation, operation.resource));
  return [...new Set(reasons)];
}

/** Whether the operation writes to storage. */
export function isStored(operation: Operation): boolean {
  if (operation.stores || operation.refusals?.includes("write_unavailable")) return true;
  return operation.resource !== undefined && operation.method !== "GET" && operation.verb !== "command";
}

/** Returns the refusals of writes of the resource's objects. */
export function objectRefusals(resource: ResourceDeclaration): readonly RefusalName[] {
  return [...fieldRefusals(resource.fields), ...ruleRefusals(resource)];
}

/** As `objectRefusals`, for fields that were already read. */
export function ruleRefusals({ taken, refusals = [] }: ResourceDeclaration): readonly RefusalName[] {
  return [...(taken ? [taken] : []), ...refusals, "reference_unknown", "too_many_objects", "account_full"];
}

function writeRefusals(operation: Operation, resource: ResourceDeclaration): readonly RefusalName[] {
  const reasons: RefusalName[] = ["write_unavailable"];
  if (operation.verb === "create") reasons.push("idempotency_reused", "idempotency_key_invalid");
  if (operation.method !== "POST") reasons.push("precondition_failed");
  if (operation.verb === "delete" && !operation.block) reasons.push("in_use");
  return operation.takes === "object" ? [...reasons, ...ruleRefusals(resource)] : reasons;
}

function queryRefusals(query: readonly string[]): readonly RefusalName[] {
  const reasons: RefusalName[] = ["query_unknown"];
  if (query.length > 0) reasons.push("query_invalid");
  if (query.includes("limit")) reasons.push("limit_invalid");
  if (query.includes("filter")) reasons.push("filter_invalid");
  if (query.includes("at_revision")) reasons.push("revision_unknown", "revision_pruned");
  return reasons;
}

function bodyRefusals({ takes, input }: Operation): readonly RefusalName[] {
  if (takes === "nothing") return ["body_unexpected", "body_too_large", "content_encoding"];
  if (takes === "anything") return ["body_too_large", "content_encoding"];
  const read = ["body_unreadable", "unknown_field", "invalid_field", "content_type"] as const;
  return [...read, "body_too_large", "content_encoding", ...fieldRefusals(input ?? {})];
}

/** Returns the refusals of the fields' formats, including nested fields. */
function fieldRefusals(fields: Fields): readonly RefusalName[] {
  return Object.values(fields).flatMap((field) => (isGiven(field) ? formatRefusals(field) : []));
}

function isGiven(field: Field): boolean {
  return !field.internal && !field.readOnly && !field.live;
}

function formatRefusals(field: Field): readonly RefusalName[] {
  switch (field.type) {
    case "string":
      return field.format?.reason ? [field.format.reason] : [];
    case "list":
      return formatRefusals(field.of);
    case "map":
      return [...formatRefusals(field.key), ...formatRefusals(field.of)];
    case "object":
      return fieldRefusals(field.fields);
    default:
      return [];
  }
}
