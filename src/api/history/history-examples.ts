/** Example writes and their changes, for the description of the API. */
import { exampleBaseUrl } from "../objects/example-replies.ts";
import { exampleId, exampleOperationId, exampleTime } from "../operation/example-ids.ts";
import { summaryOf } from "./change-set.ts";
import type { ObjectChange } from "./change-set.ts";

const id = exampleId("ip_policy_rule");
const cidr = { path: "cidr", before: "192.0.2.0/24", after: "198.51.100.0/24" };

const change: ObjectChange = {
  action: "update",
  kind: "ip_policy_rule",
  id,
  uri: `${exampleBaseUrl}/ip_policy_rules/${id}`,
  fields: [cidr],
};

export const exampleRevision = {
  revision: 42,
  uri: `${exampleBaseUrl}/revisions/42`,
  created_at: exampleTime,
  principal: exampleId("api_key"),
  source: "192.0.2.1",
  operation: "updateIPPolicyRule",
  operation_id: exampleOperationId,
  reason: "The office has moved.",
  hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  changes: [change],
  more_changes: false,
};

const undone = { ...change, fields: [{ path: cidr.path, before: cidr.after, after: cidr.before }] };

export const examplePlanHash = "2c26b46b68ffc68ff99b453c1d304134";

export const exampleRollback = {
  applied: true,
  revision: 43,
  hash: examplePlanHash,
  uri: `${exampleBaseUrl}/revisions/43`,
  summary: summaryOf([undone]),
  changes: [undone],
};
