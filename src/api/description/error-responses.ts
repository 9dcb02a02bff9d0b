/** Describes errors: the statuses of each operation with their codes, header fields and examples. */
import { catalogue, errorCode } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";
import { schemaRef } from "../../schema/json-schema.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { failureHeaders } from "./response-headers.ts";
import type { Operation } from "../operation/call.ts";
import { exampleBaseUrl } from "../objects/example-replies.ts";
import { exampleId, exampleOperationId } from "../operation/example-ids.ts";
import { anyRefusals, refusalsOf } from "../operation/operation-refusals.ts";

/** Returns the responses that any operation may have in addition to its own. */
export function anyFailure(): JsonSchema {
  return errorResponse("Any other failure.", [...anyRefusals, "method_not_allowed"]);
}

/** Returns the shared responses, one per status, with the codes that any operation has for it. */
export function collectSharedFailures(operations: readonly Operation[]): Record<string, JsonSchema> {
  const all = new Set(operations.flatMap((operation) => [...refusalsOf(operation)]));
  return Object.fromEntries(
    [...byStatus([...all])].map(([status, reasons]) => [
      nameOf(status),
      errorResponse(reasons.map((one) => `${errorCode(one)}: ${catalogue[one].what}`).join("\n"), reasons),
    ]),
  );
}

/**
 * Returns the error responses of `operation` by status: the shared response, described by the codes of the operation.
 */
export function errorResponses(operation: Operation): Record<string, JsonSchema> {
  return Object.fromEntries(
    [...byStatus(refusalsOf(operation))].map(([status, reasons]) => [
      String(status),
      { $ref: `#/components/responses/${nameOf(status)}`, description: reasons.map(errorCode).join(", ") },
    ]),
  );
}

function nameOf(status: number): string {
  return `Refused${status}`;
}

function byStatus(reasons: readonly RefusalName[]): ReadonlyMap<number, readonly RefusalName[]> {
  const sorted = reasons.toSorted((a, b) => catalogue[a].number - catalogue[b].number);
  return Map.groupBy(sorted, (one) => catalogue[one].status);
}

function errorResponse(description: string, reasons: readonly RefusalName[]): JsonSchema {
  const examples = Object.fromEntries(reasons.map((reason) => [reason, { value: exampleError(reason) }]));
  const content = { "application/json": { schema: { $ref: schemaRef("Error") }, examples } };
  return { description, headers: failureHeaders(reasons), content };
}

function exampleError(reason: RefusalName): JsonSchema {
  const { status, what } = catalogue[reason];
  const details = { ...detailsOf(reason), operation_id: exampleOperationId };
  return { error_code: errorCode(reason), status_code: status, msg: what, details };
}

/** Returns the details of errors that have more than a message. */
function detailsOf(reason: RefusalName): Readonly<Record<string, string>> {
  switch (reason) {
    case "invalid_field":
      return { description: "must be a string, is a number" };
    case "unknown_field":
      return { descripton: "is unknown" };
    case "reference_unknown":
      return { ip_policy_id: `there is no ip_policy "${exampleId("ip_policy")}"` };
    case "precondition_failed":
      return { etag: '"42"' };
    case "method_not_allowed":
      return { allow: "GET, HEAD, POST, OPTIONS" };
    case "too_many_requests":
      return { retry_after: "2" };
    case "in_use":
      return nameExample("referrer", "ip_restriction", "/ip_restrictions");
    case "domain_held":
      return nameExample("holder", "reserved_domain", "/reserved_domains");
    case "hostport_held":
      return nameExample("holder", "https_edge", "/edges/https");
    default:
      return {};
  }
}

function nameExample(role: string, kind: string, path: string): Readonly<Record<string, string>> {
  const id = exampleId(kind);
  return { [`${role}_kind`]: kind, [`${role}_id`]: id, [`${role}_uri`]: `${exampleBaseUrl}${path}/${id}` };
}
