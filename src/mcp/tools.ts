/** The tools in the order of the list that clients get. */
import type { Tool } from "./parts/tool.ts";
import { applyPlan } from "./tools/apply-plan.ts";
import { describeService } from "./tools/describe-service.ts";
import { explainRequest } from "./tools/explain-request.ts";
import { findServices } from "./tools/find-services.ts";
import { listChanges } from "./tools/list-changes.ts";
import { listDenials } from "./tools/list-denials.ts";
import { planChange } from "./tools/plan-change.ts";
import { planRollback } from "./tools/plan-rollback.ts";
import { readDocs } from "./tools/read-docs.ts";
import { whyDenied } from "./tools/why-denied.ts";

export const tools: readonly Tool[] = [
  findServices,
  describeService,
  explainRequest,
  whyDenied,
  listDenials,
  listChanges,
  planChange,
  planRollback,
  applyPlan,
  readDocs,
];
