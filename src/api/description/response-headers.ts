/** Header fields of responses: their meaning, and which operations send them. */
import type { RefusalName } from "../../lib/errors.ts";
import { catalogue } from "../../lib/errors.ts";
import { canBeDoubtful } from "../../schema/doubts.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Operation } from "../operation/call.ts";
import { isStored } from "../operation/operation-refusals.ts";

const count: JsonSchema = { type: "integer", minimum: 0 };
const text: JsonSchema = { type: "string" };

/** `required`: wherever a response refers to the field. */
export const headers = {
  "Postern-Operation-Id": {
    description: "Id of the request, as in the log. `Ngrok-Operation-Id` has the same value.",
    required: true,
    schema: { type: "string", pattern: "^op_[0-9a-z]{27}$" },
  },
  "Postern-Revision": { description: "Revision that was written or read.", required: true, schema: count },
  ETag: {
    description: "State of the object, for `If-Match`.",
    required: true,
    schema: { type: "string", pattern: '^"[^"]+"$' },
  },
  "RateLimit-Limit": { description: "Requests per minute that the key may send.", required: true, schema: count },
  "RateLimit-Remaining": { description: "Remaining requests at this time.", required: true, schema: count },
  "RateLimit-Reset": { description: "Seconds until the full rate is available.", required: true, schema: count },
  "Retry-After": { description: "Seconds to wait before the next attempt.", required: true, schema: count },
  "WWW-Authenticate": { description: "`Bearer`: the request needs an API key.", required: true, schema: text },
  Allow: { description: "Methods that the path supports, after a request with another method (405).", schema: text },
  "Preference-Applied": { description: "The wait time that the server accepted from `Prefer`.", schema: text },
  "Postern-Applied": {
    description: "Whether every connected edge serves the change, if the request asked to wait.",
    schema: { type: "boolean" },
  },
  "Postern-Edges-Behind": {
    description: "Ids of the edges that do not serve the change yet, if the request asked to wait.",
    schema: text,
  },
  "Postern-Warning": {
    description:
      "Likely mistakes in accepted values: the field and the reason, each as a string of RFC 8941, with percent-encoding for everything except visible ASCII. At most ten.",
    schema: text,
  },
  "Postern-Also": {
    description:
      "Further changes of a dry run, such as `delete ip_policy_rule` and an id, each as a string of RFC 8941. At most ten, and the number of the rest.",
    schema: text,
  },
} satisfies Readonly<Record<string, JsonSchema>>;

type HeaderName = keyof typeof headers;

const rateLimits = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] as const;

/** As `headers`, by the names that descriptions refer to. */
export const headerComponents: Readonly<Record<string, JsonSchema>> = {
  ...headers,
  // A request may be rejected before it is counted.
  ...Object.fromEntries(
    rateLimits.map((name) => [
      describeCount(name),
      { description: `${headers[name].description} Absent if the request was not counted.`, schema: count },
    ]),
  ),
};

/** Returns the header fields of a successful response of `operation`. */
export function successHeaders(operation: Operation): JsonSchema {
  const names: HeaderName[] = ["Postern-Operation-Id"];
  if (!operation.open) names.push(...rateLimits);
  if (readsRevision(operation)) names.push("Postern-Revision");
  if (isTagged(operation)) names.push("ETag");
  if (isStored(operation)) names.push("Preference-Applied", "Postern-Applied", "Postern-Edges-Behind");
  if (mayWarn(operation)) names.push("Postern-Warning");
  if (operation.resource && operation.query?.includes("dry_run")) names.push("Postern-Also");
  return Object.fromEntries(names.map((name) => [name, referToHeader(name)]));
}

/** Whether a response may contain warnings about the input. */
function mayWarn({ resource, verb, block }: Operation): boolean {
  if (!resource || (verb !== "create" && verb !== "update" && verb !== "replace")) return false;
  const { fields } = resource;
  return canBeDoubtful(
    block === undefined
      ? resource
      : { fields: Object.fromEntries(Object.entries(fields).filter(([name]) => name === block)) },
  );
}

/** Returns the header fields of an error response for one of `reasons`. */
export function failureHeaders(reasons: readonly RefusalName[]): JsonSchema {
  const statuses = new Set(reasons.map((reason) => catalogue[reason].status as number));
  const always = (status: number): boolean => statuses.size === 1 && statuses.has(status);
  return {
    "Postern-Operation-Id": referToHeader("Postern-Operation-Id"),
    ...Object.fromEntries(rateLimits.map((name) => [name, referToHeader(describeCount(name))])),
    ...(always(401) && { "WWW-Authenticate": referToHeader("WWW-Authenticate") }),
    ...((always(429) || always(503)) && { "Retry-After": referToHeader("Retry-After") }),
    ...(reasons.includes("precondition_failed") && { ETag: referToHeader("ETag") }),
    ...(statuses.has(405) && { Allow: referToHeader("Allow") }),
  };
}

function describeCount(name: string): string {
  return `${name}-If-Counted`;
}

function referToHeader(name: string): JsonSchema {
  return { $ref: `#/components/headers/${name}` };
}

/** Whether the response comes from storage. Data of edges, commands to agents and messages have no revision. */
function readsRevision({ open, verb, isUnrevised, refusals = [] }: Operation): boolean {
  return !open && !isUnrevised && verb !== "command" && !refusals.some((one) => withoutRevision.has(one));
}

const withoutRevision: ReadonlySet<RefusalName> = new Set(["edge_silent", "inbox_unreadable"]);

/** Whether its responses have an ETag. */
export function isTagged({ tagged, resource, verb }: Operation): boolean {
  if (tagged) return true;
  return resource !== undefined && !resource.live && verb !== undefined && taggedVerbs.has(verb);
}

const taggedVerbs: ReadonlySet<string> = new Set(["create", "get", "update", "replace"]);
