import { checkRules } from "../../schema/issues.ts";
import type { Doc } from "../../schema/doc.ts";
import type { Issue } from "../../schema/fields.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Draft, StoredObject } from "../../storage/store.ts";
import type { Call } from "../operation/call.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import type { Behaviour } from "./behaviour.ts";

/** Completes a parsed document and checks it against the resource's rules, in the write that stores it. */
export function prepareObject(
  resource: ResourceDeclaration,
  call: Call,
  draft: Draft,
  accountId: string,
  parsed: Doc,
  previous: StoredObject | undefined,
  behaviour: Behaviour | undefined,
): { readonly doc: Doc; readonly shown?: Doc } {
  const issues: Issue[] = [];
  const derived = resource.derive?.(parsed as never);
  if (derived && "message" in derived) issues.push(derived as Issue);
  const doc = issues.length === 0 && derived ? { ...parsed, ...derived } : parsed;
  if (issues.length === 0) checkRules(resource.rules ?? [], doc, "", issues);
  if (issues.length > 0) throw inputRefusal(call.operation.id, issues);
  const source = call.request.socket.remoteAddress ?? "";
  const { principal, baseUrl } = call;
  return behaviour?.prepare?.({ draft, accountId, principal, source, baseUrl, doc, previous }) ?? { doc };
}
